import type { Condition, RunObject, StackObject } from '../../api/kinds'
import { condition } from '../../api/kinds'
import type { Access } from '../../api/queries'

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

/** The users who caused a Run, by name. A Run of an older release has only spec.cause.by. */
export const usersWhoCaused = ({ spec }: RunObject): string[] =>
  spec.causedBy?.length ? [...new Set(spec.causedBy.map((c) => c.name))] : spec.cause.by ? [spec.cause.by] : []

/** Whether a user caused a Run: the rule of internal/approval. */
function caused({ spec }: RunObject, user: string): boolean {
  const lower = user.toLowerCase()
  const is = (name: string) => lower === name || lower.endsWith(`:${name}`) || lower.endsWith(`#${name}`)
  if (!spec.causedBy?.length) return spec.cause.by === user
  return spec.causedBy.some((c) => c.name === user || (c.users ?? []).some(is))
}

/** Whether not all users who caused a Run are known, and no user requested it. */
const needsRequest = ({ spec }: RunObject): boolean =>
  !!spec.causedByUnknown && !(spec.causedBy ?? []).some((c) => c.kind === 'Request')

/**
 * Why an approval by a user would not count. The Run has the rule since it was created, or the Stack has it now.
 */
function denial(run: RunObject, stack: StackObject | undefined, user: string): string | undefined {
  const { spec } = run
  const prevents = spec.preventSelfApproval === true || stack?.spec.preventSelfApproval === true
  if ((prevents && caused(run, user)) || (!!spec.selfApprovalRemovedBy && spec.selfApprovalRemovedBy === user))
    return 'You caused this change or removed spec.preventSelfApproval, which requires the approval of another user.'
  if (prevents && needsRequest(run))
    return `Not all users who caused this Run are known: ${spec.causedByUnknown}. Request a Run, then let another user approve that.`
  return undefined
}

/** Whether the current plan of a Run has a valid approval. */
export function isApproved(run: RunObject, stack?: StackObject): boolean {
  const approval = run.spec.approval
  if (!approval || approval.planDigest !== run.status?.plan?.digest) return false
  if (denial(run, stack, approval.by)) return false
  // Without the Stack, its rule is not known: the approval does not count if the operator has seen it, and still waits for one.
  const said = condition(run, 'Succeeded')
  return stack !== undefined || said?.reason !== 'AwaitingApproval' || !isCurrent(run, said)
}

const isCurrent = (run: RunObject, said: Condition): boolean =>
  said.observedGeneration !== undefined && said.observedGeneration === run.metadata.generation

/** Whether a Run continues after an approval of its plan. */
export function waitsForApproval(run: RunObject, stack?: StackObject): boolean {
  return (
    phaseOf(run) === 'AwaitingApproval' &&
    condition(run, 'Succeeded')?.reason === 'AwaitingApproval' &&
    run.status?.plan !== undefined &&
    !isApproved(run, stack) &&
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

/** The actions on a Run that apply now and that the user can perform. */
export function possible(
  run: RunObject,
  stack: StackObject | undefined,
  run$: Access,
  stack$: Access,
  me: string,
): Possible[] {
  const list: Possible[] = []
  if (waitsForApproval(run, stack)) {
    if (run$.approve) {
      const why = denial(run, stack, me)
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
