import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ColumnDef } from '@tanstack/react-table'
import type { Stack } from '../api/client'
import { pagesQuery } from '../api/queries'
import type { StacksSearch } from '../app/search'
import { BulkBar } from '../bulk/BulkBar'
import { useCollapsed } from '../list/collapse'
import { DataList } from '../list/DataList'
import { Filter, Toggle } from '../list/Filter'
import { fieldWord, GroupBy } from '../list/GroupBy'
import { Named, rowLink } from '../list/Named'
import { Search, SearchBar } from '../list/Search'
import { useSelection } from '../list/selection'
import { Badge, ReadyBadge } from '../ui/Badge'
import { Button } from '../ui/Button'
import { Empty } from '../ui/Empty'
import { PageHead, useTitle } from '../ui/Page'
import { Ago } from '../ui/Time'
import { safe } from '../views/text/escape'
import { inWords } from '../ui/tone'

const route = getRouteApi('/app/stacks')

/** The Stacks, filtered by the parameters of the address. */
export default function Stacks() {
  useTitle('Stacks')
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const set = (change: Partial<StacksSearch>) => void navigate({ search: (s) => ({ ...s, ...change }), replace: true })
  const { sort, group, ...filters } = search
  const [collapsed, toggle] = useCollapsed(group)
  const pages = useInfiniteQuery(pagesQuery('stacks', search, collapsed))
  const selection = useSelection<Stack>(filters)
  const filtered = Object.values(filters).some((v) => v !== undefined)
  const of = { kind: 'stacks', params: search } as const
  return (
    <>
      <PageHead title="Stacks" />
      <SearchBar search={<Search label="Search Stacks" value={search.q} onChange={(q) => set({ q })} />}>
        <Filter
          {...of}
          label="Namespace"
          field="namespace"
          free
          chosen={search.namespace}
          onChange={(namespace) => set({ namespace })}
        />
        <Filter
          {...of}
          label="Ready"
          field="ready"
          chosen={search.ready}
          word={readyWord}
          onChange={(ready) => set({ ready })}
        />
        <Filter
          {...of}
          label="Reason"
          field="reason"
          chosen={search.reason}
          word={inWords}
          onChange={(reason) => set({ reason })}
        />
        <Filter {...of} label="Label" field="label" free chosen={search.label} onChange={(label) => set({ label })} />
        <Filter
          {...of}
          label="Repository"
          field="repository"
          free
          chosen={search.repository}
          onChange={(repository) => set({ repository })}
        />
        <Filter
          {...of}
          label="StackSet"
          field="stackset"
          free
          chosen={search.stackset}
          onChange={(stackset) => set({ stackset })}
        />
        <Filter {...of} label="Engine" field="engine" chosen={search.engine} onChange={(engine) => set({ engine })} />
        <Toggle label="Failing" on={search.failing === true} onChange={(on) => set({ failing: on || undefined })} />
        <Toggle label="Drifted" on={search.drifted === true} onChange={(on) => set({ drifted: on || undefined })} />
        <Toggle
          label="Suspended"
          on={search.suspended === true}
          onChange={(on) => set({ suspended: on || undefined })}
        />
        {filtered && (
          <Button
            kind="bare"
            onClick={() => void navigate({ search: { ...(sort && { sort }), ...(group && { group }) }, replace: true })}
          >
            Clear
          </Button>
        )}
        <GroupBy params={search} chosen={group} onChange={(group) => set({ group })} />
      </SearchBar>
      <DataList
        label="Stacks"
        pages={pages}
        selection={selection}
        groups={
          group ? { collapsed, onToggle: toggle, word: (value) => <GroupWord by={group} value={value} /> } : undefined
        }
        columns={columns}
        card={(s) => <Card stack={s} />}
        sort={search.sort ?? 'name'}
        onSort={(to) => set({ sort: to as StacksSearch['sort'] })}
        empty={
          filtered ? (
            <Empty title="No matching Stacks">Clear the filters, or change the search.</Empty>
          ) : (
            <Empty title="No Stacks that you can view">
              Create one with <code className="font-mono">kubectl apply</code>, or ask for a role that lets you list
              Stacks.
            </Empty>
          )
        }
      />
      <BulkBar
        kind="stacks"
        actions={['approve', 'retry', 'plan']}
        rows={pages.data?.pages.flatMap((p) => p.items ?? []) ?? []}
        all={!pages.hasNextPage && collapsed.length === 0}
        selection={selection}
      />
    </>
  )
}

