import { shortDigest } from '../../api/digests'
import type { RunObject } from '../../api/kinds'
import { condition } from '../../api/kinds'
import { waits, waitsForText } from '../../api/reasons'
import { duration } from '../../ui/time'
import { destroys } from '../plan/types'
import { safe } from '../text/escape'
import { approvalOf, isFinished, waitsForApproval } from './actions'

type Plan = NonNullable<NonNullable<RunObject['status']>['plan']>
/** What of a plan, or of drift, is counted. */
type Counted = Pick<Plan, 'add' | 'change' | 'destroy' | 'replace'> & Partial<Plan>
type Listed = NonNullable<Plan['resources']>[number]
type Attempt = NonNullable<NonNullable<RunObject['status']>['attempts']>[number]
export type Step = NonNullable<Attempt['steps']>[number]

/** The counts of a plan, in words. A replacement counts in add and in destroy, as engines count it. */
export function counts(plan: Counted | undefined): string {
  if (!plan) return 'no plan yet'
  const parts = [
    [plan.add, 'to add'],
    [plan.change, 'to change'],
    [plan.destroy, plan.replace > 0 ? `to destroy (${plan.replace.toLocaleString('en')} to replace)` : 'to destroy'],
    [plan.import, 'to import'],
    [plan.forget, 'to forget'],
    [plan.invoke ?? 0, 'to invoke'],
    [plan.refresh ?? 0, 'to refresh in the state'],
  ]
    .filter(([n]) => n)
    .map(([n, word]) => `${Number(n).toLocaleString('en')} ${word}`)
  if (parts.length > 0) return parts.join(', ')
  if (plan.stateOnly) return 'only the state changes'
  return plan.changes ? 'only outputs or addresses change' : 'no changes'
}

/** So many addresses are listed for a confirmation at most. */
const mostListed = 20

/** The resources that a plan destroys or replaces: the first of them, and how many more there are. */
export function destroyed(plan: Pick<Plan, 'destroy' | 'resources'>): { first: Listed[]; more: number } {
  // The Run lists them before its other changes.
  const first = (plan.resources ?? []).filter(destroys).slice(0, mostListed)
  return { first, more: plan.destroy - first.length }
}

/** What to know about a plan before it is approved, beside its counts. */
export function warnings(plan: Plan): string[] {
  const findings = (n: number) => `${n} ${n === 1 ? 'finding' : 'findings'}`
  const { approvalRequired = 0, warned = 0 } = plan.policy ?? {}
  const untracked = plan.untracked?.length ?? 0
  return [
    plan.script && 'A script of spec.commands replaces the apply of the engine.',
    plan.partial && `It does not have all changes of the code: ${safe(plan.partial)}.`,
    plan.unverified && 'Cairn could not verify that this is what the plan does.',
    approvalRequired > 0 && `Policies require an approval: ${findings(approvalRequired)}.`,
    warned > 0 && `Policies warn: ${findings(warned)}.`,
    untracked > 0 && `${untracked} resources exist but are not in the state: the apply may create them again.`,
  ].filter((w) => typeof w === 'string')
}

/** The counts of a plan as engines sign them: +3 ~1. */
export function signs(plan: Plan | undefined): string {
  if (!plan) return ''
  const parts: [number, string][] = [
    [plan.add, '+'],
    [plan.change, '~'],
    [plan.destroy, '-'],
    [plan.replace, '-/+'],
    [plan.import, '&'],
    [plan.forget, '.'],
    [plan.invoke ?? 0, '!'],
    [plan.refresh ?? 0, '<~'],
  ]
  return parts
    .filter(([n]) => n > 0)
    .map(([n, sign]) => sign + n.toLocaleString('en'))
    .join(' ')
}

/** What a Run waits for, in one sentence. Undefined if it does not wait. */
export function waitsFor(run: RunObject, now: number): string | undefined {
  if (isFinished(run)) return undefined
  const said = condition(run, 'Succeeded')
  const message = said?.message ?? ''
  const next = run.status?.nextAttempt
  if (next && waits[said?.reason ?? ''] === 'Retry') {
    const left = Math.max(0, new Date(next).getTime() - now)
    return `Waits for the next attempt, ${left > 0 ? `in ${duration(left)}` : 'about now'}.`
  }
  // Of an approval that does not count, the message has the reason.
  if (!approvalOf(run) && waitsForApproval(run)) {
    const users = run.status?.approval?.excludedUsers ?? []
    const not = users.length > 0 ? `a user other than ${users.join(', ')}` : 'a user'
    return `Waits for the approval of ${not}.`
  }
  const on = waits[said?.reason ?? '']
  switch (on) {
    case undefined:
    case 'Approval':
    case 'Retry':
      return undefined
    case 'Queue':
      return message ? `${message.charAt(0).toUpperCase()}${message.slice(1)}.` : 'Queued.'
    case 'Resume':
      return `Waits for ${waitsForText[on]}.`
  }
  return `Waits for ${waitsForText[on]}: ${message}`
}

/** What to do about a failure of a class. */
export function advice(failure: string, run: RunObject): string {
  const again = run.status?.nextAttempt ? 'Cairn retries with a new plan' : 'retry with a new plan'
  switch (failure) {
    case 'Transient':
      return `A transient failure: ${again}.`
    case 'ConfigurationError':
      return 'The code or its values are wrong. Correct them to start a new Run, or retry without changes.'
    case 'PolicyDenied':
      return 'A policy denies the plan. Change the code or the policy; the plan shows the findings.'
    case 'PodLost':
      return `The pod ended before it reported a result: ${again}.`
    case 'Canceled':
      return 'A user canceled the Run. Request another Run if needed.'
    case 'StateNotSaved':
      return `The state could not be saved and is only in the log of the pod. Restore it first: cairn state recover ${run.spec.stack.name}`
  }
  return ''
}

/** The duration of a step, until now if it runs; undefined when it did not begin. */
export function lasted(started: string | undefined, finished: string | undefined, now: number): number | undefined {
  if (!started) return undefined
  return (finished ? new Date(finished).getTime() : now) - new Date(started).getTime()
}

/** The beginning of a digest, long enough to be unique. */
export function short(digest: string | undefined): string {
  return (digest ?? '').replace(/^sha256:/, '').slice(0, 12)
}

/** The digits of a plan's digest that name it in commands. */
export function planDigits(digest: string | undefined): string {
  return (digest ?? '').replace(/^sha256:/, '').slice(0, shortDigest)
}

/** A short revision: main@1f3c9a2 for main@sha1:1f3c9a2..., the beginning of a digest. */
export function revision(text: string | undefined): string {
  return (text ?? '').replace(/sha1:([0-9a-f]{8})[0-9a-f]*/, '$1').replace(/sha256:([0-9a-f]{12})[0-9a-f]*/, '$1')
}
