import { expect, test } from 'vitest'
import { parseQuery, writeQuery } from './query'
import { stacksSearch } from './search'

test('a query survives formatting and parsing', () => {
  const search = { q: '123', namespace: ['a', 'b&c'], ready: ['False'], drifted: true, sort: '-changed' }
  const text = writeQuery({ ...search, engine: undefined })
  expect(text).toBe('?q=123&namespace=a&namespace=b%26c&ready=False&drifted=true&sort=-changed')
  expect(stacksSearch.parse(parseQuery(text))).toEqual(search)
})

test('an empty query is empty', () => {
  expect(writeQuery({})).toBe('')
  expect(parseQuery('')).toEqual({})
})

test('names of object properties are ordinary keys', () => {
  const found = parseQuery('?__proto__=x&constructor=y&a=1')
  expect(found).toMatchObject({ a: '1' })
  expect(Object.getPrototypeOf(found)).toBe(Object.prototype)
  expect(({} as Record<string, unknown>).x).toBeUndefined()
})
