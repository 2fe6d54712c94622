import type { Run, Stack } from '../api/client'
import type { Access } from '../api/queries'

/** The actions on a Stack in the web UI. */
export type StackAction = 'plan' | 'apply' | 'retry' | 'suspend' | 'resume' | 'destroy'

export type DeletionPolicy = 'Destroy' | 'Orphan' | 'Protect'

/**
 * The newest Run that decides the state of a Stack: no read-only Run, and no destroy that was not wanted any more. Runs come
 * newest first. As in internal/action.
 */
export function lastTried(stack: Pick<Stack, 'apply'>, runs: Run[]): Run | undefined {
  return runs.find((r) => {
    if (r.operation === 'Plan' && r.cause.type === 'Drift') return false
    if (r.operation === 'Plan' && r.cause.type === 'Manual' && stack.apply !== 'Never') return false
    if (r.operation === 'Destroy' && r.phase === 'Superseded') return false
    return true
  })
}

/** Whether a Run is over. */
export function isOver(phase: string): boolean {
  return ['Succeeded', 'Failed', 'Canceled', 'Superseded'].includes(phase)
}

/** The actions on a Stack that apply now and that the user can perform. The server authorizes each. */
export function stackActions(
  stack: Stack,
  deletionPolicy: DeletionPolicy | undefined,
  runs: Run[],
  access: Access,
): StackAction[] {
  const makesSense: Record<StackAction, boolean> = {
    plan: !stack.suspended && !stack.deleted,
    // If spec.apply is Never, an apply would only plan.
    apply: !stack.suspended && !stack.deleted && stack.apply !== 'Never',
    retry: canRetry(stack, runs, access),
    suspend: !stack.suspended && !stack.deleted,
    resume: stack.suspended,
    destroy: !stack.suspended && !stack.deleted && deletionPolicy !== 'Protect' && stack.resources !== 0,
  }
  return (Object.keys(makesSense) as StackAction[]).filter((a) => makesSense[a] && access[a] === true)
}

function canRetry(stack: Stack, runs: Run[], access: Access): boolean {
  const last = lastTried(stack, runs)
  if (!last || stack.suspended || !['Failed', 'Canceled'].includes(last.phase)) return false
  const verb = retryDestroys(stack, runs) ? 'destroy' : 'apply'
  return access[verb] === true
}

/** Whether a retry of a Stack destroys its resources. */
export function retryDestroys(stack: Stack, runs: Run[]): boolean {
  return stack.deleted || lastTried(stack, runs)?.operation === 'Destroy'
}

/** The Run of a Stack whose plan waits for an approval. */
export function waitingRun(runs: Run[]): Run | undefined {
  return runs.find((r) => r.phase === 'AwaitingApproval')
}

/** The Run of a Stack that is under way. */
export function currentRun(runs: Run[]): Run | undefined {
  return runs.find((r) => !isOver(r.phase))
}
