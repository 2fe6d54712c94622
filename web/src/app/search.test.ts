import { describe, expect, test } from 'vitest'
import { isInside, listSearch, overviewSearch, signinSearch, stackSearch, stacksSearch } from './search'

describe('the search of Stacks', () => {
  test('keeps what it knows', () => {
    const search = { q: 'eu-west', namespace: ['a', 'b'], ready: ['False'], drifted: true, sort: '-changed' }
    expect(stacksSearch.parse(search)).toEqual(search)
  })
  test('takes one value for a list, once each, and none for none', () => {
    expect(stacksSearch.parse({ namespace: 'a' }).namespace).toEqual(['a'])
    expect(stacksSearch.parse({ namespace: ['a', 'a', ''] }).namespace).toEqual(['a'])
    expect(stacksSearch.parse({ namespace: [] }).namespace).toBeUndefined()
    expect(stacksSearch.parse({ namespace: '' }).namespace).toBeUndefined()
  })
  test('takes flags as they are typed into an address', () => {
    expect(stacksSearch.parse({ drifted: 'true', suspended: 'false' })).toMatchObject({
      drifted: true,
      suspended: false,
    })
  })
  test('leaves out what it does not understand', () => {
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

test('other searches leave out what they do not understand', () => {
  expect(listSearch.parse({ phase: 'Failed', sort: '-created' })).toEqual({ phase: ['Failed'], sort: '-created' })
  expect(listSearch.parse({ phase: 1, sort: 'a;b', locked: 'x' })).toEqual({})
  expect(stackSearch.parse({ tab: 'outputs' })).toEqual({ tab: 'outputs' })
  expect(stackSearch.parse({ tab: '<script>' })).toEqual({})
  expect(overviewSearch.parse({ since: '24h' })).toEqual({ since: '24h' })
  expect(overviewSearch.parse({ since: '9999h' })).toEqual({})
})

describe('where a sign-in leads to', () => {
  test.each(['/', '/stacks', '/stacks/shop/web?tab=outputs#x', '/runs?q=%2F%2F'])('stays here: %s', (to) => {
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
  ])('leads elsewhere: %s', (to) => {
    expect(isInside(to)).toBe(false)
    expect(signinSearch.parse({ to }).to).toBeUndefined()
  })
})
