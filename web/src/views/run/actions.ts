import type { RunObject, StackObject } from '../../api/kinds'
import { condition } from '../../api/kinds'
import type { Access } from '../../api/queries'

/** A thing that a person may do with a Run now. Why says what is in the way of it, where it would make sense otherwise. */
export type Possible = { action: 'approve' | 'reject' | 'cancel' | 'retry'; why?: string }

const finished = ['Succeeded', 'Failed', 'Canceled', 'Superseded']

export const phaseOf = (run: RunObject): string => run.status?.phase ?? 'Queued'
export const isFinished = (run: RunObject): boolean => finished.includes(phaseOf(run))

/** Whether the plan that a Run has now is approved by somebody whose approval counts. */
export function isApproved(run: RunObject): boolean {
  const approval = run.spec.approval
  if (!approval || approval.planDigest !== run.status?.plan?.digest) return false
  return !run.spec.preventSelfApproval || approval.by !== run.spec.cause.by
}

/** Whether a Run goes on once a person approves its plan. */
export function waitsForApproval(run: RunObject): boolean {
  return (
    phaseOf(run) === 'AwaitingApproval' &&
    condition(run, 'Succeeded')?.reason === 'AwaitingApproval' &&
    run.status?.plan !== undefined &&
    !isApproved(run) &&
    !run.spec.rejection &&
    !run.spec.cancel
  )
}

/** Whether there is something that the Stack may be told to try again. */
function mayTryAgain(run: RunObject, stack: StackObject | undefined): boolean {
  if (!stack || run.spec.operation === 'Shell' || run.spec.operation === 'Plan') return false
  if (condition(run, 'Succeeded')?.reason === 'Retrying') return true // at once, and not when its time comes
  return ['Failed', 'Canceled'].includes(phaseOf(run)) && stack.status?.lastRun === run.metadata.name
}

/** What makes sense with a Run now, and is allowed to who looks. */
export function possible(
  run: RunObject,
  stack: StackObject | undefined,
  run$: Access,
  stack$: Access,
  me: string,
): Possible[] {
  const list: Possible[] = []
  if (waitsForApproval(run)) {
    if (run$.approve) {
      const own = run.spec.preventSelfApproval === true && run.spec.cause.by === me
      list.push({
        action: 'approve',
        ...(own && { why: 'You caused this change, and the Stack asks for another pair of eyes.' }),
      })
    }
    if (run$.reject) list.push({ action: 'reject' })
  }
  if (!isFinished(run) && !run.spec.cancel && run$.cancel) list.push({ action: 'cancel' })
  if (mayTryAgain(run, stack) && stack$.retry) list.push({ action: 'retry' })
  return list
}

/** What the plan that was read has become, where it is not the one that would be approved: then nothing is sent. */
export function outdated(run: RunObject, digest: string): string | undefined {
  if (phaseOf(run) !== 'AwaitingApproval') return `The Run is ${phaseOf(run)} now and does not wait for an approval.`
  if (run.status?.plan?.digest !== digest) return 'The Run has another plan now. Read it before you approve it.'
  return undefined
}
