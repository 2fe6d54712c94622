import { Link } from '@tanstack/react-router'
import type { ColumnDef } from '@tanstack/react-table'
import type { DriftPause } from '../api/client'
import { KindList } from '../list/KindList'
import { Named, rowLink } from '../list/Named'
import { ReadyBadge } from '../ui/Badge'
import { Empty } from '../ui/Empty'
import { Ago } from '../ui/Time'
import { safe } from '../views/text/escape'

/** The DriftPauses. */
export default function DriftPauses() {
  return (
    <KindList
      kind="driftpauses"
      columns={columns}
      card={(p) => (
        <>
          <span className="flex items-start justify-between gap-2">
            <Name pause={p} />
            <ReadyBadge of={p} />
          </span>
          <span className="text-muted text-sm break-words">{p.message && safe(p.message)}</span>
        </>
      )}
      none={
        <Empty title="No drift pauses found, or you cannot view them">
          Cairn pauses the corrections of drift in a namespace when many of its Stacks begin to drift within an hour.
        </Empty>
      }
    />
  )
}

function Name({ pause }: { pause: DriftPause }) {
  return (
    <Link
      to="/driftpauses/$namespace/$name"
      params={{ namespace: pause.namespace, name: pause.name }}
      className={rowLink}
    >
      <Named of={pause} />
    </Link>
  )
}

const columns: ColumnDef<DriftPause>[] = [
  {
    id: 'name',
    header: 'Name',
    meta: { width: 'minmax(10rem,1fr)', sort: 'name' },
    cell: ({ row }) => <Name pause={row.original} />,
  },
  {
    id: 'status',
    header: 'Status',
    meta: { width: 'minmax(12rem,3fr)' },
    cell: ({ row: { original: p } }) => (
      <span className="flex min-w-0 items-center gap-2">
        <ReadyBadge of={p} />
        <span className="text-muted truncate text-sm" title={p.message && safe(p.message)}>
          {p.message && safe(p.message)}
        </span>
      </span>
    ),
  },
  {
    id: 'since',
    header: 'Since',
    meta: { width: '6.5rem', sort: 'since' },
    cell: ({ row }) => <Ago at={row.original.since} />,
  },
]
