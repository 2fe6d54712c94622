import { useInfiniteQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import type { ColumnDef } from '@tanstack/react-table'
import type { ReactNode } from 'react'
import type { Rows } from '../api/kinds'
import { pagesQuery } from '../api/queries'
import type { ListSearch } from '../app/search'
import type { FilterField, FlagField, Plural } from '../kinds'
import { kindOf } from '../kinds'
import { Button } from '../ui/Button'
import { Empty } from '../ui/Empty'
import { PageHead, useTitle } from '../ui/Page'
import { DataList } from './DataList'
import { Filter, Toggle } from './Filter'
import { Search, SearchBar } from './Search'
import type { Selection } from './selection'
import { useSelection } from './selection'

/** The list of a kind, as its row in kinds.ts says, with the filters in the address of the page. */
export function KindList<K extends Plural>({
  kind,
  columns,
  card,
  none,
  below,
}: {
  kind: K
  columns: ColumnDef<Rows[K]>[]
  card: (row: Rows[K]) => ReactNode
  /** What is shown if there are no objects. */
  none: ReactNode
  /** What is below the list of rows that can be selected. */
  below?: (list: { rows: Rows[K][]; all: boolean; selection: Selection<Rows[K]> }) => ReactNode
}) {
  const { label, many = label, filters, flags = {}, sort: first } = kindOf(kind)
  useTitle(label)
  const search: ListSearch = useSearch({ strict: false })
  const navigate = useNavigate()
  // The router does not know that this page has the search of a list.
  const go = (next: (was: ListSearch) => ListSearch) => void navigate({ to: '.', search: next as never, replace: true })
  const set = (change: Partial<ListSearch>) => go((was) => ({ ...was, ...change }))
  const { q, sort } = search
  const fields = Object.keys(filters) as FilterField[]
  const toggles = Object.keys(flags) as FlagField[]
  const params = { q, ...Object.fromEntries([...fields, ...toggles].map((field) => [field, search[field]])) }
  const pages = useInfiniteQuery(pagesQuery(kind, { ...params, sort }))
  const selection = useSelection<Rows[K]>(params)
  const filtered = Object.values(params).some((v) => v !== undefined)
  return (
    <>
      <PageHead title={label} />
      <SearchBar search={<Search label={`Search ${many}`} value={q} onChange={(q) => set({ q })} />}>
        {fields.map((field) => (
          <Filter
            key={field}
            kind={kind}
            params={params}
            field={field}
            {...filters[field]!}
            chosen={search[field]}
            onChange={(values) => set({ [field]: values })}
          />
        ))}
        {toggles.map((field) => (
          <Toggle
            key={field}
            label={flags[field]!}
            on={search[field] === true}
            onChange={(on) => set({ [field]: on || undefined })}
          />
        ))}
        {filtered && (
          <Button kind="bare" onClick={() => go(() => (sort ? { sort } : {}))}>
            Clear
          </Button>
        )}
      </SearchBar>
      <DataList
        label={label}
        pages={pages}
        selection={below && selection}
        columns={columns}
        card={card}
        sort={sort ?? first}
        onSort={(sort) => set({ sort })}
        empty={filtered ? <Empty title={`No matching ${many}`}>Clear the filters, or change the search.</Empty> : none}
      />
      {below?.({ rows: pages.data?.pages.flatMap((p) => p.items ?? []) ?? [], all: !pages.hasNextPage, selection })}
    </>
  )
}
