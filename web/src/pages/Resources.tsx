import { infiniteQueryOptions, keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ColumnDef } from '@tanstack/react-table'
import type { Resources as Answer } from '../api/client'
import { send } from '../api/client'
import type { ListParams } from '../api/queries'
import { listPath } from '../api/queries'
import type { ListSearch } from '../app/search'
import { DataList } from '../list/DataList'
import { Filter } from '../list/Filter'
import { Named, rowLink } from '../list/Named'
import { Search, SearchBar } from '../list/Search'
import { Badge } from '../ui/Badge'
import { Empty } from '../ui/Empty'
import { PageHead, useTitle } from '../ui/Page'
import { safe } from '../views/text/escape'

const route = getRouteApi('/app/resources')

type Row = NonNullable<Answer['items']>[number] & { uid: string; name: string }
type Missing = Partial<Answer['missing']>

/** The resources in the states of all Stacks, by the indexes of the States: no state is read, and no value of it. */
function resourcesQuery(params: ListParams) {
  return infiniteQueryOptions({
    queryKey: ['resources', params],
    queryFn: async ({ signal, pageParam }) => {
      const path = listPath('resources', { limit: pageParam ? 500 : 100, ...params }, pageParam)
      const page = (await (await send('GET', path, undefined, signal)).json()) as Answer
      const items = page.items?.map((r): Row => {
        const uid = `${r.namespace}/${r.stack}/${r.address}/${r.deposed}`
        return { ...r, uid, name: r.stack }
      })
      return { ...page, items }
    },
    initialPageParam: '',
    getNextPageParam: (page) => page.next,
    placeholderData: keepPreviousData,
    // Each request goes through all indexes, so changes of States do not cause one.
    refetchInterval: (query) => (query.state.data?.pages.some((p) => p.missing?.pending) ? 1_000 : false),
  })
}

/** The resources of all Stacks. */
export default function Resources() {
  useTitle('Resources')
  const { q, namespace, stack, type, sort } = route.useSearch()
  const navigate = route.useNavigate()
  const set = (change: Partial<ListSearch>) => void navigate({ search: (s) => ({ ...s, ...change }), replace: true })
  const pages = useInfiniteQuery(resourcesQuery({ q, namespace, stack, type, sort }))
  const of = { kind: 'resources', params: { q, namespace, stack, type }, free: true } as const
  return (
    <>
      <PageHead title="Resources" />
      <SearchBar search={<Search label="Search resources" value={q} onChange={(q) => set({ q })} />}>
        <Filter {...of} label="Type" field="type" chosen={type} onChange={(type) => set({ type })} />
        <Filter
          {...of}
          label="Namespace"
          field="namespace"
          chosen={namespace}
          onChange={(namespace) => set({ namespace })}
        />
        <Filter {...of} label="Stack" field="stack" chosen={stack} onChange={(stack) => set({ stack })} />
      </SearchBar>
      <Lacks missing={pages.data?.pages[0]?.missing ?? {}} />
      <DataList
        label="Resources"
        pages={pages}
        columns={columns}
        card={(r) => (
          <>
            <span className="flex items-start justify-between gap-2">
              <Address row={r} />
              <Flags row={r} />
            </span>
            <span className="text-muted text-sm break-words">
              <Named of={{ namespace: r.namespace, name: r.stack }} />, {safe(r.type)}
            </span>
          </>
        )}
        sort={sort ?? 'stack'}
        onSort={(sort) => set({ sort })}
        empty={
          <Empty title="No resources found, or you cannot view them">
            You need the verb pull on states in a namespace. Data sources are not listed.
          </Empty>
        }
      />
    </>
  )
}

/** Of how many States the list has not all resources, and why. */
function Lacks({ missing }: { missing: Missing }) {
  const reasons: [number | undefined, string][] = [
    [missing.pending, 'not read yet: their resources appear in a moment'],
    [missing.encrypted, 'encrypted by the engine: their resources are not known'],
    [missing.unreadable, 'not readable: the log of the server has the reason'],
    [missing.omitted, 'not listed, because the memory of the server for indexes is full'],
    [missing.cut, 'listed in part, because they have more resources than an index'],
  ]
  const shown = reasons.filter(([states]) => states)
  if (shown.length === 0) return null
  return (
    <ul aria-label="States that are not listed" role="status" className="text-muted mb-2 shrink-0 text-sm">
      {shown.map(([states, reason]) => (
        <li key={reason}>
          States {reason}: {states?.toLocaleString('en')}
        </li>
      ))}
    </ul>
  )
}

function Address({ row: { namespace, stack, address } }: { row: Row }) {
  return (
    <Link
      to="/states/$namespace/$name"
      params={{ namespace, name: stack }}
      search={{ tab: 'resources', q: address.slice(0, 500) }}
      className={`${rowLink} min-w-0 font-mono text-sm break-all`}
    >
      {safe(address)}
    </Link>
  )
}

function Flags({ row: { tainted, deposed } }: { row: Row }) {
  return (
    <>
      {tainted && <Badge tone="warn">tainted</Badge>} {deposed && <Badge tone="warn">deposed {safe(deposed)}</Badge>}
    </>
  )
}

const columns: ColumnDef<Row>[] = [
  {
    id: 'address',
    header: 'Address',
    meta: { width: 'minmax(14rem,3fr)', sort: 'address' },
    cell: ({ row }) => (
      <>
        <Address row={row.original} /> <Flags row={row.original} />
      </>
    ),
  },
  {
    id: 'type',
    header: 'Type',
    meta: { width: 'minmax(8rem,1.5fr)', sort: 'type' },
    cell: ({ row }) => <span className="font-mono text-sm">{safe(row.original.type)}</span>,
  },
  {
    id: 'stack',
    header: 'Stack',
    meta: { width: 'minmax(8rem,1.5fr)', sort: 'stack' },
    cell: ({ row: { original: r } }) => <Named of={{ namespace: r.namespace, name: r.stack }} />,
  },
  {
    id: 'provider',
    header: 'Provider',
    meta: { width: 'minmax(7rem,1fr)', sort: 'provider' },
    // The registry is that of the engine for nearly all of them.
    cell: ({ row }) => (
      <span title={safe(row.original.provider ?? '')}>
        {safe(row.original.provider?.split('/').slice(-2).join('/') ?? '')}
      </span>
    ),
  },
]
