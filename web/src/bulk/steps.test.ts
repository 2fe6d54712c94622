import { describe, expect, test } from 'vitest'
import type { RunObject, StackObject } from '../api/kinds'
import { aStack } from '../test/rows'
import { each } from './requests'
import type { Skipped, Step } from './steps'
import { approval, distinct, request, retryOfRun, sums } from './steps'

const digest = 'sha256:' + 'a'.repeat(64)
const target = { uid: 'u', namespace: 'shop', name: 'web-7' }
const plan = { digest, changes: true, add: 3, change: 1, destroy: 2, replace: 1, import: 0, forget: 0 }

type Part = { phase?: string; reason?: string; spec?: object }
function run({ phase = 'AwaitingApproval', reason, spec = {} }: Part = {}): RunObject {
  return {
    metadata: { name: 'web-7', namespace: 'shop' },
    spec: { stack: { name: 'web' }, operation: 'Apply', cause: { type: 'Spec', by: 'alice' }, ...spec },
    status: { phase, plan, conditions: [{ type: 'Succeeded', status: 'Unknown', reason: reason ?? phase }] },
  } as unknown as RunObject
}
const why = (of: Step | Skipped) => ('why' in of ? of.why : undefined)

describe('an approval', () => {
  const may = { approve: true }
  test('is of the plan that was read', () => {
    expect(approval(target, run(), may, {})).toMatchObject({
      kind: 'runs',
      name: 'web-7',
      plan: { digest },
    })
  })
  test('is left out with the reason', () => {
    expect(why(approval(target, run(), {}, {}))).toMatch(/roles/)
    expect(why(approval(target, run({ phase: 'Applying' }), may, {}))).toMatch(/does not wait.*Applying/)
    expect(why(approval(target, run(), may, { approve: 'the server says why' }))).toBe('the server says why')
  })
})

describe('a request for a Run of a Stack', () => {
  const may = { plan: true, apply: true, retry: true }
  const retry = { operation: 'Apply', run: 'web-1' }
  const failed = aStack({ retry })
  test('is possible if its button on the page of the Stack is', () => {
    expect(request('plan', target, aStack(), may)).toMatchObject({ kind: 'stacks', name: 'web', action: 'plan' })
    expect(request('retry', target, failed, may)).toMatchObject({ action: 'retry', immediate: false })
    expect(request('retry', target, aStack({ apply: 'Automatic', retry }), may)).toMatchObject({ immediate: true })
  })
  test('is left out with the reason', () => {
    expect(why(request('plan', target, aStack({ suspended: true }), may))).toMatch(/suspended/)
    expect(why(request('plan', target, aStack({ deleted: true }), may))).toMatch(/deleted/)
    expect(why(request('plan', target, aStack(), { apply: true }))).toMatch(/roles/)
    expect(why(request('retry', target, aStack(), may))).toMatch(/neither failed/)
    expect(why(request('retry', target, failed, { retry: true }))).toMatch(/roles/)
    const destroy = aStack({ retry: { ...retry, operation: 'Destroy' } })
    expect(why(request('retry', target, destroy, { ...may, destroy: true }))).toMatch(/destroys all/)
  })
})

test('the retry of a Run is a request to its Stack, if that repeats it', () => {
  const retries = (run: string, operation = 'Apply') =>
    ({ spec: { apply: 'Automatic' }, status: { retry: { run, operation } } }) as StackObject
  const stack = retries('web-7')
  const failed = run({ phase: 'Failed', reason: 'Config' })
  expect(retryOfRun(target, failed, stack, { retry: true })).toMatchObject({
    kind: 'stacks',
    name: 'web',
    action: 'retry',
    immediate: true,
  })
  expect(why(retryOfRun(target, failed, stack, {}))).toMatch(/roles/)
  expect(why(retryOfRun(target, failed, retries('web-7', 'Destroy'), { retry: true }))).toMatch(/destroys all/)
  expect(why(retryOfRun(target, failed, retries('web-6'), { retry: true }))).toMatch(/not the Run that a retry/)
})

test('one request is sent for several targets that need the same', () => {
  const step = (uid: string, name: string): Step => ({
    target: { ...target, uid },
    kind: 'stacks',
    name,
    action: 'retry',
  })
  const all = distinct([step('1', 'web'), step('2', 'web'), step('3', 'net'), { target, why: 'x' }])
  expect(all.map(why)).toEqual([undefined, expect.stringMatching(/Another selected row/), undefined, 'x'])
})

test('plans are summed, and a replacement is one address', () => {
  const moved = { ...plan, add: 0, change: 0, destroy: 0, replace: 0, resources: [{ address: 'a', action: 'move' }] }
  expect(sums([plan, plan, moved])).toMatchObject({ add: 6, change: 2, destroy: 4, replace: 2, addresses: 11 })
  expect(sums([]).changes).toBe(false)
})

test('few requests are sent at a time, and none after a stop', async () => {
  const stop = new AbortController()
  let now = 0
  let most = 0
  const done: number[] = []
  const work = async (n: number) => {
    most = Math.max(most, ++now)
    await Promise.resolve()
    now--
    done.push(n)
    if (done.length === 6) stop.abort()
  }
  await each(
    Array.from({ length: 50 }, (_, i) => i),
    work,
    stop.signal,
  )
  expect(most).toBe(4)
  expect(done.length).toBeGreaterThanOrEqual(6)
  expect(done.length).toBeLessThan(12)
})
