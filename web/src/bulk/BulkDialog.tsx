import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useEffect, useState } from 'react'
import { asProblem } from '../api/client'
import { Badge } from '../ui/Badge'
import { Button } from '../ui/Button'
import { Dialog } from '../ui/Dialog'
import { safeText } from '../views/text/escape'
import { counts, planDigits, warnings } from '../views/run/words'
import { each, perform, prepare } from './requests'
import type { BulkAction, Skipped, Step, Target } from './steps'
import { distinct, isStep, sums } from './steps'

/** What became of a request. Undefined before it is sent. */
type Result = 'sent' | 'done' | { error: string }

const words: Record<BulkAction, { title: string; confirm: (n: number) => string; done: string }> = {
  approve: {
    title: 'Approve plans',
    confirm: (n) => (n === 1 ? 'Approve and apply' : `Approve and apply ${n} plans`),
    done: 'Approved',
  },
  retry: { title: 'Retry', confirm: (n) => `Retry ${stacks(n)}`, done: 'Requested' },
  plan: { title: 'Check for drift', confirm: (n) => `Check ${stacks(n)}`, done: 'Requested' },
}

const number = (n: number, one: string, many: string) => `${n.toLocaleString('en')} ${n === 1 ? one : many}`
const stacks = (n: number) => number(n, 'Stack', 'Stacks')

/**
 * An action on several objects: it reads them as they are now, shows what the action would do to which of them, sends the requests few at a
 * time, and shows the result of each. It stays open until the user closes it, and while requests are sent.
 */
export function BulkDialog({
  kind,
  action,
  targets,
  onClose,
}: {
  kind: 'stacks' | 'runs'
  action: BulkAction
  targets: Target[]
  /** Sent is whether a request was sent. */
  onClose: (sent: boolean) => void
}) {
  const client = useQueryClient()
  const [read, setRead] = useState(0)
  const [found, setFound] = useState<(Step | Skipped)[]>()
  const [results, setResults] = useState<ReadonlyMap<Step, Result>>(new Map())
  const [running, setRunning] = useState<AbortController>()
  const [selected] = useState(targets) // at the time of the click

  useEffect(() => {
    const stop = new AbortController()
    const all: (Step | Skipped)[] = []
    const work = async (target: Target, index: number) => {
      all[index] = await prepare(client, kind, action, target)
      if (!stop.signal.aborted) setRead((n) => n + 1)
    }
    void each(selected, work, stop.signal).then(() => {
      if (!stop.signal.aborted) setFound(distinct(all))
    })
    return () => {
      stop.abort()
      setRead(0)
    }
  }, [client, kind, action, selected])

  const steps = found?.filter(isStep) ?? []
  const skipped = found?.filter((s): s is Skipped => !isStep(s)) ?? []
  const failed = steps.filter((s) => typeof results.get(s) === 'object')
  const done = steps.filter((s) => results.get(s) === 'done').length
  const began = results.size > 0

  const run = async (chosen: Step[]) => {
    const stop = new AbortController()
    setRunning(stop)
    const set = (step: Step, result: Result) => setResults((all) => new Map(all).set(step, result))
    await each(
      chosen,
      async (step) => {
        set(step, 'sent')
        try {
          await perform(step)
          set(step, 'done')
        } catch (error) {
          set(step, { error: asProblem(error).detail })
        }
      },
      stop.signal,
    )
    setRunning(undefined)
    for (const changed of ['stacks', 'runs']) void client.invalidateQueries({ queryKey: [changed] })
  }
  const close = () => {
    if (!running) onClose(began)
  }

  return (
    <Dialog open onOpenChange={close} title={words[action].title}>
      {!found && <Progress label={`Reading ${selected.length} objects`} value={read} max={selected.length} />}
      {found && !began && <Summary action={action} steps={steps} />}
      {began && (
        <>
          <Progress label="Requests" value={done + failed.length} max={steps.length} />
          <p role="status">
            {done} of {steps.length} {words[action].done.toLowerCase()}
            {failed.length > 0 && <span className="text-bad">, {failed.length} failed</span>}
            {!running && done + failed.length < steps.length && `, ${steps.length - done - failed.length} not sent`}.
          </p>
        </>
      )}
      {steps.length > 0 && (
        <List label="Requests">
          {steps.map((step) => (
            <Item
              key={step.target.uid}
              target={step.target}
              kind={kind}
              end={<ResultBadge of={results.get(step)} action={action} />}
            >
              <About step={step} result={results.get(step)} />
            </Item>
          ))}
        </List>
      )}
      {skipped.length > 0 && (
        <section>
          <h3 className="font-medium">
            Left out: {skipped.length} of {found?.length}
          </h3>
          <List label="Left out">
            {skipped.map(({ target, why }) => (
              <Item key={target.uid} target={target} kind={kind}>
                {safeText(why)}
              </Item>
            ))}
          </List>
        </section>
      )}
      <div className="flex flex-wrap justify-end gap-2">
        {running ? (
          <Button onClick={() => running.abort()}>Stop</Button>
        ) : (
          <Button onClick={close}>{began ? 'Done' : 'Back'}</Button>
        )}
        {began && failed.length > 0 && !running && (
          <Button kind="main" onClick={() => void run(failed)}>
            Try the {failed.length} again
          </Button>
        )}
        {!began && (
          <Button kind="main" disabled={steps.length === 0} onClick={() => void run(steps)}>
            {words[action].confirm(steps.length)}
          </Button>
        )}
      </div>
    </Dialog>
  )
}

