import { expect, test } from 'vitest'
import { aStack } from '../test/rows'
import { graphOfStacks } from '../views/graph/stacks'
import { destroyedFirst } from './depends'

test.each([
  ['nothing depends on it', 'net app', ''],
  ['what depends on it is first', 'net app:net', 'app'],
  ['through others too, in reverse', 'net cluster:net app:cluster', 'app cluster'],
  ['each once, after all that depends on it', 'net a:net,b b:net c:b,a', 'c a b'],
  ['not what it depends on', 'net:vpc vpc other:vpc', ''],
  ['not what is destroyed, nor what is on that', 'net cluster!:net app:cluster dns:net', 'dns'],
  ['not what depends on each other', 'net:app app:net dns:net', 'dns'],
  ['a circle above it counts once', 'net a:net,b b:a', 'a'],
  ['without the Stack itself in the list', 'app:net', 'app'],
])('before a destroy: %s', (_, stacks, want) => {
  const rows = stacks.split(' ').map((text) => {
    const [name = '', on] = text.split(':')
    return aStack({ name: name.replace('!', ''), destroyed: name.endsWith('!'), uses: on?.split(',') ?? [] })
  })
  const order = destroyedFirst(graphOfStacks(rows), 'shop/net')
  expect(order.map((n) => n.name).join(' ')).toBe(want)
})
