import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useSyncExternalStore } from 'react'
import { objectPath, ProblemError } from '../../api/client'
import type { RunObject } from '../../api/kinds'
import { cx } from '../../ui/cx'
import { Empty } from '../../ui/Empty'
import { Problem } from '../../ui/Problem'
import { Skeletons } from '../../ui/Skeleton'
import { Took } from '../../ui/Time'
import { planQuery } from '../plan/queries'
import { toneText, wordOf } from '../plan/types'
import { Rows } from '../Rows'
import { safe } from '../text/escape'
import type { Resource } from './operations'
import { OperationsFeed, progressText, resourcesOf } from './operations'
import { StateIcon } from './StateIcon'

type Attempt = NonNullable<NonNullable<RunObject['status']>['attempts']>[number]

/** What the last apply of a Run does to each resource, while it runs and afterwards. */
export function ApplyTab({ run }: { run: RunObject }) {
  const attempt = run.status?.attempts?.findLast((a) => a.phase === 'Apply')
  if (!attempt) return <p className="text-muted p-3">Nothing was applied.</p>
  return <Applied key={attempt.number} run={run} attempt={attempt} />
}

function Applied({ run, attempt }: { run: RunObject; attempt: Attempt }) {
  const { metadata, status } = run
  const path = `${objectPath('runs', metadata.namespace, metadata.name, 'logs')}?attempt=${attempt.number}&of=operations`
  const feed = useMemo(() => new OperationsFeed(path), [path])
  useEffect(() => feed.start(), [feed])
  const version = useSyncExternalStore(feed.subscribe, feed.snapshot)
  // A plan after the apply is another one.
  const isPlanned = !status?.attempts?.some((a) => a.phase === 'Plan' && a.number > attempt.number)
  const plan = useQuery({
    ...planQuery(metadata.namespace, metadata.name, status?.plan?.digest ?? ''),
    enabled: isPlanned && status?.plan !== undefined,
    retry: false,
  })
  const planned = isPlanned ? plan.data?.changes : undefined
  const resources = useMemo(
    () => resourcesOf(planned, feed.operations, attempt),
    // eslint-disable-next-line react-hooks/exhaustive-deps -- the operations are another version
    [planned, feed, attempt, version],
  )
  if (feed.state.kind === 'failed') return <Problem error={new ProblemError(feed.state.problem)} />
  if (feed.state.kind === 'connecting' || plan.isLoading) return <Skeletons lines={4} label="Loading the resources" />
  if (status?.plan?.script && feed.operations.resources.size === 0)
    return <Empty title="A script applies the plan">Its log shows the progress.</Empty>
  if (resources.length === 0) return <Empty title="No resource changes" />
  const text = progressText(resources)
  const done = resources.filter((r) => r.state === 'done').length
  return (
    <div className="panel overflow-hidden">
      <div className="border-line flex flex-wrap items-center gap-x-3 gap-y-1 border-b p-2">
        <p className="font-medium tabular-nums">{text}</p>
        <progress aria-label={text} value={done} max={resources.length} className="accent-accent h-2 grow basis-40" />
        {feed.state.kind === 'waiting' && <p className="text-warn text-sm">{safe(feed.state.detail)}; retrying</p>}
      </div>
      <Rows label="Resources of the apply" rows={resources} keyOf={(r) => r.address}>
        {(r) => <Row resource={r} over={attempt.finishedAt !== undefined} />}
      </Rows>
    </div>
  )
}

const icons = {
  failed: 'Failed',
  unknown: 'Skipped',
  running: 'Running',
  pending: 'Waiting',
  done: 'Succeeded',
} as const

function Row({ resource: r, over }: { resource: Resource; over: boolean }) {
  return (
    <div className="border-line flex items-start gap-1.5 border-b px-2 py-1">
      <StateIcon state={icons[r.state]} className="my-0.5" />
      <span
        className={cx(
          'w-7 shrink-0 text-center font-mono font-semibold whitespace-pre',
          toneText[wordOf(r.action).tone],
        )}
      >
        <span aria-hidden>{wordOf(r.action).sign}</span>
        <span className="sr-only">{wordOf(r.action).done}</span>
      </span>
      <span className="min-w-0 font-mono break-all">{safe(r.address)}</span>
      <span className={cx('ml-auto shrink-0 text-sm', r.state === 'failed' ? 'text-bad' : 'text-muted')}>
        {stateText(r, over)} {r.state === 'running' && r.from && <Took from={r.from} />}
        {(r.state === 'done' || r.state === 'failed') && r.from && r.to && <Took from={r.from} to={r.to} />}
      </span>
    </div>
  )
}

/** The state of a resource in words. */
function stateText(r: Resource, over: boolean): string {
  const half = r.half === 'delete' ? ', only destroyed' : r.half === 'create' ? ', only created' : ''
  switch (r.state) {
    case 'running':
      return 'in progress'
    case 'pending':
      return over ? 'not started' : 'pending'
    case 'unknown':
      return `unknown${half}`
    case 'failed':
      return `failed${half}`
    case 'done':
      return 'done'
  }
}
