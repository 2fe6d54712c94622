import { describe, expect, it } from 'vitest'
import type { RunObject } from '../../api/kinds'
import type { Action, Change } from '../plan/types'
import { Operations, progressText, resourcesOf } from './operations'

type Attempt = NonNullable<NonNullable<RunObject['status']>['attempts']>[number]

const at = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, '0')}Z`
const line = (second: number, address: string, state: string, action = 'create') =>
  JSON.stringify({ at: at(second), address, action, state }) + '\n'
const operations = (...lines: string[]) => {
  const all = new Operations()
  all.add(lines.join(''))
  return all
}
const change = (address: string, action: Action = 'create'): Change => ({ address, action })
const running = { number: 2, phase: 'Apply' } as Attempt
const lost = { ...running, finishedAt: at(59), failure: { class: 'PodLost', message: '' } } as Attempt
const succeeded = { ...running, finishedAt: at(59) } as Attempt
const states = (planned: Change[] | undefined, all: Operations, attempt = running) =>
  Object.fromEntries(resourcesOf(planned, all, attempt).map((r) => [r.address, r.state]))

describe('the operations of an apply', () => {
  it('arrive in pieces', () => {
    const text = line(1, 'a.b', 'Started') + line(3, 'a.b', 'Succeeded') + line(4, 'a.ö["\u202e"]', 'Started')
    const all = new Operations()
    for (const piece of text.match(/[^]{1,7}/g) ?? []) all.add(piece)
    expect(all).toEqual(operations(text))
    expect([...all.resources.keys()]).toEqual(['a.b', 'a.ö["\u202e"]'])
    expect(all.resources.get('a.b')).toMatchObject({ from: at(1), to: at(3), running: false, done: ['create'] })
    expect(all.incomplete).toBe(false)
  })
  it('may lack lines, and have others', () => {
    const all = operations('\n[cairn: 70 bytes were left out here: the server was away]\n', line(1, 'a.b', 'Started'))
    expect([...all.resources.keys()]).toEqual(['a.b'])
    expect(all.incomplete).toBe(true)
    for (const other of ['{"at":1,"address":"a","action":"create","state":"Started"}', 'null', '[]', '{'])
      expect(operations(`${other}\n`).resources.size).toBe(0)
  })
  it('are bounded', () => {
    const many = Array.from({ length: 50_001 }, (_, i) => line(1, `a.b[${i}]`, 'Started'))
    const all = operations(...many)
    expect(all.resources.size).toBe(50_000)
    expect(all.incomplete).toBe(true)
    const endless = new Operations()
    for (let i = 0; i < 3; i++) endless.add('x'.repeat(600_000))
    endless.add('\n' + line(1, 'a.b', 'Started'))
    expect([...endless.resources.keys()]).toEqual(['a.b'])
  })
})

describe('the resources of an apply', () => {
  const planned = ['a.done', 'a.fails', 'a.runs', 'a.waits'].map((address) => change(address))
  const all = operations(
    line(1, 'a.done', 'Started'),
    line(2, 'a.runs', 'Started'),
    line(3, 'a.done', 'Succeeded'),
    line(4, 'a.fails', 'Started'),
    line(5, 'a.fails', 'Failed'),
  )
  it('are those of its plan, failed ones and those in progress first', () => {
    const resources = resourcesOf(
      [...planned, change('a.moved', 'move'), change('a.forgotten', 'forget')],
      all,
      running,
    )
    expect(resources.map((r) => [r.address, r.state])).toEqual([
      ['a.fails', 'failed'],
      ['a.runs', 'running'],
      ['a.waits', 'pending'],
      ['a.done', 'done'],
    ])
    expect(resources[3]).toMatchObject({ from: at(1), to: at(3) })
    expect(progressText(resources)).toBe('1 of 4 done, 1 in progress, 1 failed')
  })
  it('are unknown where a lost runner did not report the end', () => {
    expect(states(planned, all, lost)).toEqual({
      'a.fails': 'failed',
      'a.runs': 'unknown',
      'a.waits': 'pending',
      'a.done': 'done',
    })
    const cut = operations('[cairn: 70 bytes were left out here: the server was away]\n', line(2, 'a.runs', 'Started'))
    expect(states([change('a.waits')], cut, lost)).toEqual({ 'a.runs': 'unknown', 'a.waits': 'unknown' })
    expect(states([change('a.waits')], operations(), lost)).toEqual({ 'a.waits': 'unknown' })
    expect(states([change('a.waits')], operations(), { ...lost, changed: 0 })).toEqual({ 'a.waits': 'pending' })
  })
  it('are all done after an apply that succeeded, also without a report', () => {
    expect(states([change('a.b'), change('a.c', 'replace')], operations(), succeeded)).toEqual({
      'a.b': 'done',
      'a.c': 'done',
    })
  })
  it('are done after both operations of a replacement', () => {
    const replaced = [change('a.b', 'replace')]
    const destroyed = line(1, 'a.b', 'Started', 'delete') + line(2, 'a.b', 'Succeeded', 'delete')
    expect(states(replaced, operations(destroyed))).toEqual({ 'a.b': 'running' })
    expect(resourcesOf(replaced, operations(destroyed), lost)).toMatchObject([{ state: 'unknown', half: 'delete' }])
    const failed = operations(destroyed, line(3, 'a.b', 'Started'), line(4, 'a.b', 'Failed'))
    expect(resourcesOf(replaced, failed, lost)).toMatchObject([{ state: 'failed', half: 'delete' }])
    const both = operations(destroyed, line(3, 'a.b', 'Started'), line(5, 'a.b', 'Succeeded'))
    expect(resourcesOf(replaced, both, running)).toMatchObject([
      { action: 'replace', state: 'done', from: at(1), to: at(5) },
    ])
  })
  it('are the reported ones without the plan', () => {
    expect(states(undefined, all)).toEqual({ 'a.fails': 'failed', 'a.runs': 'running', 'a.done': 'done' })
  })
})
