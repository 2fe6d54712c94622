import { Link } from '@tanstack/react-router'
import type { ColumnDef } from '@tanstack/react-table'
import type { StackSet } from '../api/client'
import { KindList } from '../list/KindList'
import { Named, rowLink } from '../list/Named'
import { Badge, ReadyBadge } from '../ui/Badge'
import { Empty } from '../ui/Empty'
import { Ago } from '../ui/Time'
import { safe } from '../views/text/escape'
import { StackCounts } from './setrows'

/** The StackSets. */
export default function StackSets() {
  return (
    <KindList
      kind="stacksets"
      columns={columns}
      card={(s) => (
        <>
          <span className="flex items-start justify-between gap-2">
            <span className="min-w-0 break-words">
              <Name set={s} />
            </span>
            <Status set={s} />
          </span>
          <StackCounts of={s} />
          <span className="text-muted line-clamp-2 text-sm">{s.message && safe(s.message)}</span>
        </>
      )}
      none={
        <Empty title="No StackSets found, or you cannot view them">
          A StackSet creates a Stack for each directory of a Repository, or for each entry of a list.
        </Empty>
      }
    />
  )
}

function Name({ set }: { set: StackSet }) {
  return (
    <Link to="/stacksets/$namespace/$name" params={{ namespace: set.namespace, name: set.name }} className={rowLink}>
      <Named of={set} />
    </Link>
  )
}

function Status({ set }: { set: StackSet }) {
  return (
    <span className="flex shrink-0 gap-1">
      <ReadyBadge of={set} />
      {set.deleted && <Badge tone="bad">Being deleted</Badge>}
    </span>
  )
}

const columns: ColumnDef<StackSet>[] = [
  {
    id: 'name',
    header: 'Name',
    meta: { width: 'minmax(10rem,1fr)', sort: 'name' },
    cell: ({ row }) => <Name set={row.original} />,
  },
  {
    id: 'status',
    header: 'Status',
    meta: { width: 'minmax(14rem,2.2fr)' },
    cell: ({ row: { original: s } }) => (
      <span className="flex min-w-0 items-center gap-2">
        <Status set={s} />
        <span className="text-muted truncate text-sm" title={s.message && safe(s.message)}>
          {s.message && safe(s.message)}
        </span>
      </span>
    ),
  },
  {
    id: 'stacks',
    header: 'Stacks',
    meta: { width: 'minmax(12rem,1.2fr)', sort: 'generated' },
    cell: ({ row }) => <StackCounts of={row.original} />,
  },
  {
    id: 'repository',
    header: 'Repository',
    meta: { width: 'minmax(8rem,1fr)' },
    cell: ({ row }) => <span className="text-muted text-sm">{row.original.repository ?? '–'}</span>,
  },
  {
    id: 'changed',
    header: 'Since',
    meta: { width: '6.5rem', sort: 'changed' },
    cell: ({ row }) => <Ago at={row.original.changed ?? row.original.created} />,
  },
]
