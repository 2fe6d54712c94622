import { expect, test } from 'vitest'
import { listPath } from './queries'

test('the URL of a list has the parameters that are set, without duplicates', () => {
  expect(listPath('stacks', {})).toBe('/api/v1/stacks')
  expect(
    listPath('stacks', { q: 'a b&c', ready: ['True', 'False'], drifted: false, engine: undefined, reason: '' }, 'next'),
  ).toBe('/api/v1/stacks?q=a+b%26c&ready=True&ready=False&drifted=false&after=next')
})