/** The value of a group: a word, or that its Stacks have none. */
function GroupWord({ by, value }: { by: string; value: string }) {
  if (!value) return <span className="text-muted font-normal">without {fieldWord(by)}</span>
  return (
    <>
      <span className="text-muted font-normal">{fieldWord(by)}: </span>
      {by === 'reason' ? inWords(value) : value}
    </>
  )
}

function readyWord(ready: string): string {
  return { True: 'Ready', False: 'Not ready', Unknown: 'In progress' }[ready] ?? ready
}

function Name({ stack }: { stack: Stack }) {
  return (
    <Link to="/stacks/$namespace/$name" params={{ namespace: stack.namespace, name: stack.name }} className={rowLink}>
      <Named of={stack} />
    </Link>
  )
}

function Flags({ stack }: { stack: Stack }) {
  return (
    <>
      {stack.deleted && <Badge tone="bad">Being deleted</Badge>}
      {stack.drifted && stack.reason !== 'Drifted' && <Badge tone="warn">Drifted</Badge>}
      {stack.suspended && stack.reason !== 'Suspended' && <Badge>Suspended</Badge>}
    </>
  )
}

const columns: ColumnDef<Stack>[] = [
  {
    id: 'name',
    header: 'Name',
    meta: { width: 'minmax(12rem,1.4fr)', sort: 'name' },
    cell: ({ row }) => <Name stack={row.original} />,
  },
  {
    id: 'status',
    header: 'Status',
    meta: { width: 'minmax(14rem,2.6fr)', sort: 'reason' },
    cell: ({ row: { original: s } }) => (
      <span className="flex min-w-0 items-center gap-2">
        <span className="flex shrink-0 gap-1">
          <ReadyBadge of={s} />
          <Flags stack={s} />
        </span>
        <span className="text-muted truncate text-sm" title={s.message && safe(s.message)}>
          {s.message && safe(s.message)}
        </span>
      </span>
    ),
  },
  {
    id: 'source',
    header: 'Source',
    meta: { width: 'minmax(8rem,1.2fr)' },
    cell: ({ row: { original: s } }) => (
      <span className="text-muted text-sm" title={`${s.repository ?? ''} ${s.path ?? ''}`}>
        {s.repository ? `${s.repository}${s.path ? ` · ${s.path}` : ''}` : '–'}
      </span>
    ),
  },
  {
    id: 'resources',
    header: 'Resources',
    meta: { width: '7rem', sort: 'resources' },
    cell: ({ row }) => (
      <span className="tabular-nums">{row.original.resources < 0 ? 'unknown' : row.original.resources}</span>
    ),
  },
  {
    id: 'changed',
    header: 'Since',
    meta: { width: '6.5rem', sort: 'changed' },
    cell: ({ row }) => <Ago at={row.original.changed ?? row.original.created} />,
  },
]

function Card({ stack }: { stack: Stack }) {
  return (
    <>
      <span className="flex items-start justify-between gap-2">
        <span className="min-w-0 break-words">
          <Name stack={stack} />
        </span>
        <span className="flex shrink-0 gap-1">
          <Flags stack={stack} />
          <ReadyBadge of={stack} />
        </span>
      </span>
      <span className="text-muted line-clamp-2 text-sm">{stack.message && safe(stack.message)}</span>
    </>
  )
}
