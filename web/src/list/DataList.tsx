import type { UseInfiniteQueryResult, InfiniteData } from '@tanstack/react-query'
import type { ColumnDef } from '@tanstack/react-table'
import { flexRender, getCoreRowModel, useReactTable } from '@tanstack/react-table'
import { useVirtualizer } from '@tanstack/react-virtual'
import { ArrowDown, ArrowUp } from 'lucide-react'
import type { ReactNode } from 'react'
import { useEffect, useMemo, useRef } from 'react'
import type { Group } from '../api/client'
import { cx } from '../ui/cx'
import { isForPage } from '../ui/keyboard'
import { useNarrow } from '../ui/media'
import { Problem } from '../ui/Problem'
import { Skeleton } from '../ui/Skeleton'
import { GroupHead } from './GroupHead'
import { linesOf } from './lines'
import type { Selectable, Selection } from './selection'
import { SelectAll, SelectRow } from './Select'
import { flip } from './sort'

declare module '@tanstack/react-table' {
  // eslint-disable-next-line @typescript-eslint/no-unused-vars -- the library names them, and has to find them here
  interface ColumnMeta<TData, TValue> {
    /** The width of the column, as grid-template-columns has it. */
    width?: string
    /** What the API sorts the column by. */
    sort?: string
  }
}

type Row = Selectable
type Pages<R> = UseInfiniteQueryResult<InfiniteData<{ items?: R[]; total: number; groups?: Group[] }>>

/** How a list shows its groups. */
export type Groups = { collapsed: string[]; onToggle: (value: string) => void; word: (value: string) => ReactNode }

const noGroups: string[] = []
const rowHeight = 40
/** The width of the column with the checkboxes. */
const selectWidth = '2.5rem'

/**
 * A list of the API, of which only the rows in sight are there. Cells hold at most one line; on a phone rows are cards. Each row
 * has one link, which the keys j, k and the arrows move the focus to.
 */
export function DataList<R extends Row>({
  label,
  pages,
  columns,
  card,
  sort,
  onSort,
  empty,
  groups,
  selection,
}: {
  label: string
  pages: Pages<R>
  columns: ColumnDef<R>[]
  card: (row: R) => ReactNode
  sort?: string
  onSort: (sort: string) => void
  empty: ReactNode
  /** How groups are shown, if the list has any. */
  groups?: Groups
  /** The selected rows. Without it none can be selected. */
  selection?: Selection<R>
}) {
  const narrow = useNarrow()
  const box = useRef<HTMLDivElement>(null)
  const collapsed = groups?.collapsed ?? noGroups
  const { rows, lines, incomplete } = useMemo(
    () => linesOf(pages.data?.pages ?? [], collapsed),
    [pages.data, collapsed],
  )
  const total = pages.data?.pages[0]?.total ?? 0
  const table = useReactTable({
    data: rows,
    columns,
    getCoreRowModel: getCoreRowModel(),
    getRowId: (r) => r.uid,
    manualSorting: true,
  })
  const model = table.getRowModel().rows
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => (narrow ? 76 : rowHeight),
    getItemKey: (i) => {
      const line = lines[i]
      return typeof line === 'number' ? (model[line]?.id ?? i) : `group ${line?.value}`
    },
    overscan: 12,
  })
  const shown = virtual.getVirtualItems()
  const last = shown.at(-1)?.index ?? 0
  const { hasNextPage, isFetching, fetchNextPage, isError, refetch } = pages
  useEffect(() => {
    // It would abort a fetch of the rows that changed.
    if (hasNextPage && !isFetching && !isError && last >= lines.length - 40) void fetchNextPage()
  }, [hasNextPage, isFetching, isError, fetchNextPage, last, lines.length])
  useEffect(() => {
    if (incomplete) void refetch()
  }, [incomplete, refetch])
  useRowKeys(box, lines.length, (i) => virtual.scrollToIndex(i))

  if (pages.isPending && !pages.isError) return <Waiting label={label} />
  if (pages.error && lines.length === 0) return <Problem error={pages.error} retry={() => void pages.refetch()} />
  const widths = columns.map((c) => c.meta?.width ?? 'minmax(0,1fr)')
  const template = { gridTemplateColumns: (selection ? [selectWidth, ...widths] : widths).join(' ') }
  const columnCount = columns.length + (selection ? 1 : 0)
  return (
    <>
      {pages.error && (
        <div className="mb-2">
          <Problem error={pages.error} retry={() => void pages.refetch()} />
        </div>
      )}
      <div ref={box} className="panel relative min-h-64 grow overflow-y-auto" aria-busy={pages.isPlaceholderData}>
        <div
          role="table"
          aria-label={label}
          aria-rowcount={total + 1 + lines.length - rows.length}
          aria-colcount={columnCount}
        >
          <div role="rowgroup" className={narrow ? 'sr-only' : 'bg-panel border-line sticky top-0 z-10 border-b'}>
            <div role="row" aria-rowindex={1} className="text-muted grid h-9 items-center text-sm" style={template}>
              {selection && (
                <div role="columnheader" className="pl-3">
                  <SelectAll
                    label={label}
                    rows={rows}
                    all={!hasNextPage && collapsed.length === 0}
                    selection={selection}
                  />
                </div>
              )}
              {table.getFlatHeaders().map((h) => (
                <Head key={h.id} by={h.column.columnDef.meta?.sort} sort={sort} onSort={onSort}>
                  {flexRender(h.column.columnDef.header, h.getContext())}
                </Head>
              ))}
            </div>
          </div>
          <div role="rowgroup" className="relative" style={{ height: virtual.getTotalSize() }}>
            {shown.map((item) => {
              const line = lines[item.index]
              const place = {
                'data-index': item.index,
                'aria-rowindex': item.index + 2,
                ref: narrow ? virtual.measureElement : undefined,
              }
              const style = { transform: `translateY(${item.start}px)` }
              if (groups && typeof line === 'object')
                return (
                  <div key={item.key} role="row" {...place} className="absolute inset-x-0 top-0" style={style}>
                    <div role="cell" aria-colspan={columnCount}>
                      <GroupHead group={line} {...groups} />
                    </div>
                  </div>
                )
              const row = typeof line === 'number' ? model[line] : undefined
              if (!row) return null
              const checkbox = selection && (
                <SelectRow
                  row={row.original}
                  selection={selection}
                  onChoose={(on, range) => selection.choose(rows, row.index, on, range)}
                />
              )
              return (
                <div
                  key={item.key}
                  role="row"
                  {...place}
                  className={cx(
                    'border-line hover:bg-hover focus-within:bg-chosen absolute inset-x-0 top-0 border-b',
                    narrow ? 'flex' : 'grid h-10 items-center',
                    selection?.chosen.has(row.id) && 'bg-chosen',
                  )}
                  style={narrow ? style : { ...style, ...template }}
                >
                  {selection && (
                    <div role="cell" className={cx('pl-3', narrow && 'pt-2.5')}>
                      {checkbox}
                    </div>
                  )}
                  {narrow ? (
                    <div role="cell" className="flex min-w-0 grow flex-col gap-1 p-3">
                      {card(row.original)}
                    </div>
                  ) : (
                    row.getVisibleCells().map((cell) => (
                      <div key={cell.id} role="cell" className="min-w-0 truncate px-3">
                        {flexRender(cell.column.columnDef.cell, cell.getContext())}
                      </div>
                    ))
                  )}
                </div>
              )
            })}
          </div>
        </div>
        {lines.length === 0 && empty}
      </div>
      <p role="status" className="text-muted mt-1.5 shrink-0 text-sm tabular-nums">
        {total === 1 ? '1 row' : `${total.toLocaleString('en')} rows`}
        {rows.length < total &&
          collapsed.length === 0 &&
          `, ${rows.length.toLocaleString('en')} of them here; more come as you scroll`}
      </p>
    </>
  )
}

