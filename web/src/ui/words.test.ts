import { expect, test } from 'vitest'
import { bytes, shortRevision } from '../pages/words'
import { webAddress } from './address'
import { providerPages } from './commit'
import { ago, duration, moment } from './time'
import { inWords, phaseTone, pullTone, readyTone } from './tone'

test('ages', () => {
  const now = new Date('2026-01-10T00:00:00Z')
  const before = (s: number) => ago(new Date(now.getTime() - s * 1000), now)
  expect([0, 4, 5, 90, 119, 120, 7199, 7200, 172_800].map(before)).toEqual([
    'now',
    'now',
    '5s ago',
    '90s ago',
    '119s ago',
    '2m ago',
    '120m ago',
    '2h ago',
    '2d ago',
  ])
  expect(before(-300)).toBe('in 5m')
})

test('durations', () => {
  const of = [0, 850, 12_000, 200_000, 7_500_000, 273_600_000, -1, NaN].map(duration)
  expect(of).toEqual(['0ms', '850ms', '12s', '3m 20s', '2h 5m', '3d 4h', '0s', '0s'])
})

test('moments', () => {
  expect(moment(new Date(2026, 0, 9, 5, 4, 3))).toBe('2026-01-09 05:04:03')
})

test('sizes', () => {
  expect([0, 1023, 1153, 50 << 20].map(bytes)).toEqual(['0 B', '1023 B', '1.1 KiB', '50 MiB'])
})

test('revisions', () => {
  expect(shortRevision('sha256:0123456789')).toBe('0123456')
  expect(shortRevision('0123456789abcdef')).toBe('0123456')
  expect(shortRevision('main@sha1:0123456789')).toBe('0123456')
  expect(shortRevision()).toBe('')
})

test('only addresses of http and https are links', () => {
  expect(webAddress('https://git.example.com/acme/infra/pulls/7')).toBe('https://git.example.com/acme/infra/pulls/7')
  expect(webAddress('http://127.0.0.1:3000/a')).toBe('http://127.0.0.1:3000/a')
  for (const other of [
    undefined,
    '',
    'javascript:alert(1)',
    ' JaVaScRiPt:alert(1)',
    'java\nscript:alert(1)',
    'data:text/html,x',
    'ssh://git@git.example.com/x',
    '//evil.example/x',
    '/stacks',
    'infra',
  ])
    expect(webAddress(other), other).toBeUndefined()
})

test('colors of pull requests', () => {
  const tone = (phase: string, ready = 'False') => pullTone({ phase, ready })
  expect(['True', 'Unknown', 'False'].map((ready) => tone('Planned', ready))).toEqual(['good', 'busy', 'bad'])
  expect(['AwaitingCommand', 'Conflict', 'Failed', 'Draft', 'Closed'].map((p) => tone(p))).toEqual([
    'warn',
    'bad',
    'bad',
    'none',
    'none',
  ])
  expect(pullTone({ ready: 'Unknown' })).toBe('busy')
})

test('enum values as text', () => {
  expect(['AwaitingApproval', 'Applied', 'DependencyNotReady', 'PodPending', ''].map(inWords)).toEqual([
    'Awaiting approval',
    'Applied',
    'Dependency not ready',
    'Pod pending',
    '',
  ])
})

test('colors of conditions', () => {
  expect(readyTone({ ready: 'True', reason: 'Applied' })).toBe('good')
  expect(readyTone({ ready: 'True', reason: 'Drifted' })).toBe('warn')
  expect(readyTone({ ready: 'False', reason: 'AwaitingApproval', stalled: true })).toBe('warn')
  expect(readyTone({ ready: 'False', reason: 'RunFailed' })).toBe('bad')
  expect(readyTone({ ready: 'Unknown', reason: 'SecretNotFound', stalled: true })).toBe('bad')
  expect(readyTone({ ready: 'Unknown' })).toBe('busy')
  expect(readyTone({ ready: 'True', reason: 'Applied', suspended: true })).toBe('none')
  expect(phaseTone('Failed')).toBe('bad')
  expect(phaseTone('SomethingNew')).toBe('none')
})

test('a commit has a page at the Git provider', () => {
  const id = '1f3c22a'.repeat(5) + '1f3c2'
  const at = (url: string, provider?: string, revision = `main@sha1:${id}`) =>
    providerPages(url, provider, revision).commit
  expect(at('https://github.com/acme/infra.git')).toBe(`https://github.com/acme/infra/commit/${id}`)
  expect(at('https://alice:secret@git.example.com:3000/acme/infra')).toBe(
    `https://git.example.com:3000/acme/infra/commit/${id}`,
  )
  expect(at('git@gitlab.com:acme/group/infra.git')).toBe(`https://gitlab.com/acme/group/infra/-/commit/${id}`)
  expect(at('ssh://git@git.example.com:2222/acme/infra.git', 'GitLab')).toBe(
    `https://git.example.com/acme/infra/-/commit/${id}`,
  )
  expect(at('https://bitbucket.org/acme/infra')).toBe(`https://bitbucket.org/acme/infra/commits/${id}`)
  expect(at('https://git.example.com/scm/acme/infra.git', 'BitbucketDataCenter')).toBeUndefined()
  expect(at('https://github.com/acme/infra', undefined, 'sha256:' + 'a'.repeat(64))).toBeUndefined()
  expect(at('file:///srv/infra')).toBeUndefined()
})

test('a path has a page at the Git provider', () => {
  const id = '1f3c22a'.repeat(5) + '1f3c2'
  const at = (url: string, provider?: string) => providerPages(url, provider, `main@sha1:${id}`, 'envs/a b').file
  expect(at('https://github.com/acme/infra.git')).toBe(`https://github.com/acme/infra/tree/${id}/envs/a%20b`)
  expect(at('git@gitlab.com:acme/infra.git')).toBe(`https://gitlab.com/acme/infra/-/tree/${id}/envs/a%20b`)
  expect(at('https://git.example.com/acme/infra', 'Gitea')).toBe(
    `https://git.example.com/acme/infra/src/commit/${id}/envs/a%20b`,
  )
  expect(at('https://bitbucket.org/acme/infra')).toBe(`https://bitbucket.org/acme/infra/src/${id}/envs/a%20b`)
  expect(at('https://git.example.com/acme/infra')).toBeUndefined() // a commit has the same address everywhere, a path has not
})
