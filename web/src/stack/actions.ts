import type { Run, Stack } from '../api/client'
import type { Access } from '../api/queries'

/** What can be done to a Stack from the page. */
export type StackAction = 'plan' | 'apply' | 'retry' | 'suspend' | 'resume' | 'destroy'

export type DeletionPolicy = 'Destroy' | 'Orphan' | 'Protect'

/**
 * The newest Run that decides how a Stack stands: none that only looked, and no destroy that was not wanted any more. Runs come
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

/** What makes sense to do to a Stack now, of what one may. The server has the last word on each. */
export function stackActions(
  stack: Stack,
  deletionPolicy: DeletionPolicy | undefined,
  runs: Run[],
  access: Access,
): StackAction[] {
  const makesSense: Record<StackAction, boolean> = {
    plan: !stack.suspended && !stack.deleted,
    // Where nothing is ever applied an apply would be no more than a plan.
    apply: !stack.suspended && !stack.deleted && stack.apply !== 'Never',
    retry: canRetry(stack, runs, access),
    suspend: !stack.suspended && !stack.deleted,
    resume: stack.suspended,
    destroy: !stack.suspended && !stack.deleted && deletionPolicy !== 'Protect' && stack.resources > 0,
  }
  return (Object.keys(makesSense) as StackAction[]).filter((a) => makesSense[a] && access[a] === true)
}

function canRetry(stack: Stack, runs: Run[], access: Access): boolean {
  const last = lastTried(stack, runs)
  if (!last || stack.suspended || !['Failed', 'Canceled'].includes(last.phase)) return false
  const verb = stack.deleted || last.operation === 'Destroy' ? 'destroy' : 'apply'
  return access[verb] === true
}

/** The Run of a Stack whose plan waits for a person. */
export function waitingRun(runs: Run[]): Run | undefined {
  return runs.find((r) => r.phase === 'AwaitingApproval')
}

/** The Run of a Stack that is under way. */
export function currentRun(runs: Run[]): Run | undefined {
  return runs.find((r) => !isOver(r.phase))
}
