import { describe, expect, it } from 'vitest'
import type { RunObject, StackObject } from '../../api/kinds'
import { failedStep, isApproved, outdated, ownerOf, possible, waitsForApproval } from './actions'
import { advice, counts, destroyed, lasted, revision, short, signs, waitsFor, warnings } from './words'

const digest = 'sha256:' + 'a'.repeat(64)
const other = 'sha256:' + 'b'.repeat(64)
const now = Date.parse('2026-01-01T00:00:00Z')

type Part = { phase?: string; reason?: string; message?: string; spec?: object; status?: object }
function run({
  phase = 'AwaitingApproval',
  reason = 'AwaitingApproval',
  message = '',
  spec = {},
  status = {},
}: Part = {}): RunObject {
  return {
    metadata: { name: 'net-7', namespace: 'shop', uid: 'u', creationTimestamp: '' },
    spec: {
      stack: { name: 'net' },
      operation: 'Apply',
      cause: { type: 'Spec', by: 'alice' },
      inputsDigest: digest,
      ...spec,
    },
    status: {
      phase,
      plan: { digest, changes: true, add: 3, change: 1, destroy: 0, replace: 0, import: 0, forget: 0 },
      conditions: [{ type: 'Succeeded', status: 'Unknown', reason, message, lastTransitionTime: '' }],
      ...status,
    },
  } as RunObject
}
const retries = (run: string, operation = 'Apply') =>
  ({ spec: {}, status: { retry: { run, operation } } }) as StackObject
const stack = retries('net-7')
const all = { approve: true, reject: true, cancel: true }
const names = (
  r: RunObject,
  access = all as Record<string, boolean>,
  stack$: Record<string, boolean> = { retry: true },
) => possible(r, stack, access, stack$, {}).map((p) => p.action)

describe('actions of a Run', () => {
  it('are approve, reject and cancel while it waits for an approval', () => {
    expect(names(run())).toEqual(['approve', 'reject', 'cancel'])
  })
  it('exclude those that RBAC denies', () => {
    expect(names(run(), { cancel: true })).toEqual(['cancel'])
    expect(names(run(), {})).toEqual([])
    expect(names(run({ phase: 'Failed', reason: 'ConfigurationError' }), all, {})).toEqual([])
  })
  it('exclude approve while a window is closed, or after an approval', () => {
    expect(names(run({ reason: 'WindowClosed' }))).toEqual(['cancel'])
    expect(names(run({ spec: { approval: { planDigest: digest, by: 'bob' } } }))).toEqual(['cancel'])
    expect(names(run({ spec: { cancel: true } }))).toEqual([])
    expect(names(run({ spec: { rejection: { planDigest: digest, by: 'bob' } } }))).toEqual(['cancel'])
  })
  it('include approve again after an approval that does not count', () => {
    const by = (state: string | undefined, planDigest = digest) =>
      run({ spec: { approval: { planDigest, by: 'alice' } }, status: state ? { approval: { state } } : {} })
    for (const state of ['OtherPlan', 'SelfApproval', 'UnknownCause']) {
      expect(isApproved(by(state))).toBe(false)
      expect(names(by(state))).toEqual(['approve', 'reject', 'cancel'])
      expect(waitsFor(by(state), now)).toBeUndefined() // the message of the Run has the reason
    }
    for (const state of ['Pending', 'Valid', undefined]) {
      expect(isApproved(by(state))).toBe(true)
      expect(waitsForApproval(by(state))).toBe(false)
    }
    expect(waitsForApproval(by('Pending', other))).toBe(true)
  })
  it('explain why an approval by the user would not count, as the server has it', () => {
    const why = 'Run net-7 was caused by alice'
    expect(possible(run(), stack, all, {}, { approve: why })[0]).toEqual({ action: 'approve', why })
    expect(possible(run(), stack, all, {}, {})[0]).toEqual({ action: 'approve' })
  })
  it('include retry for the Run that a retry of the Stack repeats, after its end and before a scheduled retry', () => {
    expect(names(run({ phase: 'Failed', reason: 'ConfigurationError' }))).toEqual(['retry'])
    expect(names(run({ phase: 'Planning', reason: 'Retrying' }))).toEqual(['cancel', 'retry'])
    expect(names(run({ phase: 'Planning', reason: 'Planning' }))).toEqual(['cancel'])
    const of = (stack: StackObject) => possible(run({ phase: 'Failed' }), stack, all, { retry: true }, {})
    expect(of(retries('net-6'))).toEqual([])
    expect(of({ spec: {}, status: {} } as StackObject)).toEqual([])
    expect(of(retries('net-7', 'Destroy'))).toEqual([{ action: 'retry', destroys: true }])
    expect(possible(run({ phase: 'Failed' }), undefined, all, { retry: true }, {})).toEqual([])
  })
  it('exclude approve for a plan that was not shown', () => {
    expect(outdated(run(), digest)).toBeUndefined()
    expect(outdated(run(), other)).toMatch(/another plan/)
    expect(outdated(run({ phase: 'Superseded' }), digest)).toMatch(/Superseded now/)
  })
})

