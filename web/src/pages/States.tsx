import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ColumnDef } from '@tanstack/react-table'
import type { State } from '../api/client'
import { pagesQuery } from '../api/queries'
import type { ListSearch } from '../app/search'
import { DataList } from '../list/DataList'
import { Filter, Toggle } from '../list/Filter'
import { Named, rowLink } from '../list/Named'
import { Search, SearchBar } from '../list/Search'
import { Badge } from '../ui/Badge'
import { Empty } from '../ui/Empty'
import { PageHead, useTitle } from '../ui/Page'
import { Ago } from '../ui/Time'
import { safe } from '../views/text/escape'
import { bytes } from './words'

const route = getRouteApi('/app/states')

/** The States. */
export default function States() {
  useTitle('States')
  const { q, namespace, locked, rescued, sort } = route.useSearch()
  const navigate = route.useNavigate()
  const set = (change: Partial<ListSearch>) => void navigate({ search: (s) => ({ ...s, ...change }), replace: true })
  const filters = { q, namespace, locked, rescued }
  const pages = useInfiniteQuery(pagesQuery('states', { ...filters, sort }))
  return (
    <>
      <PageHead title="States" />
      <SearchBar search={<Search label="Search States" value={q} onChange={(q) => set({ q })} />}>
        <Filter
          label="Namespace"
          kind="states"
          field="namespace"
          params={filters}
          free
          chosen={namespace}
          onChange={(namespace) => set({ namespace })}
        />
        <Toggle label="Locked" on={locked === true} onChange={(on) => set({ locked: on || undefined })} />
        <Toggle label="To be rescued" on={rescued === true} onChange={(on) => set({ rescued: on || undefined })} />
      </SearchBar>
      <DataList
        label="States"
        pages={pages}
        columns={columns}
        card={(s) => (
          <>
            <span className="flex items-start justify-between gap-2">
              <Name state={s} />
              <Flags state={s} />
            </span>
            <span className="text-muted text-sm">
              {s.resources} resources, version {s.version}, {bytes(s.size)}
            </span>
          </>
        )}
        sort={sort ?? 'name'}
        onSort={(sort) => set({ sort })}
        empty={
          <Empty title="No States found, or you cannot view them">The first apply of a Stack creates its State.</Empty>
        }
      />
    </>
  )
}

function Name({ state }: { state: State }) {
  return (
    <Link to="/states/$namespace/$name" params={{ namespace: state.namespace, name: state.name }} className={rowLink}>
      <Named of={state} />
    </Link>
  )
}

/** Who holds a lock. The name of a user is that of Kubernetes, and not what an engine reports. */
const lockedBy = ({ run, by, who }: NonNullable<State['lock']>) => safe(run ?? by ?? who ?? 'an unknown user')

function Flags({ state }: { state: State }) {
  return (
    <span className="flex min-w-0 gap-1">
      {state.rescued && <Badge tone="bad">To be rescued</Badge>}
      {state.lock && <Badge tone="busy">Locked by {lockedBy(state.lock)}</Badge>}
    </span>
  )
}

const columns: ColumnDef<State>[] = [
  {
    id: 'name',
    header: 'Name',
    meta: { width: 'minmax(12rem,2fr)', sort: 'name' },
    cell: ({ row }) => <Name state={row.original} />,
  },
  {
    id: 'flags',
    header: 'Lock',
    meta: { width: 'minmax(8rem,1.5fr)', sort: 'locked' },
    cell: ({ row }) => <Flags state={row.original} />,
  },
  {
    id: 'version',
    header: 'Version',
    meta: { width: '6rem' },
    cell: ({ row }) => <span className="tabular-nums">{row.original.version}</span>,
  },
  {
    id: 'resources',
    header: 'Resources',
    meta: { width: '7rem', sort: 'resources' },
    cell: ({ row }) => <span className="tabular-nums">{row.original.resources}</span>,
  },
  {
    id: 'size',
    header: 'Size',
    meta: { width: '6rem', sort: 'size' },
    cell: ({ row }) => <span className="tabular-nums">{bytes(row.original.size)}</span>,
  },
  { id: 'by', header: 'Written by', meta: { width: 'minmax(7rem,1fr)' }, cell: ({ row }) => row.original.updatedBy },
  { id: 'created', header: 'Created', meta: { width: '6rem' }, cell: ({ row }) => <Ago at={row.original.created} /> },
]
