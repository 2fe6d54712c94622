import { expect, test } from 'vitest'
import { listPath } from './queries'

test('a list is asked for with what is set, each value of several once', () => {
  expect(listPath('stacks', {})).toBe('/api/v1/stacks')
  expect(
    listPath('stacks', { q: 'a b&c', ready: ['True', 'False'], drifted: false, engine: undefined, reason: '' }, 'next'),
  ).toBe('/api/v1/stacks?q=a+b%26c&ready=True&ready=False&drifted=false&after=next')
})