describe('the step that failed', () => {
  const attempts = [
    {
      number: 1,
      phase: 'Plan',
      steps: [
        { name: 'init', state: 'Succeeded' },
        { name: 'plan', state: 'Failed' },
      ],
    },
  ]
  it('is that of the last attempt of a failed Run', () => {
    expect(failedStep(run({ phase: 'Failed', status: { attempts } }))).toBe('plan')
    expect(failedStep(run({ phase: 'Planning', status: { attempts } }))).toBeUndefined()
    expect(failedStep(run({ phase: 'Failed', status: { attempts: [] } }))).toBeUndefined()
  })
})

describe('the reason why a Run waits', () => {
  const said = (part: Part) => waitsFor(run(part), now)
  it('is one sentence', () => {
    expect(said({})).toBe('Waits for the approval of a user.')
    expect(
      said({ status: { approval: { state: 'Pending', excludedUsers: ['alice', 'Dan <dan@example.com>'] } } }),
    ).toBe('Waits for the approval of a user other than alice, Dan <dan@example.com>.')
    expect(said({ phase: 'Queued', reason: 'Queued', message: 'waits for Run net-6' })).toBe('Waits for Run net-6.')
    expect(said({ phase: 'Planning', reason: 'Retrying', status: { nextAttempt: '2026-01-01T00:00:30Z' } })).toBe(
      'Waits for the next attempt, in 30s.',
    )
    expect(
      said({
        phase: 'Planning',
        reason: 'Suspended',
        message: 'waits',
        status: { nextAttempt: '2026-01-01T00:00:30Z' },
      }),
    ).not.toMatch(/next attempt/)
    expect(said({ phase: 'Planning', reason: 'PodPending', message: 'no node fits' })).toBe(
      'Waits for its pod: no node fits',
    )
    expect(said({ phase: 'Planning', reason: 'Planning' })).toBeUndefined()
    expect(said({ phase: 'Failed', reason: 'ConfigurationError' })).toBeUndefined()
  })
})

describe('texts', () => {
  it('have counts', () => {
    expect(counts(run().status?.plan)).toBe('3 to add, 1 to change')
    expect(counts({ add: 1, change: 0, destroy: 2, replace: 1 })).toBe('1 to add, 2 to destroy (1 to replace)')
    expect(counts(undefined)).toBe('no plan yet')
    const accepts = {
      digest,
      changes: true,
      add: 0,
      change: 0,
      destroy: 0,
      replace: 0,
      import: 0,
      forget: 1,
      refresh: 2,
    }
    expect(counts(accepts)).toBe('1 to forget, 2 to refresh in the state')
    expect(signs(accepts)).toBe('.1 <~2')
    expect(counts({ digest, changes: false, add: 0, change: 0, destroy: 0, replace: 0, import: 0, forget: 0 })).toBe(
      'no changes',
    )
  })
  it('list what is destroyed and replaced, up to a limit', () => {
    const resources = Array.from({ length: 30 }, (_, i) => ({
      address: `a.b[${i}]`,
      action: i < 25 ? 'delete' : 'replace',
    }))
    expect(destroyed({ destroy: 30, resources })).toEqual({ first: resources.slice(0, 20), more: 10 })
    const other = { address: 'a.c', action: 'update' }
    const one = { address: 'a.b', action: 'replace' }
    expect(destroyed({ destroy: 1, resources: [one, other] })).toEqual({ first: [one], more: 0 })
    expect(destroyed({ destroy: 2 })).toEqual({ first: [], more: 2 })
  })
  it('explain what to do for each failure class', () => {
    for (const c of ['Transient', 'ConfigurationError', 'PolicyDenied', 'PodLost', 'Canceled', 'StateNotSaved'])
      expect(advice(c, run())).not.toBe('')
    expect(advice('Transient', run({ status: { nextAttempt: '2026-01-01T00:00:30Z' } }))).toMatch(/Cairn retries/)
  })
  it('are shortened', () => {
    expect(short(digest)).toBe('aaaaaaaaaaaa')
    expect(revision('main@sha1:1f3c9a2b77aa11ff1f3c9a2b77aa11ff1f3c9a2b')).toBe('main@1f3c9a2b')
    expect(lasted('2026-01-01T00:00:00Z', undefined, now + 1500)).toBe(1500)
    expect(lasted(undefined, undefined, now)).toBeUndefined()
  })
})

it('a plan has warnings for its approval', () => {
  const plan = { digest, changes: true, add: 3, change: 1, destroy: 0, replace: 0, import: 0, forget: 0 }
  expect(warnings(plan)).toEqual([])
  const policy = { approvalRequired: 1, warned: 2, checked: 1, denied: 0 }
  expect(warnings({ ...plan, partial: 'it has only the targets module.vpc' })).toEqual([
    'It does not have all changes of the code: it has only the targets module.vpc.',
  ])
  expect(warnings({ ...plan, script: true, policy, unverified: 'it is encrypted' })).toHaveLength(4)
})

it('does not take another Stack of the name for the one of a Run', () => {
  const of = (uid: string) => ({ metadata: { uid } }) as StackObject
  const owned = { ...run(), metadata: { ...run().metadata, ownerReferences: [{ uid: 'mine' }] } }
  expect(ownerOf(owned, of('mine'))).toEqual(of('mine'))
  expect(ownerOf(owned, of('later'))).toBeUndefined()
  expect(ownerOf(run(), of('mine'))).toBeUndefined()
  expect(ownerOf(run(), undefined)).toBeUndefined()
})
