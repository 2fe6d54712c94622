import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { CircleCheck } from 'lucide-react'
import type { ReactNode } from 'react'
import type { DriftPause, Run, Stack } from '../api/client'
import { listQuery } from '../api/queries'
import type { ListSearch, StacksSearch } from '../app/search'
import { Named } from '../list/Named'
import { CauseText, Counts } from '../pages/runrows'
import { ReadyBadge } from '../ui/Badge'
import { Section } from '../ui/Page'
import { Problem } from '../ui/Problem'
import { Skeletons } from '../ui/Skeleton'
import { Ago } from '../ui/Time'
import { safe } from '../views/text/escape'

/** How many of each are shown here; the rest is in the lists. */
const few = 5

/** Plans, failures and drift that require a user to act. */
export function NeedsYou() {
  const waiting = useQuery(listQuery('runs', { phase: 'AwaitingApproval', sort: 'created', limit: few }))
  const failed = useQuery(listQuery('stacks', { failing: true, sort: '-changed', limit: few }))
  const canceled = useQuery(listQuery('stacks', { reason: ['RunCanceled'], sort: '-changed', limit: few }))
  const drifted = useQuery(listQuery('stacks', { drifted: true, sort: '-changed', limit: few }))
  const paused = useQuery(listQuery('driftpauses', { ready: 'False', sort: '-since', limit: few }))
  const all = [waiting, failed, canceled, drifted, paused]
  const error = all.find((q) => q.error)
  const quiet = all.every((q) => q.data?.total === 0)
  return (
    <Section title="Needs attention" bare>
      {error ? (
        <Problem error={error.error} retry={() => all.forEach((q) => void q.refetch())} />
      ) : all.some((q) => !q.data) ? (
        <div className="panel p-3">
          <Skeletons lines={4} label="Loading what needs attention" />
        </div>
      ) : quiet ? (
        <p className="panel flex items-center gap-2 p-3">
          <CircleCheck aria-hidden className="text-good size-4" /> Nothing: no plan awaits approval, no Stack is failing
          or has drifted.
        </p>
      ) : (
        <div className="flex flex-col gap-3">
          <Group
            title="Awaiting approval"
            total={waiting.data?.total}
            to="/runs"
            search={{ phase: ['AwaitingApproval'] }}
          >
            {waiting.data?.items?.map((r) => (
              <Waiting key={r.uid} run={r} />
            ))}
          </Group>
          <Group title="Failing" total={failed.data?.total} to="/stacks" search={{ failing: true }}>
            {failed.data?.items?.map((s) => (
              <Standing key={s.uid} stack={s} />
            ))}
          </Group>
          <Group title="Canceled" total={canceled.data?.total} to="/stacks" search={{ reason: ['RunCanceled'] }}>
            {canceled.data?.items?.map((s) => (
              <Standing key={s.uid} stack={s} />
            ))}
          </Group>
          <Group title="Drifted" total={drifted.data?.total} to="/stacks" search={{ drifted: true }}>
            {drifted.data?.items?.map((s) => (
              <Standing key={s.uid} stack={s} />
            ))}
          </Group>
          <Group
            title="Corrections of drift paused"
            total={paused.data?.total}
            to="/driftpauses"
            search={{ ready: ['False'] }}
          >
            {paused.data?.items?.map((p) => (
              <Paused key={p.uid} pause={p} />
            ))}
          </Group>
        </div>
      )}
    </Section>
  )
}

function Group({
  title,
  total = 0,
  to,
  search,
  children,
}: {
  title: string
  total?: number
  to: '/runs' | '/stacks' | '/driftpauses'
  search: ListSearch | StacksSearch
  children: ReactNode
}) {
  if (total === 0) return null
  return (
    <div className="panel overflow-hidden">
      <div className="border-line flex items-baseline gap-2 border-b px-3 py-2">
        <h3 className="font-medium">{title}</h3>
        <span className="text-muted tabular-nums">{total.toLocaleString('en')}</span>
        {total > few && (
          <Link to={to} search={search} className="link ml-auto text-sm">
            All {total.toLocaleString('en')}
          </Link>
        )}
      </div>
      <ul className="divide-line divide-y">{children}</ul>
    </div>
  )
}

const row =
  'hover:bg-hover focus-within:bg-chosen relative flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2 md:flex-nowrap'

function Waiting({ run }: { run: Run }) {
  return (
    <li className={row}>
      <Link
        to="/runs/$namespace/$name"
        params={{ namespace: run.namespace, name: run.name }}
        className="min-w-0 font-medium break-words after:absolute after:inset-0"
      >
        <Named of={run} />
      </Link>
      <span>{run.operation}</span>
      <Counts of={run.plan} />
      <span className="hidden min-w-0 truncate md:block">
        <CauseText run={run} />
      </span>
      <span className="text-muted ml-auto text-sm">
        <Ago at={run.created} />
      </span>
    </li>
  )
}

function Standing({ stack }: { stack: Stack }) {
  return (
    <li className={row}>
      <Link
        to="/stacks/$namespace/$name"
        params={{ namespace: stack.namespace, name: stack.name }}
        className="font-medium break-words after:absolute after:inset-0 md:shrink-0"
      >
        <Named of={stack} />
      </Link>
      <span className="flex shrink-0">
        <ReadyBadge of={stack} />
      </span>
      <span
        className="text-muted line-clamp-2 min-w-0 text-sm md:line-clamp-1"
        title={stack.message && safe(stack.message)}
      >
        {stack.message && safe(stack.message)}
      </span>
      <span className="text-muted ml-auto text-sm">
        <Ago at={stack.changed} />
      </span>
    </li>
  )
}

function Paused({ pause }: { pause: DriftPause }) {
  return (
    <li className={row}>
      <Link
        to="/driftpauses/$namespace/$name"
        params={{ namespace: pause.namespace, name: pause.name }}
        className="font-medium break-words after:absolute after:inset-0 md:shrink-0"
      >
        {pause.namespace}
      </Link>
      <span
        className="text-muted line-clamp-2 min-w-0 text-sm md:line-clamp-1"
        title={pause.message && safe(pause.message)}
      >
        {pause.message && safe(pause.message)}
      </span>
      <span className="text-muted ml-auto text-sm">
        <Ago at={pause.since} />
      </span>
    </li>
  )
}
