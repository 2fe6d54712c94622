import { useQueryClient } from '@tanstack/react-query'
import type { Detail, RunObject } from '../../api/kinds'
import { objectQuery, useAction } from '../../api/queries'
import { ConfirmButton, useAsking } from '../../ui/Dialog'
import { useDraft } from '../../ui/draft'
import { ProblemError } from '../../api/client'
import { safe } from '../text/escape'
import type { Possible } from './actions'
import { outdated } from './actions'
import type { Action } from '../plan/types'
import { wordOf } from '../plan/types'
import { counts, destroyed, planDigits, warnings } from './words'

type Plan = NonNullable<NonNullable<RunObject['status']>['plan']>

type Props = {
  detail: Detail<'runs'>
  possible: Possible[]
  /** The digest of the plan that is shown; the Run may have another one by now. */
  shown: string | undefined
}

/** Returns the actions that are possible, and the callbacks of their buttons. A question stays until it is answered, whatever the Run becomes meanwhile. */
function useActions(possible: Possible[]) {
  const [asked, onAsking] = useAsking<Possible['action']>()
  const can = (action: Possible['action']): Possible | undefined =>
    possible.find((p) => p.action === action) ?? (asked === action ? { action } : undefined)
  return { can, onAsking }
}

/** The actions on a Run that need no plan, for the head of the page. */
export function HeadActions({ detail, possible }: Omit<Props, 'shown'>) {
  const { metadata, spec, status } = detail.object
  const run = useAction('runs', metadata.namespace, metadata.name)
  const stack = useAction('stacks', metadata.namespace, spec.stack.name)
  const { can, onAsking } = useActions(possible)
  const destroys = can('retry')?.destroys ?? spec.operation === 'Destroy'
  return (
    <>
      {can('cancel') && (
        <ConfirmButton
          label="Cancel"
          hotkey="c"
          onAsking={onAsking('cancel')}
          title={`Cancel Run ${metadata.namespace}/${metadata.name}?`}
          confirm="Cancel the Run"
          kind="bare"
          confirmKind="danger"
          run={() => run.mutateAsync({ action: 'cancel' })}
        >
          <p>
            {status?.phase === 'Applying' || status?.phase === 'Planning'
              ? 'The engine is interrupted: it finishes the operations in progress and saves the state. This can take a while. Applied changes are not reverted.'
              : 'The Run ends immediately; nothing is applied.'}
          </p>
        </ConfirmButton>
      )}
      {can('retry') && (
        <ConfirmButton
          label="Retry"
          hotkey="t"
          onAsking={onAsking('retry')}
          title={`Retry what Run ${metadata.namespace}/${metadata.name} did not finish?`}
          confirm="Retry"
          type={destroys ? spec.stack.name : undefined}
          run={() => stack.mutateAsync({ action: `retry?operation=${destroys ? 'Destroy' : 'Apply'}` })}
        >
          {destroys && <p className="text-bad font-medium">The new Run destroys all resources of the Stack.</p>}
          <p>
            Stack {metadata.namespace}/{spec.stack.name} gets a new Run, which begins with a new plan and waits for an
            approval if the Stack requires one.
          </p>
        </ConfirmButton>
      )}
    </>
  )
}

