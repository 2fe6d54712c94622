import { Link } from '@tanstack/react-router'
import type { RunObject } from '../../api/kinds'
import { Badge } from '../../ui/Badge'
import { cx } from '../../ui/cx'
import { Took } from '../../ui/Time'
import { inWords } from '../../ui/tone'
import { safe } from '../text/escape'
import { StateIcon } from './StateIcon'
import type { Step } from './words'
import { advice } from './words'

type Attempt = NonNullable<NonNullable<RunObject['status']>['attempts']>[number]

/** The attempts of a Run and their steps, with what went wrong. */
export function Timeline({ run }: { run: RunObject }) {
  const attempts = run.status?.attempts ?? []
  if (attempts.length === 0) return <p className="text-muted p-3">No pod was created yet.</p>
  return (
    <ol className="divide-line divide-y">
      {attempts.map((a) => (
        <li key={a.number} className="p-2.5">
          <Attempt attempt={a} run={run} last={a === attempts.at(-1)} />
        </li>
      ))}
    </ol>
  )
}

function Attempt({ attempt: a, run, last }: { attempt: Attempt; run: RunObject; last: boolean }) {
  return (
    <>
      <div className="flex flex-wrap items-baseline gap-x-2">
        <h3 className="font-medium">
          {inWords(a.phase)} <span className="text-muted font-normal">· attempt {a.number}</span>
        </h3>
        <span className="text-muted ml-auto text-sm">
          <Took from={a.startedAt} {...(a.finishedAt && { to: a.finishedAt })} />
        </span>
      </div>
      <p className="text-muted truncate font-mono text-xs" title={`Pod ${a.pod}`}>
        {a.pod}
      </p>
      <ol aria-label={`Steps of attempt ${a.number}`} className="mt-1.5">
        {(a.steps ?? []).map((step) => (
          <li key={step.name}>
            <StepRow step={step} attempt={a} run={run} />
          </li>
        ))}
        {(a.steps ?? []).length === 0 && !a.finishedAt && <li className="text-muted text-sm">The pod starts.</li>}
      </ol>
      {a.failure && (
        <div className="border-bad/40 bg-badbg mt-2 rounded border p-2 text-sm">
          <p>
            <Badge tone="bad">{a.failure.class}</Badge> <span className="break-words">{safe(a.failure.message)}</span>
          </p>
          {last && <p className="text-muted mt-1">{advice(a.failure.class, run)}</p>}
        </div>
      )}
    </>
  )
}

function StepRow({ step, attempt, run }: { step: Step; attempt: Attempt; run: RunObject }) {
  const skipped = step.state === 'Skipped' || step.state === 'Waiting'
  const row = (
    <>
      <StateIcon state={step.state} />
      <span className="sr-only">{step.state}: </span>
      <span className={cx('w-24 shrink-0 truncate', skipped && 'text-muted')}>{step.name}</span>
      <span
        className={cx(
          'text-muted min-w-0 grow text-xs',
          step.state === 'Failed' ? 'text-bad line-clamp-3 break-words' : 'truncate',
        )}
        title={step.message ? safe(step.message) : undefined}
      >
        {/* The failure is shown below, with what to do. */}
        {step.state === 'Failed' && attempt.failure ? '' : safe(step.message ?? '')}
        {step.state === 'Failed' && step.exitCode !== undefined && ` (exit code ${step.exitCode})`}
      </span>
      <span className="text-muted ml-auto shrink-0 text-xs tabular-nums">
        {step.startedAt && <Took from={step.startedAt} {...(step.finishedAt && { to: step.finishedAt })} />}
      </span>
    </>
  )
  const className = 'flex items-center gap-1.5 rounded px-1 py-0.5 text-sm'
  if (skipped) return <div className={className}>{row}</div>
  return (
    <Link
      to="/runs/$namespace/$name"
      params={{ namespace: run.metadata.namespace, name: run.metadata.name }}
      search={{ tab: 'log', attempt: attempt.number, step: step.name }}
      title={`The log of ${step.name}`}
      resetScroll={false}
      className={cx(className, 'hover:bg-hover')}
    >
      {row}
    </Link>
  )
}
