import type { RunObject, StackObject } from '../../api/kinds'
import { condition } from '../../api/kinds'
import type { Access, Denied } from '../../api/queries'

/** An action that a user can perform on a Run now. */
export type Possible = {
  action: 'approve' | 'reject' | 'cancel' | 'retry'
  /** The reason if the action is disabled. */
  why?: string
  /** Whether a retry destroys the resources of the Stack. */
  destroys?: boolean
}

const finished = ['Succeeded', 'Failed', 'Canceled', 'Superseded']

export const phaseOf = (run: RunObject): string => run.status?.phase ?? 'Queued'
export const isFinished = (run: RunObject): boolean => finished.includes(phaseOf(run))

/** The step that a failed Run failed in. Undefined if it failed otherwise, for example because a policy denied its plan. */
export function failedStep(run: RunObject): string | undefined {
  if (phaseOf(run) !== 'Failed') return undefined
  return run.status?.attempts?.at(-1)?.steps?.find((s) => s.state === 'Failed')?.name
}

/** The approval of a Run: that of a user, else one that was carried from a pull request or a stage. */
export function approvalOf({ spec, status }: RunObject): { by: string; planDigest: string } | undefined {
  const carried = status?.carriedApproval
  const own = spec.approval
  return carried && own?.planDigest !== status.plan?.digest ? carried : own
}

/** Whether a user approved the plan of a Run, and the operator did not see it yet or found it valid. */
export function isApproved(run: RunObject): boolean {
  const { status } = run
  const approval = approvalOf(run)
  const sent = !!approval && approval.planDigest === status?.plan?.digest
  return sent && ['Pending', 'Valid'].includes(status?.approval?.state ?? 'Pending')
}

/** Whether a Run continues after an approval of its plan. */
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

/** The Stack of a Run; undefined if it is another one of that name. */
export const ownerOf = (run: RunObject, stack: StackObject | undefined): StackObject | undefined =>
  run.metadata.ownerReferences?.some((o) => o.uid === stack?.metadata.uid) ? stack : undefined

/** Whether a retry of the Stack repeats this Run, which is over or waits for its next attempt. */
function mayTryAgain(run: RunObject, stack: StackObject | undefined): boolean {
  if (!stack || stack.status?.retry?.run !== run.metadata.name) return false
  return condition(run, 'Succeeded')?.reason === 'Retrying' || isFinished(run) // at once, and not when its time comes
}

/** The actions on a Run that apply now and that the user can perform. Denied are those that would have no effect. */
export function possible(
  run: RunObject,
  stack: StackObject | undefined,
  run$: Access,
  stack$: Access,
  denied: Denied,
): Possible[] {
  const list: Possible[] = []
  if (waitsForApproval(run)) {
    if (run$.approve) {
      const why = denied.approve
      list.push({ action: 'approve', ...(why && { why }) })
    }
    if (run$.reject) list.push({ action: 'reject' })
  }
  if (!isFinished(run) && !run.spec.cancel && run$.cancel) list.push({ action: 'cancel' })
  if (mayTryAgain(run, stack) && stack$.retry)
    list.push({ action: 'retry', destroys: stack?.status?.retry?.operation === 'Destroy' })
  return list
}

/** What the plan that was read has become, where it is not the one that would be approved: then nothing is sent. */
export function outdated(run: RunObject, digest: string): string | undefined {
  if (phaseOf(run) !== 'AwaitingApproval') return `The Run is ${phaseOf(run)} now and does not wait for an approval.`
  if (run.status?.plan?.digest !== digest) return 'The Run has another plan now. Read it before you approve it.'
  return undefined
}