/** The approval of a plan, which stays visible below it. Empty if the user cannot approve or reject one. */
export function ActionBar({ detail, possible, shown }: Props) {
  const { metadata, spec, status } = detail.object
  const client = useQueryClient()
  const run = useAction('runs', metadata.namespace, metadata.name)
  const [reason, setReason] = useDraft(`rejection of ${metadata.namespace}/${metadata.name}`)
  const { can, onAsking } = useActions(possible)
  const approve = can('approve')
  if (!approve && !can('reject')) return null
  const plan = status?.plan
  const old = shown !== undefined && plan !== undefined && plan.digest !== shown
  const total = counts(plan)

  // The user approves the plan that is shown. The Run is fetched again, so that an outdated plan is reported as a sentence and not as a conflict.
  const approved = async () => {
    const now = await client.fetchQuery({ ...objectQuery('runs', metadata.namespace, metadata.name), staleTime: 0 })
    const why = outdated(now.object, shown ?? '')
    if (why) throw new ProblemError({ type: 'about:blank', title: 'Not approved', status: 409, detail: why })
    await run.mutateAsync({ action: 'approve', body: { planDigest: shown } })
  }

  return (
    <div
      role="group"
      aria-label="Approval"
      className="panel border-strong sticky bottom-2 z-20 mt-3 flex flex-wrap items-center gap-2 p-2 shadow-lg"
    >
      <div className="min-w-0 grow basis-56">
        <p className="font-medium">{old ? 'The Run has another plan now' : total}</p>
        <p className="text-muted text-sm">
          Plan <span className="font-mono break-all">{planDigits(shown)}</span>
          {approve?.why && <span className="text-warn"> {approve.why}</span>}
        </p>
      </div>
      <div className="ml-auto flex flex-wrap justify-end gap-2">
        {can('reject') && (
          <ConfirmButton
            key={`reject ${shown}`} // a confirmation is for the plan that was shown, and for no later one
            label="Reject"
            hotkey="x"
            onAsking={onAsking('reject')}
            title={`Reject the plan of Run ${metadata.namespace}/${metadata.name}?`}
            confirm="Reject"
            kind="danger"
            run={async () => {
              await run.mutateAsync({
                action: 'reject',
                body: { planDigest: shown, ...(reason && { message: reason }) },
              })
              setReason('')
            }}
          >
            <p>
              {old ? 'The Run has another plan now.' : `The plan, ${total}, is not applied.`} A change of the Stack, or
              a request, starts a new Run.
            </p>
            <label className="flex flex-col gap-1">
              Reason (optional)
              <input
                className="field"
                maxLength={1000}
                value={reason}
                onChange={(event) => setReason(event.target.value)}
              />
            </label>
          </ConfirmButton>
        )}
        {approve && (
          <ConfirmButton
            key={`approve ${shown}`}
            label="Approve…"
            hotkey="a"
            onAsking={onAsking('approve')}
            title={`Approve the plan of Run ${metadata.namespace}/${metadata.name}?`}
            confirm="Approve and apply"
            kind="main"
            disabled={approve.why !== undefined || shown === undefined || old}
            run={approved}
          >
            {old ? (
              <p className="text-warn">The Run has another plan now. Read it before you approve it.</p>
            ) : (
              <>
                <p>
                  Exactly this plan is applied to Stack{' '}
                  <strong>
                    {metadata.namespace}/{safe(spec.stack.name)}
                  </strong>
                  : <strong>{total}</strong>.
                </p>
                {plan && plan.destroy > 0 && <Destroyed plan={plan} />}
                {plan &&
                  warnings(plan).map((w) => (
                    <p key={w} className="text-warn">
                      {w}
                    </p>
                  ))}
              </>
            )}
            <p className="text-muted text-sm">
              Plan <span className="font-mono break-all">{shown}</span>
            </p>
          </ConfirmButton>
        )}
      </div>
    </div>
  )
}

/** What a plan destroys and replaces, by address, so that the user confirms it by sight. */
function Destroyed({ plan }: { plan: Plan }) {
  const { first, more } = destroyed(plan)
  return (
    <div className="bg-badbg text-bad rounded p-2">
      <p className="font-medium">
        {plan.destroy.toLocaleString('en')} {plan.destroy === 1 ? 'resource is' : 'resources are'} destroyed
        {plan.replace > 0 && ', or destroyed and recreated'}
        {first.length > 0 ? ':' : '.'}
      </p>
      <ul aria-label="Destroyed and replaced" className="mt-1 font-mono text-sm">
        {first.map((r, i) => (
          <li key={i} className="flex gap-1.5">
            <span aria-hidden className="w-7 shrink-0 text-center whitespace-pre">
              {wordOf(r.action as Action).sign}
            </span>
            <span className="sr-only">{wordOf(r.action as Action).done}</span>
            <span className="min-w-0 break-all">{safe(r.address)}</span>
          </li>
        ))}
      </ul>
      {first.length > 0 && more > 0 && <p className="text-sm">and {more.toLocaleString('en')} more</p>}
    </div>
  )
}
