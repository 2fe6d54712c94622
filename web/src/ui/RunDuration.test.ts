import { describe, expect, it } from 'vitest'
import { activeFor, waitText } from './RunDuration'

const created = '2026-01-01T08:00:00Z'
const now = Date.parse('2026-01-01T12:00:00Z')
const hour = 3_600_000

describe('the duration of a Run', () => {
  it('is until now, or its end', () => {
    expect(activeFor({ created, reason: '' }, now)).toEqual({ active: 4 * hour, waited: 0 })
    expect(activeFor({ created, finished: '2026-01-01T09:00:00Z' }, now)).toEqual({ active: hour, waited: 0 })
    expect(waitText({ created }, now)).toBe('')
  })
  it('excludes the time that it waited for an approval', () => {
    const applied = { created, finished: '2026-01-01T11:00:42Z', waited: 3 * 3600, approvedBy: 'alice' }
    expect(activeFor(applied, now)).toEqual({ active: 42_000, waited: 3 * hour })
    expect(waitText(applied, now)).toBe('waited 3h 0m for an approval')
    expect(waitText({ ...applied, approvedBy: undefined }, now)).toBe('waited 3h 0m')
    expect(waitText({ ...applied, waited: 0 }, now)).toBe('')
  })
  it('stands still while it waits', () => {
    const waiting = { created, waited: 60, waitingSince: '2026-01-01T10:00:00Z', reason: 'AwaitingApproval' }
    expect(activeFor(waiting, now)).toEqual({ active: 2 * hour - 60_000, waited: 2 * hour + 60_000 })
    expect(activeFor(waiting, now + hour).active).toBe(2 * hour - 60_000)
    expect(waitText(waiting, now)).toBe('waiting 2h 1m for an approval')
  })
})
