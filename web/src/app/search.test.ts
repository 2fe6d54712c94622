import { describe, expect, test } from 'vitest'
import { isInside, listSearch, overviewSearch, signinSearch, stackSearch, stacksSearch } from './search'

describe('the search of Stacks', () => {
  test('retains known parameters', () => {
    const search = { q: 'eu-west', namespace: ['a', 'b'], ready: ['False'], drifted: true, sort: '-changed' }
    expect(stacksSearch.parse(search)).toEqual(search)
  })
  test('turns one value into a list without duplicates, and none into none', () => {
    expect(stacksSearch.parse({ namespace: 'a' }).namespace).toEqual(['a'])
    expect(stacksSearch.parse({ namespace: ['a', 'a', ''] }).namespace).toEqual(['a'])
    expect(stacksSearch.parse({ namespace: [] }).namespace).toBeUndefined()
    expect(stacksSearch.parse({ namespace: '' }).namespace).toBeUndefined()
  })
  test('accepts flags as typed into a URL', () => {
    expect(stacksSearch.parse({ drifted: 'true', suspended: 'false' })).toMatchObject({
      drifted: true,
      suspended: false,
    })
  })
  test('groups by a field or a label', () => {
    for (const group of ['namespace', 'label:app.kubernetes.io/name'])
      expect(stacksSearch.parse({ group })).toEqual({ group })
    for (const group of ['name', 'label:', 'label:a=b', 7]) expect(stacksSearch.parse({ group })).toEqual({})
  })
  test('drops unknown parameters', () => {
    const search = {
      q: { $ne: 1 },
      namespace: 7,
      drifted: 'maybe',
      sort: 'password',
      other: 1,
      reason: ['x'.repeat(501)],
    }
    expect(stacksSearch.parse(search)).toEqual({})
  })
})

test('other searches drop unknown parameters', () => {
  expect(listSearch.parse({ phase: 'Failed', sort: '-created' })).toEqual({ phase: ['Failed'], sort: '-created' })
  expect(listSearch.parse({ phase: 1, sort: 'a;b', locked: 'x' })).toEqual({})
  expect(stackSearch.parse({ tab: 'outputs' })).toEqual({ tab: 'outputs' })
  expect(stackSearch.parse({ tab: '<script>' })).toEqual({})
  expect(overviewSearch.parse({ since: '24h' })).toEqual({ since: '24h' })
  expect(overviewSearch.parse({ since: '9999h' })).toEqual({})
})

describe('the redirect after a sign-in', () => {
  test.each(['/', '/stacks', '/stacks/shop/web?tab=outputs#x', '/runs?q=%2F%2F'])('is inside: %s', (to) => {
    expect(isInside(to)).toBe(true)
    expect(signinSearch.parse({ to }).to).toBe(to)
  })
  test.each([
    '',
    'stacks',
    '//evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    'https://evil.example',
    'javascript:alert(1)',
    '/\tx',
    '/a\nb',
    '/x\\y',
  ])('is outside: %s', (to) => {
    expect(isInside(to)).toBe(false)
    expect(signinSearch.parse({ to }).to).toBeUndefined()
  })
})
