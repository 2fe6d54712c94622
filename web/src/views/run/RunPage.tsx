import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useLocation } from '@tanstack/react-router'
import { lazy, Suspense, useMemo, useState } from 'react'
import { objectPath } from '../../api/client'
import type { Detail } from '../../api/kinds'
import { accessQuery, deniedQuery, objectQuery } from '../../api/queries'
import { Button } from '../../ui/Button'
import { Section, useTitle } from '../../ui/Page'
import { Skeletons } from '../../ui/Skeleton'
import { Tabs } from '../../ui/Tabs'
import { Events } from '../Events'
import { Fetched } from '../Fetched'
import { logFeed, textFeed } from '../logs/feed'
import { LogView } from '../logs/LogView'
import { formatRange, parseRange } from '../logs/range'
import { classOfLogLine, classOfPlanLine } from '../text/lineClass'
import type { RunSearch } from '../search'
import { failedStep, isFinished, ownerOf, phaseOf, possible, waitsForApproval } from './actions'
import { ActionBar, HeadActions } from './ActionBar'
import { ApplyTab } from './ApplyTab'
import { PlanTab } from './PlanTab'
import { RunHead } from './RunHead'
import { Timeline } from './Timeline'
import { counts, signs } from './words'

const route = getRouteApi('/app/runs/$namespace/$name')
// What draws graphs is large, and not asked for by most.
const PlanGraph = lazy(() => import('./PlanGraph'))

/** A Run: its operation, its plan, its log, and the actions of the user. */
export default function RunPage() {
  const { namespace, name } = route.useParams()
  useTitle(`Run ${name}`)
  const run = useQuery(objectQuery('runs', namespace, name))
  return (
    <Fetched query={run} label="Loading the Run">
      {(detail) => <Known key={detail.object.metadata.uid} detail={detail} />}
    </Fetched>
  )
}

function Known({ detail }: { detail: Detail<'runs'> }) {
  const { metadata, spec, status } = detail.object
  const { namespace, name } = metadata
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const hash = useLocation({ select: (l) => l.hash })
  const denied = useQuery({ ...deniedQuery(namespace, name), enabled: waitsForApproval(detail.object) })
  const access = useQuery(accessQuery('runs', namespace, name))
  const stack = useQuery({ ...objectQuery('stacks', namespace, spec.stack.name), retry: false })
  const stackAccess = useQuery(accessQuery('stacks', namespace, spec.stack.name))

  // A plan stays visible when the Run gets another one, because the user may be reviewing it: the new plan is shown on request.
  const digest = status?.plan?.digest
  const waiting = phaseOf(detail.object) === 'AwaitingApproval'
  const [read, setRead] = useState({ digest, kept: waiting })
  if (read.digest !== digest && !read.kept) setRead({ digest, kept: waiting })
  else if (waiting && !read.kept) setRead({ ...read, kept: true })
  const shown = read.digest
  const show = () => setRead({ digest, kept: waiting })

  const can = possible(
    detail.object,
    ownerOf(detail.object, stack.data?.object),
    access.data ?? {},
    stackAccess.data ?? {},
    denied.data ?? {},
  )
  const set = (to: Partial<RunSearch>) =>
    void navigate({ search: (was) => ({ ...was, ...to }), replace: true, resetScroll: false })
  const failed = failedStep(detail.object)
  // A user who sees an apply begin sees it to its end.
  const applying = phaseOf(detail.object) === 'Applying'
  const [watched, setWatched] = useState(applying)
  if (applying && !watched) setWatched(true)
  const tab = search.tab ?? (failed ? 'log' : watched ? 'apply' : shown ? 'plan' : 'log')

  const tabs = [
    {
      id: 'plan',
      label: (
        <>
          Plan{' '}
          {shown === digest && (
            <span className="text-muted font-mono text-sm font-normal" title={counts(status?.plan)}>
              {signs(status?.plan)}
            </span>
          )}
        </>
      ),
      content: <PlanTab detail={detail} shown={shown} search={search} set={set} />,
    },
    {
      id: 'text',
      label: 'Raw plan',
      content: shown ? <EngineText key={shown} namespace={namespace} name={name} hash={hash} /> : <NoPlan />,
    },
    { id: 'apply', label: 'Apply', content: <ApplyTab run={detail.object} /> },
    {
      id: 'log',
      label: 'Log',
      content: (
        <Log
          detail={detail}
          search={search.tab ? search : { ...search, step: search.step ?? failed }}
          set={set}
          hash={hash}
        />
      ),
    },
    {
      id: 'graph',
      label: 'Graph',
      content:
        shown && status?.plan?.changes ? (
          <Suspense fallback={<Skeletons label="Loading the graph" />}>
            <PlanGraph namespace={namespace} name={name} digest={shown} />
          </Suspense>
        ) : (
          <NoPlan />
        ),
    },
    { id: 'events', label: 'Events', content: <Events kind="runs" namespace={namespace} name={name} /> },
  ]
  return (
    <>
      <RunHead
        detail={detail}
        repository={stack.data?.row?.repository}
        actions={<HeadActions detail={detail} possible={can} />}
      />
      <div className="grid grid-cols-1 gap-4 lg:grid-cols-[19rem_minmax(0,1fr)]">
        <div className="order-2 lg:order-1">
          <Section title="Timeline">
            <Timeline run={detail.object} />
          </Section>
        </div>
        <div className="order-1 min-w-0 lg:order-2">
          {shown !== digest && (
            <p role="alert" className="bg-warnbg text-warn mb-2 flex flex-wrap items-center gap-2 rounded-md p-2">
              The Run has another plan since you opened it; what is shown is the old one.
              <Button small onClick={show}>
                Show the new plan
              </Button>
            </p>
          )}
          <Tabs
            label="Parts of the Run"
            tabs={tabs.map((t) => (t.id === tab ? t : { ...t, content: null }))}
            value={tab}
            onChange={(id) =>
              void navigate({ search: { tab: id as RunSearch['tab'] }, replace: true, resetScroll: false })
            }
          />
        </div>
      </div>
      <ActionBar detail={detail} possible={can} shown={shown} />
    </>
  )
}

