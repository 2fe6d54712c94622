import { useQuery } from '@tanstack/react-query'
import type { Plural } from '../api/client'
import { eventsQuery } from '../api/queries'
import { Badge } from '../ui/Badge'
import { Empty } from '../ui/Empty'
import { Problem } from '../ui/Problem'
import { Skeletons } from '../ui/Skeleton'
import { Ago } from '../ui/Time'
import { safe } from './text/escape'

/** The events of an object, newest first. */
export function Events({ kind, namespace, name }: { kind: Plural; namespace: string; name: string }) {
  const events = useQuery(eventsQuery(kind, namespace, name))
  if (events.error) return <Problem error={events.error} retry={() => void events.refetch()} />
  if (!events.data) return <Skeletons label="Loading events" />
  if (events.data.length === 0) return <Empty title="No events">Kubernetes deletes them after an hour.</Empty>
  return (
    <ul className="panel divide-line divide-y">
      {events.data.map((e, i) => (
        <li key={i} className="flex flex-wrap items-baseline gap-x-2 p-2">
          <Badge tone={e.type === 'Warning' ? 'warn' : 'none'}>{safe(e.reason)}</Badge>
          <span className="min-w-0 grow basis-64 break-words">{safe(e.message)}</span>
          <span className="text-muted text-sm">
            {e.count > 1 && `${e.count} times, `}
            <Ago at={e.last} />
          </span>
        </li>
      ))}
    </ul>
  )
}
