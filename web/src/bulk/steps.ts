import type { Stack } from '../api/client'
import type { RunObject, StackObject } from '../api/kinds'
import type { Access, Denied } from '../api/queries'
import { stackActions } from '../stack/actions'
import { phaseOf, possible, waitsForApproval } from '../views/run/actions'
import { inWords } from '../ui/tone'

/** An action on several Stacks or Runs. */
export type BulkAction = 'approve' | 'retry' | 'plan'

/** A selected row. */
export type Target = { uid: string; namespace: string; name: string }

type Plan = NonNullable<NonNullable<RunObject['status']>['plan']>

/** The request for a target: an action on an object of its namespace. */
export type Step = {
  target: Target
  kind: 'stacks' | 'runs'
  name: string
  action: BulkAction
  /** The plan that is approved. The server rejects the approval if the Run has another one by then. */
  plan?: Plan
  /** Whether what the Run plans is applied without an approval. */
  immediate?: boolean
}

/** A target that the action does not apply to, and why. */
export type Skipped = { target: Target; why: string }

export const isStep = (of: Step | Skipped): of is Step => 'action' in of

const everything: Access = { approve: true, plan: true, apply: true, retry: true, destroy: true }
const destroys = 'A retry destroys all resources of the Stack: request it on the page of the Stack.'
const denied = 'Your roles do not allow you to do this.'

/** The approval of the plan of a Run. The target is the Run, or its Stack. */
export function approval(target: Target, run: RunObject, access: Access, noEffect: Denied): Step | Skipped {
  const found = possible(run, undefined, access, {}, noEffect).find((p) => p.action === 'approve')
  if (found && !found.why)
    return { target, kind: 'runs', name: run.metadata.name, action: 'approve', plan: run.status?.plan }
  if (found?.why) return { target, why: found.why }
  if (waitsForApproval(run)) return { target, why: denied }
  return { target, why: `Run ${run.metadata.name} does not wait for an approval: ${inWords(phaseOf(run))}.` }
}

/** The request for a Run of a Stack. */
export function request(action: 'retry' | 'plan', target: Target, stack: Stack, access: Access): Step | Skipped {
  const can = (access: Access) => stackActions(stack, undefined, access).includes(action)
  if (can(access)) {
    if (action === 'retry' && stack.retry?.operation === 'Destroy') return { target, why: destroys }
    const immediate = action === 'retry' && stack.apply === 'Automatic'
    return { target, kind: 'stacks', name: stack.name, action, immediate }
  }
  if (stack.suspended) return { target, why: 'The Stack is suspended.' }
  if (can(everything)) return { target, why: denied }
  return {
    target,
    why: action === 'plan' ? 'The Stack is being deleted.' : 'Its last Run neither failed nor was canceled.',
  }
}

/** The retry of a Run, by a request to its Stack. */
export function retryOfRun(
  target: Target,
  run: RunObject,
  stack: StackObject | undefined,
  access: Access,
): Step | Skipped {
  const can = (access: Access) => possible(run, stack, {}, access, {}).some((p) => p.action === 'retry')
  if (stack && can(access)) {
    if (stack.status?.retry?.operation === 'Destroy') return { target, why: destroys }
    const immediate = stack.spec.apply === 'Automatic'
    return { target, kind: 'stacks', name: run.spec.stack.name, action: 'retry', immediate }
  }
  if (can(everything)) return { target, why: denied }
  return { target, why: 'It neither failed nor was canceled, or it is not the Run that a retry of its Stack repeats.' }
}

/** Skips targets whose request another one sends already. */
export function distinct(all: (Step | Skipped)[]): (Step | Skipped)[] {
  const sent = new Set<string>()
  return all.map((s) => {
    if (!isStep(s)) return s
    const key = `${s.kind}/${s.target.namespace}/${s.name}`
    if (sent.has(key)) return { target: s.target, why: 'Another selected row requests the same.' }
    sent.add(key)
    return s
  })
}

/** The sums of plans. */
export function sums(plans: Plan[]) {
  const sum = (of: (p: Plan) => number) => plans.reduce((n, p) => n + of(p), 0)
  return {
    changes: plans.some((p) => p.changes),
    add: sum((p) => p.add),
    change: sum((p) => p.change),
    destroy: sum((p) => p.destroy),
    replace: sum((p) => p.replace),
    import: sum((p) => p.import),
    forget: sum((p) => p.forget),
    // A replacement counts in add and in destroy. A plan lists at most 100 resources, but also those that it only moves.
    addresses: sum((p) => Math.max(p.add + p.change + p.destroy - p.replace, p.resources?.length ?? 0)),
  }
}