function NoPlan() {
  return <p className="text-muted p-3">There is no plan with changes.</p>
}

function useHash(hash: string) {
  const navigate = route.useNavigate()
  return {
    range: parseRange(hash),
    onRange: (r: { from: number; to: number }) =>
      void navigate({
        search: (was) => was,
        hash: formatRange(r),
        replace: true,
        resetScroll: false,
        hashScrollIntoView: false,
      }),
  }
}

function EngineText({ namespace, name, hash }: { namespace: string; name: string; hash: string }) {
  const path = objectPath('runs', namespace, name, 'plan?format=text')
  const feed = useMemo(() => textFeed(path), [path])
  return (
    <LogView
      feed={feed}
      label="Raw plan"
      download={path}
      filename={`${name}-plan.txt`}
      lineClass={classOfPlanLine}
      {...useHash(hash)}
    />
  )
}

function Log({
  detail,
  search,
  set,
  hash,
}: {
  detail: Detail<'runs'>
  search: RunSearch
  set: (to: Partial<RunSearch>) => void
  hash: string
}) {
  const { metadata, status } = detail.object
  const { attempt } = search
  const path = objectPath('runs', metadata.namespace, metadata.name, 'logs') + (attempt ? `?attempt=${attempt}` : '')
  const feed = useMemo(() => logFeed(path), [path])
  return (
    <LogView
      key={`${path}|${search.step ?? ''}`}
      feed={feed}
      label="Log"
      download={path}
      filename={`${metadata.name}${attempt ? `-${attempt}` : ''}.log`}
      step={search.step}
      follows={!isFinished(detail.object)}
      lineClass={classOfLogLine}
      {...useHash(hash)}
    >
      <select
        aria-label="Attempts"
        className="field px-1.5 text-sm"
        value={attempt ?? ''}
        onChange={(event) =>
          set({ attempt: event.target.value ? Number(event.target.value) : undefined, step: undefined })
        }
      >
        <option value="">All attempts</option>
        {(status?.attempts ?? []).map((a) => (
          <option key={a.number} value={a.number}>
            {a.number}: {a.phase.toLowerCase()}
          </option>
        ))}
      </select>
    </LogView>
  )
}
