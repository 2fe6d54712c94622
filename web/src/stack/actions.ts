import type { Run, Stack } from '../api/client'
import type { Access } from '../api/queries'

/** The actions on a Stack in the web UI. */
export type StackAction = 'plan' | 'apply' | 'retry' | 'suspend' | 'resume' | 'destroy'

export type DeletionPolicy = 'Destroy' | 'Orphan' | 'Protect'

/** Whether a Run is over. */
export function isOver(phase: string): boolean {
  return ['Succeeded', 'Failed', 'Canceled', 'Superseded'].includes(phase)
}

/** The actions on a Stack that apply now and that the user can perform. The server authorizes each. */
export function stackActions(stack: Stack, deletionPolicy: DeletionPolicy | undefined, access: Access): StackAction[] {
  const makesSense: Record<StackAction, boolean> = {
    plan: !stack.suspended && !stack.deleted,
    // If spec.apply is Never, an apply would only plan.
    apply: !stack.suspended && !stack.deleted && stack.apply !== 'Never',
    retry: canRetry(stack, access),
    suspend: !stack.suspended && !stack.deleted,
    resume: stack.suspended,
    destroy: !stack.suspended && !stack.deleted && deletionPolicy !== 'Protect' && stack.resources !== 0,
  }
  return (Object.keys(makesSense) as StackAction[]).filter((a) => makesSense[a] && access[a] === true)
}

function canRetry({ retry, run, suspended }: Stack, access: Access): boolean {
  const isUnderWay = run !== undefined && run === retry?.run
  return !!retry && !suspended && !isUnderWay && access[retry.operation === 'Destroy' ? 'destroy' : 'apply'] === true
}

/** The Run of a Stack whose plan waits for an approval. */
export function waitingRun(runs: Run[]): Run | undefined {
  return runs.find((r) => r.phase === 'AwaitingApproval')
}

/** The Run of a Stack that is under way. */
export function currentRun(runs: Run[]): Run | undefined {
  return runs.find((r) => !isOver(r.phase))
}
