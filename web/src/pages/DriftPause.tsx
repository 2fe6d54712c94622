import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { CirclePlay } from 'lucide-react'
import { accessQuery, objectQuery, useAction } from '../api/queries'
import { ReadyBadge } from '../ui/Badge'
import { ConfirmButton } from '../ui/Dialog'
import { Empty } from '../ui/Empty'
import { Facts, PageHead, Section, useTitle } from '../ui/Page'
import { Pending } from '../ui/Pending'
import { Problem } from '../ui/Problem'
import { Ago } from '../ui/Time'
import { Events } from '../views/Events'
import { safe } from '../views/text/escape'

const route = getRouteApi('/app/driftpauses/$namespace/$name')

/** A DriftPause: why drift is not corrected in a namespace, which Stacks drifted, and a button that resumes. */
export default function DriftPause() {
  const { namespace, name } = route.useParams()
  useTitle(`${namespace} · Drift pauses`)
  const detail = useQuery(objectQuery('driftpauses', namespace, name))
  const access = useQuery({ ...accessQuery('driftpauses', namespace, name), retry: false })
  const act = useAction('driftpauses', namespace, name)
  const { row, object } = detail.data ?? {}
  const over = (
    <Link to="/driftpauses" className="link">
      Drift pauses
    </Link>
  )
  if (!row || !object) {
    return <Pending title={namespace} over={over} query={detail} label="Loading the DriftPause" />
  }
  const { stacks = [], resumed, drifted = 0 } = object.status ?? {}
  return (
    <>
      <PageHead
        title={namespace}
        over={over}
        badge={<ReadyBadge of={row} />}
        actions={
          row.since &&
          access.data?.resume && (
            <ConfirmButton
              label="Resume"
              icon={<CirclePlay aria-hidden className="size-4" />}
              title={`Resume the corrections of drift in ${namespace}?`}
              confirm="Resume"
              run={() => act.mutateAsync({ action: 'resume' })}
            >
              <p>Cairn corrects the drift of the Stacks with spec.drift.onDrift Apply, with a Run of each.</p>
            </ConfirmButton>
          )
        }
      />
      {detail.error && (
        <div className="mb-3">
          <Problem error={detail.error} retry={() => void detail.refetch()} />
        </div>
      )}
      <div className="panel mb-5">
        {row.message && <p className="border-line border-b p-3 break-words">{safe(row.message)}</p>}
        <Facts
          facts={[
            ['Began to drift', `${row.drifted} of ${row.checked} Stacks`],
            ['Paused', row.since ? <Ago key="since" at={row.since} /> : 'no'],
            [
              'Resumed',
              resumed ? (
                <span key="resumed">
                  <Ago at={resumed.time} /> by {safe(resumed.by)}
                </span>
              ) : (
                'never'
              ),
            ],
          ]}
        />
      </div>
      <Section title="Stacks that began to drift">
        {stacks.length > 0 ? (
          <ul className="divide-line divide-y">
            {stacks.map((stack) => (
              <li key={stack} className="px-3 py-1.5">
                <Link to="/stacks/$namespace/$name" params={{ namespace, name: stack }} className="link font-medium">
                  {stack}
                </Link>
              </li>
            ))}
            {drifted > stacks.length && <li className="text-muted px-3 py-1.5">and {drifted - stacks.length} more</li>}
          </ul>
        ) : (
          <Empty title="None" />
        )}
      </Section>
      <Section title="Events" bare>
        <Events kind="driftpauses" namespace={namespace} name={name} />
      </Section>
    </>
  )
}
