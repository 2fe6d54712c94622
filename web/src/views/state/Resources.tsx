import { useQuery } from '@tanstack/react-query'
import {
  createColumnHelper,
  flexRender,
  getCoreRowModel,
  getFilteredRowModel,
  getSortedRowModel,
  useReactTable,
} from '@tanstack/react-table'
import type { SortingState } from '@tanstack/react-table'
import { useVirtualizer } from '@tanstack/react-virtual'
import { ArrowDown, ArrowUp } from 'lucide-react'
import { useMemo, useRef, useState } from 'react'
import { Badge } from '../../ui/Badge'
import { Empty } from '../../ui/Empty'
import { Dialog } from '../../ui/Dialog'
import { Problem } from '../../ui/Problem'
import { Skeletons } from '../../ui/Skeleton'
import { writeExactly } from '../text/exact'
import { safe, safeText } from '../text/escape'
import { versionQuery } from './queries'
import type { Resource } from './statefile'

type Props = {
  namespace: string
  name: string
  uid: string
  version: number
  q: string
  onSearch: (q: string) => void
}

const column = createColumnHelper<Resource>()
const columns = [
  column.accessor('address', { header: 'Address' }),
  column.accessor('type', { header: 'Type' }),
  column.accessor((r) => /"(?:.*\/)?([^/"]+)"/.exec(r.provider)?.[1] ?? r.provider, {
    id: 'provider',
    header: 'Provider',
  }),
]

/** The resources in a version of a state. */
export function Resources({ namespace, name, uid, version, q, onSearch }: Props) {
  const state = useQuery({ ...versionQuery(namespace, name, uid, version), enabled: version > 0 })
  if (version === 0) return <Empty title="There is no state yet" />
  if (state.error) return <Problem error={state.error} />
  if (!state.data) return <Skeletons lines={4} label="Loading the state" />
  return <Table resources={state.data.resources} q={q} onSearch={onSearch} />
}

function Table({ resources, q, onSearch }: { resources: Resource[]; q: string; onSearch: (q: string) => void }) {
  const [sorting, setSorting] = useState<SortingState>([])
  const [shown, setShown] = useState<Resource | undefined>()
  const box = useRef<HTMLDivElement>(null)
  const table = useReactTable({
    data: resources,
    columns,
    state: { sorting, globalFilter: q },
    onSortingChange: setSorting,
    globalFilterFn: 'includesString',
    getCoreRowModel: getCoreRowModel(),
    getFilteredRowModel: getFilteredRowModel(),
    getSortedRowModel: getSortedRowModel(),
  })
  const { rows } = table.getRowModel()
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => 33,
    overscan: 12,
    initialRect: { width: 900, height: 600 },
  })
  const attributes = useMemo(() => (shown ? writeExactly(shown.attributes, 2) : ''), [shown])
  const grid =
    'grid grid-cols-[minmax(0,3fr)_minmax(0,1fr)] gap-3 px-2.5 sm:grid-cols-[minmax(0,4fr)_minmax(0,2fr)_minmax(0,1fr)]'
  return (
    <div className="panel overflow-hidden">
      <div className="border-line flex items-center gap-2 border-b p-1.5">
        <input
          type="search"
          aria-label="Search resources"
          placeholder="Search"
          className="field w-full sm:w-64"
          value={q}
          onChange={(event) => onSearch(event.target.value)}
        />
        <span role="status" className="text-muted ml-auto text-sm whitespace-nowrap tabular-nums">
          {rows.length.toLocaleString('en')} of {resources.length.toLocaleString('en')}
        </span>
      </div>
      <div
        ref={box}
        role="table"
        aria-label="Resources"
        aria-rowcount={rows.length + 1}
        className="max-h-[max(24rem,calc(100dvh-16rem))] overflow-y-auto"
      >
        <div role="rowgroup">
          {table.getHeaderGroups().map((g) => (
            <div
              key={g.id}
              role="row"
              className={`${grid} bg-sunken text-muted sticky top-0 z-10 py-1.5 text-sm font-medium`}
            >
              {g.headers.map((h) => {
                const sorted = h.column.getIsSorted()
                return (
                  <div
                    key={h.id}
                    role="columnheader"
                    aria-sort={sorted === 'asc' ? 'ascending' : sorted === 'desc' ? 'descending' : 'none'}
                    className={h.id === 'provider' ? 'hidden sm:block' : ''}
                  >
                    <button
                      type="button"
                      className="hover:text-ink inline-flex items-center gap-1"
                      onClick={h.column.getToggleSortingHandler()}
                    >
                      {flexRender(h.column.columnDef.header, h.getContext())}
                      {sorted === 'asc' && <ArrowUp aria-hidden className="size-3.5" />}
                      {sorted === 'desc' && <ArrowDown aria-hidden className="size-3.5" />}
                    </button>
                  </div>
                )
              })}
            </div>
          ))}
        </div>
        <div role="rowgroup" className="relative" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => {
            const r = rows[item.index]?.original
            if (!r) return null
            return (
              <div
                key={item.key}
                role="row"
                aria-rowindex={item.index + 2}
                data-index={item.index}
                ref={virtual.measureElement}
                className={`${grid} border-line absolute inset-x-0 border-b py-1.5`}
                style={{ top: item.start }}
              >
                <div role="cell" className="min-w-0">
                  <button type="button" className="link text-left font-mono break-all" onClick={() => setShown(r)}>
                    {safe(r.address)}
                  </button>{' '}
                  {r.tainted && <Badge tone="warn">tainted</Badge>}{' '}
                  {r.deposed && <Badge tone="warn">deposed {safe(r.deposed)}</Badge>}{' '}
                  {r.mode === 'data' && <Badge>read only</Badge>}
                </div>
                <div role="cell" className="min-w-0 font-mono text-sm break-all">
                  {safe(r.type)}
                </div>
                <div role="cell" className="text-muted hidden min-w-0 truncate sm:block">
                  {safe(rows[item.index]?.getValue('provider') ?? '')}
                </div>
              </div>
            )
          })}
        </div>
        {rows.length === 0 && <Empty title={resources.length === 0 ? 'It holds no resources' : 'Nothing matches'} />}
      </div>
      <Dialog
        open={shown !== undefined}
        onOpenChange={(open) => !open && setShown(undefined)}
        title={<span className="font-mono text-base break-all">{safe(shown?.address ?? '')}</span>}
      >
        <pre className="bg-sunken overflow-auto rounded p-2 font-mono text-xs whitespace-pre-wrap break-all">
          {safeText(attributes.slice(0, 200_000))}
        </pre>
        {attributes.length > 200_000 && <p className="text-muted">It has more: `cairn state show` has all.</p>}
      </Dialog>
    </div>
  )
}
