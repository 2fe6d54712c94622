import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { objectQuery } from '../api/queries'
import { asYAML } from '../stack/spec'
import { ReadyBadge } from '../ui/Badge'
import { CopyButton } from '../ui/CopyButton'
import { Empty } from '../ui/Empty'
import { Facts, PageHead, Section, useTitle } from '../ui/Page'
import { Pending } from '../ui/Pending'
import { Problem } from '../ui/Problem'
import { Ago } from '../ui/Time'
import { inWords } from '../ui/tone'
import { Events } from '../views/Events'
import { safe, safeText } from '../views/text/escape'

const route = getRouteApi('/app/notifications/$namespace/$name')

/** A Notification: whether its destination accepts messages, the last ones, and what it has messages about. */
export default function Notification() {
  const { namespace, name } = route.useParams()
  useTitle(`${name} · Notifications`)
  const detail = useQuery(objectQuery('notifications', namespace, name))
  const { row, object } = detail.data ?? {}
  const over = (
    <>
      <Link to="/notifications" className="link">
        Notifications
      </Link>{' '}
      / {namespace}
    </>
  )
  if (!row || !object) {
    return <Pending title={name} over={over} query={detail} label="Loading the Notification" />
  }
  const { deliveries = [], pending, reported = [] } = object.status ?? {}
  const yaml = asYAML('Notification', object)
  return (
    <>
      <PageHead title={name} over={over} badge={<ReadyBadge of={row} />} />
      {detail.error && (
        <div className="mb-3">
          <Problem error={detail.error} retry={() => void detail.refetch()} />
        </div>
      )}
      <div className="panel mb-5">
        {row.message && <p className="border-line border-b p-3 break-words">{safe(row.message)}</p>}
        <Facts
          facts={[
            ['Destination', row.destination],
            ['Stacks', row.selector ? safe(row.selector) : 'All'],
            ['Events', (row.events ?? []).map(inWords).join(', ')],
            ['Created', <Ago key="created" at={row.created} />],
          ]}
        />
      </div>
      <Section title="Messages">
        {pending || deliveries.length > 0 ? (
          <ul className="divide-line divide-y">
            {pending && (
              <li className="flex flex-wrap items-center gap-3 px-3 py-1.5">
                <span>{inWords(pending.event)}</span>
                <span className="text-warn">is being sent</span>
                <span className="text-muted ml-auto text-sm">
                  <Ago at={pending.since} />
                </span>
              </li>
            )}
            {deliveries.map((d) => (
              <li key={d.id} className="flex flex-wrap items-center gap-3 px-3 py-1.5">
                <span>{inWords(d.event)}</span>
                {d.stacks > 0 && (
                  <span className="text-muted">{d.stacks === 1 ? '1 Stack' : `${d.stacks} Stacks`}</span>
                )}
                {d.failure && <span className="text-bad break-words">not sent: {safe(d.failure)}</span>}
                <span className="text-muted ml-auto text-sm">
                  <Ago at={d.time} />
                </span>
              </li>
            ))}
          </ul>
        ) : (
          <Empty title="No message was sent yet" />
        )}
      </Section>
      <Section title="Events that the destination knows of">
        {reported.length > 0 ? (
          <ul className="divide-line divide-y">
            {reported.slice(0, mostReported).map((r) => {
              const [first = '', second] = r.stack.split('/')
              const ofNamespace = r.stack === '' || r.stack.endsWith('/')
              const of = second ? { namespace: first, name: second } : { namespace, name: first }
              return (
                <li key={`${r.stack} ${r.event} ${r.key}`} className="flex flex-wrap items-center gap-3 px-3 py-1.5">
                  {ofNamespace ? (
                    <Link
                      to="/driftpauses/$namespace/$name"
                      params={{ namespace: first || namespace, name: 'mass-drift' }}
                      className="link font-medium"
                    >
                      {first || namespace}
                    </Link>
                  ) : (
                    <Link to="/stacks/$namespace/$name" params={of} className="link font-medium">
                      {of.namespace}/{of.name}
                    </Link>
                  )}
                  <span>{inWords(r.event)}</span>
                  {r.pending && <span className="text-warn text-sm">is being sent</span>}
                </li>
              )
            })}
            {reported.length > mostReported && (
              <li className="text-muted px-3 py-1.5">and {reported.length - mostReported} more</li>
            )}
          </ul>
        ) : (
          <Empty title="None" />
        )}
      </Section>
      <Section title="Events" bare>
        <Events kind="notifications" namespace={namespace} name={name} />
      </Section>
      <Section title="Spec" actions={<CopyButton text={yaml} label="Copy the YAML" />}>
        <pre className="overflow-x-auto p-3 font-mono text-sm">{safeText(yaml)}</pre>
      </Section>
    </>
  )
}

const mostReported = 100
