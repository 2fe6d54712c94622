import { expect, test } from 'vitest'
import { resourceCount } from './words'

test('a state that its engine encrypts has no number of resources', () => {
  expect([-1, 0, 1, 2000].map(resourceCount)).toEqual(['resources', '0 resources', '1 resource', '2,000 resources'])
})