function Head({
  by,
  sort,
  onSort,
  children,
}: {
  by?: string
  sort?: string
  onSort: (sort: string) => void
  children: ReactNode
}) {
  if (!by) {
    return (
      <div role="columnheader" className="truncate px-3">
        {children}
      </div>
    )
  }
  const up = sort === by
  const down = sort === `-${by}`
  return (
    <div role="columnheader" aria-sort={up ? 'ascending' : down ? 'descending' : 'none'} className="min-w-0 px-3">
      <button
        type="button"
        className="hover:text-ink flex max-w-full items-center gap-1"
        onClick={() => onSort(flip(sort, by))}
      >
        <span className="truncate">{children}</span>
        {up && <ArrowUp aria-hidden className="size-3.5" />}
        {down && <ArrowDown aria-hidden className="size-3.5" />}
      </button>
    </div>
  )
}

/** Rows that will come. */
function Waiting({ label }: { label: string }) {
  return (
    <div className="panel grow p-3" role="status" aria-label={`Loading ${label}`}>
      {Array.from({ length: 12 }, (_, i) => (
        <Skeleton key={i} className="mb-4 h-5" />
      ))}
    </div>
  )
}

/** Moves the focus from row to row by j, k and the arrows, also to rows that are not loaded yet. */
function useRowKeys(box: React.RefObject<HTMLDivElement | null>, count: number, scroll: (index: number) => void): void {
  const latest = useRef({ count, scroll })
  useEffect(() => {
    latest.current = { count, scroll }
  })
  useEffect(() => {
    const focus = (index: number, tries: number) => {
      const link = box.current?.querySelector<HTMLElement>(`[role=row][data-index="${index}"] :is(a, button)`)
      if (link) link.focus({ preventScroll: true })
      else if (tries > 0) requestAnimationFrame(() => focus(index, tries - 1))
    }
    const press = (event: KeyboardEvent) => {
      const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key]
      if (!step || !isForPage(event)) return
      const row = document.activeElement?.closest<HTMLElement>('[role=row][data-index]')
      if (event.key.startsWith('Arrow') && !row && document.activeElement !== document.body) return
      const at = row && box.current?.contains(row) ? Number(row.dataset.index) + step : 0
      if (at < 0 || at >= latest.current.count) return
      event.preventDefault()
      latest.current.scroll(at)
      focus(at, 5)
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [box])
}
