import { Link } from '@tanstack/react-router'
import type { ColumnDef } from '@tanstack/react-table'
import type { State } from '../api/client'
import { KindList } from '../list/KindList'
import { Named, rowLink } from '../list/Named'
import { Badge } from '../ui/Badge'
import { Empty } from '../ui/Empty'
import { Ago } from '../ui/Time'
import { safe } from '../views/text/escape'
import { bytes } from './words'

/** The States. */
export default function States() {
  return (
    <KindList
      kind="states"
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
      none={
        <Empty title="No States found, or you cannot view them">The first apply of a Stack creates its State.</Empty>
      }
    />
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
