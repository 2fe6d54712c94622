import { describe, expect, test } from 'vitest'
import { aRun, aStack } from '../test/rows'
import { currentRun, lastTried, stackActions, waitingRun } from './actions'

const all = { plan: true, apply: true, retry: true, suspend: true, resume: true, destroy: true }

describe('actions of a Stack', () => {
  test('that is Ready', () => {
    expect(stackActions(aStack(), 'Destroy', [aRun()], all)).toEqual(['plan', 'apply', 'suspend', 'destroy'])
  })
  test('exclude those that RBAC denies', () => {
    expect(stackActions(aStack(), 'Destroy', [], { plan: true, apply: false })).toEqual(['plan'])
    expect(stackActions(aStack(), 'Destroy', [], {})).toEqual([])
  })
  test('that is suspended are only resume', () => {
    expect(stackActions(aStack({ suspended: true }), 'Destroy', [aRun({ phase: 'Failed' })], all)).toEqual(['resume'])
  })
  test('that is protected, or has no resources, exclude destroy', () => {
    expect(stackActions(aStack(), 'Protect', [], all)).not.toContain('destroy')
    expect(stackActions(aStack({ resources: 0 }), 'Destroy', [], all)).not.toContain('destroy')
  })
  test('whose engine encrypts the state, so that its resources are not known, include destroy', () => {
    expect(stackActions(aStack({ resources: -1 }), 'Destroy', [], all)).toContain('destroy')
  })
  test('with apply Never exclude apply', () => {
    expect(stackActions(aStack({ apply: 'Never' }), 'Destroy', [], all)).not.toContain('apply')
  })
  test('that is being deleted are a retry of its destroy, which needs the permission to destroy', () => {
    const stack = aStack({ deleted: true })
    const runs = [aRun({ operation: 'Destroy', phase: 'Failed' })]
    expect(stackActions(stack, 'Destroy', runs, all)).toEqual(['retry'])
    expect(stackActions(stack, 'Destroy', runs, { ...all, destroy: false })).toEqual([])
  })
  test('whose last Run failed or was canceled include a retry, which needs the permission of its operation', () => {
    for (const phase of ['Failed', 'Canceled'])
      expect(stackActions(aStack(), 'Destroy', [aRun({ phase })], all)).toContain('retry')
    for (const phase of ['Succeeded', 'Applying', 'Superseded'])
      expect(stackActions(aStack(), 'Destroy', [aRun({ phase })], all)).not.toContain('retry')
    expect(stackActions(aStack(), 'Destroy', [aRun({ phase: 'Failed' })], { ...all, apply: false })).not.toContain(
      'retry',
    )
    const destroy = aRun({ phase: 'Failed', operation: 'Destroy' })
    expect(stackActions(aStack(), 'Destroy', [destroy], { ...all, destroy: false })).not.toContain('retry')
  })
})

test('the last Run to retry is not a read-only Run, unless the Stack only plans', () => {
  const tried = aRun({ name: 'web-1', phase: 'Failed' })
  const drift = aRun({ name: 'web-2', operation: 'Plan', cause: { type: 'Drift' } })
  const manualPlan = aRun({ name: 'web-3', operation: 'Plan', cause: { type: 'Manual' } })
  const unwanted = aRun({ name: 'web-4', operation: 'Destroy', phase: 'Superseded' })
  expect(lastTried({ apply: 'Manual' }, [unwanted, manualPlan, drift, tried])).toBe(tried)
  expect(lastTried({ apply: 'Never' }, [manualPlan, tried])).toBe(manualPlan)
  expect(lastTried({ apply: 'Manual' }, [drift])).toBeUndefined()
})

test('a plan that waits, and a Run in progress', () => {
  const waits = aRun({ phase: 'AwaitingApproval' })
  const over = aRun({ phase: 'Failed' })
  expect(waitingRun([over, waits])).toBe(waits)
  expect(waitingRun([over])).toBeUndefined()
  expect(currentRun([over, aRun({ phase: 'Planning' })])?.phase).toBe('Planning')
  expect(currentRun([over])).toBeUndefined()
})
