import { Link } from '@tanstack/react-router'
import type { ColumnDef } from '@tanstack/react-table'
import type { Notification } from '../api/client'
import { KindList } from '../list/KindList'
import { Named, rowLink } from '../list/Named'
import { ReadyBadge } from '../ui/Badge'
import { Empty } from '../ui/Empty'
import { Ago } from '../ui/Time'
import { inWords } from '../ui/tone'
import { safe } from '../views/text/escape'

/** The Notifications. */
export default function Notifications() {
  return (
    <KindList
      kind="notifications"
      columns={columns}
      card={(n) => (
        <>
          <span className="flex items-start justify-between gap-2">
            <Name notification={n} />
            <ReadyBadge of={n} />
          </span>
          <span className="text-muted text-sm break-words">
            {n.destination}: {about(n)}
          </span>
        </>
      )}
      none={
        <Empty title="No Notifications found, or you cannot view them">
          A Notification sends messages about Stacks to a chat or a webhook.
        </Empty>
      }
    />
  )
}

/** What a Notification is about. */
const about = (n: Notification) =>
  `${(n.events ?? []).map(inWords).join(', ')}${n.selector ? ` of Stacks with ${safe(n.selector)}` : ''}`

function Name({ notification }: { notification: Notification }) {
  return (
    <Link
      to="/notifications/$namespace/$name"
      params={{ namespace: notification.namespace, name: notification.name }}
      className={rowLink}
    >
      <Named of={notification} />
    </Link>
  )
}

const columns: ColumnDef<Notification>[] = [
  {
    id: 'name',
    header: 'Name',
    meta: { width: 'minmax(10rem,1fr)', sort: 'name' },
    cell: ({ row }) => <Name notification={row.original} />,
  },
  {
    id: 'status',
    header: 'Status',
    meta: { width: 'minmax(10rem,1.5fr)' },
    cell: ({ row: { original: n } }) => (
      <span className="flex min-w-0 items-center gap-2">
        <ReadyBadge of={n} />
        <span className="text-muted truncate text-sm" title={n.message && safe(n.message)}>
          {n.message && safe(n.message)}
        </span>
      </span>
    ),
  },
  { id: 'destination', header: 'To', meta: { width: '6rem' }, cell: ({ row }) => row.original.destination },
  {
    id: 'events',
    header: 'About',
    meta: { width: 'minmax(12rem,2fr)' },
    cell: ({ row }) => <span title={about(row.original)}>{about(row.original)}</span>,
  },
  {
    id: 'sent',
    header: 'Sent',
    meta: { width: '6.5rem', sort: 'sent' },
    cell: ({ row }) => <Ago at={row.original.sent} />,
  },
]
