import { describe, expect, test } from 'vitest'
import { aRun, aStack } from '../test/rows'
import { currentRun, stackActions, waitingRun } from './actions'

const all = { plan: true, apply: true, retry: true, suspend: true, resume: true, destroy: true }
const retry = { operation: 'Apply', run: 'web-1' }

describe('actions of a Stack', () => {
  test('that is Ready', () => {
    expect(stackActions(aStack(), 'Destroy', all)).toEqual(['plan', 'apply', 'suspend', 'destroy'])
  })
  test('exclude those that RBAC denies', () => {
    expect(stackActions(aStack(), 'Destroy', { plan: true, apply: false })).toEqual(['plan'])
    expect(stackActions(aStack(), 'Destroy', {})).toEqual([])
  })
  test('that is suspended are only resume', () => {
    expect(stackActions(aStack({ suspended: true, retry }), 'Destroy', all)).toEqual(['resume'])
  })
  test('that is protected, or has no resources, exclude destroy', () => {
    expect(stackActions(aStack(), 'Protect', all)).not.toContain('destroy')
    expect(stackActions(aStack({ resources: 0 }), 'Destroy', all)).not.toContain('destroy')
  })
  test('whose engine encrypts the state, so that its resources are not known, include destroy', () => {
    expect(stackActions(aStack({ resources: -1 }), 'Destroy', all)).toContain('destroy')
  })
  test('with apply Never exclude apply', () => {
    expect(stackActions(aStack({ apply: 'Never' }), 'Destroy', all)).not.toContain('apply')
  })
  test('that is being deleted are a retry of its destroy, which needs the permission to destroy', () => {
    const stack = aStack({ deleted: true, retry: { operation: 'Destroy' } })
    expect(stackActions(stack, 'Destroy', all)).toEqual(['retry'])
    expect(stackActions(stack, 'Destroy', { ...all, destroy: false })).toEqual([])
  })
  test('include the retry that the operator publishes, which needs the permission of its operation', () => {
    expect(stackActions(aStack({ retry }), 'Destroy', all)).toContain('retry')
    expect(stackActions(aStack({ retry, run: 'web-2' }), 'Destroy', all)).toContain('retry')
    expect(stackActions(aStack({ retry, run: 'web-1' }), 'Destroy', all)).not.toContain('retry')
    expect(stackActions(aStack(), 'Destroy', all)).not.toContain('retry')
    expect(stackActions(aStack({ retry }), 'Destroy', { ...all, apply: false })).not.toContain('retry')
    const destroy = aStack({ retry: { ...retry, operation: 'Destroy' } })
    expect(stackActions(destroy, 'Destroy', { ...all, apply: false })).toContain('retry')
    expect(stackActions(destroy, 'Destroy', { ...all, destroy: false })).not.toContain('retry')
  })
})

test('a plan that waits, and a Run in progress', () => {
  const waits = aRun({ phase: 'AwaitingApproval' })
  const over = aRun({ phase: 'Failed' })
  expect(waitingRun([over, waits])).toBe(waits)
  expect(waitingRun([over])).toBeUndefined()
  expect(currentRun([over, aRun({ phase: 'Planning' })])?.phase).toBe('Planning')
  expect(currentRun([over])).toBeUndefined()
})