/** What the action would do. */
function Summary({ action, steps }: { action: BulkAction; steps: Step[] }) {
  if (steps.length === 0) return <p>The action applies to none of the selected rows now.</p>
  if (action === 'plan')
    return <p>A Run of each of {stacks(steps.length)} plans the declared configuration. It applies nothing.</p>
  if (action === 'retry') {
    const immediate = steps.filter((s) => s.immediate).length
    return (
      <>
        <p>
          {stacks(steps.length)} {steps.length === 1 ? 'gets' : 'get'} a new Run, which begins with a new plan.
        </p>
        {immediate > 0 && (
          <p className="text-warn">The plans of {stacks(immediate)} are applied immediately, without an approval.</p>
        )}
      </>
    )
  }
  const plans = steps.flatMap((s) => s.plan ?? [])
  const total = sums(plans)
  return (
    <>
      <p>
        Exactly {plans.length === 1 ? 'this plan is' : `these ${plans.length} plans are`} applied:{' '}
        <strong>{counts(total)}</strong>, at {number(total.addresses, 'address', 'addresses')}.
      </p>
      {total.destroy > 0 && (
        <p className="bg-badbg text-bad rounded p-2 font-medium">
          {number(total.destroy, 'resource is', 'resources are')} destroyed
          {total.replace > 0 && ', or destroyed and recreated'}.
        </p>
      )}
    </>
  )
}

/** What a request does, or why it failed. */
function About({ step, result }: { step: Step; result: Result | undefined }) {
  if (typeof result === 'object') return <span className="text-bad">{safeText(result.error)}</span>
  if (!step.plan) return null
  return (
    <>
      {step.name}: {counts(step.plan)}, plan
      <span className="font-mono break-all"> {planDigits(step.plan.digest)}</span>{' '}
      <Link
        to="/runs/$namespace/$name"
        params={{ namespace: step.target.namespace, name: step.name }}
        target="_blank"
        className="link underline"
        aria-label={`Read the plan of ${step.name}`}
      >
        Read
      </Link>
      {warnings(step.plan).map((w) => (
        <span key={w} className="text-warn block">
          {w}
        </span>
      ))}
    </>
  )
}

function ResultBadge({ of, action }: { of: Result | undefined; action: BulkAction }) {
  if (of === undefined) return null
  if (of === 'sent') return <Badge tone="busy">Sent</Badge>
  return of === 'done' ? <Badge tone="good">{words[action].done}</Badge> : <Badge tone="bad">Failed</Badge>
}

function Progress({ label, value, max }: { label: string; value: number; max: number }) {
  return <progress aria-label={label} value={value} max={max} className="accent-accent h-2 w-full" />
}

function List({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div
      role="region"
      aria-label={label}
      // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a box that scrolls has to be reachable by the keyboard
      tabIndex={0}
      className="border-line max-h-64 min-h-16 overflow-y-auto rounded border"
    >
      <ul className="divide-line divide-y">{children}</ul>
    </div>
  )
}

function Item({
  target,
  kind,
  end,
  children,
}: {
  target: Target
  kind: 'stacks' | 'runs'
  end?: ReactNode
  children: ReactNode
}) {
  return (
    <li className="flex items-start gap-2 px-2 py-1.5">
      <div className="min-w-0 grow">
        <p className="font-medium break-words">
          <span className="sr-only">{kind === 'runs' ? 'Run' : 'Stack'} </span>
          <span className="text-muted font-normal">{target.namespace}/</span>
          {target.name}
        </p>
        {children && <p className="text-muted text-sm break-words">{children}</p>}
      </div>
      {end}
    </li>
  )
}
