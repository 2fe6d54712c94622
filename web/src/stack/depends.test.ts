import { expect, test } from 'vitest'
import { aStack } from '../test/rows'
import { asYAML } from './spec'
import { dependencies } from './depends'

test('dependencies have both directions, also to missing Stacks', () => {
  const net = aStack({ name: 'net' })
  const web = aStack({ name: 'web', uses: ['net', 'gone'] })
  const mail = aStack({ name: 'mail', uses: ['web'] })
  expect(dependencies('web', web.uses!, [net, web, mail])).toEqual({
    before: [
      { name: 'net', stack: net },
      { name: 'gone', stack: undefined },
    ],
    after: [mail],
  })
})

test('a spec is shown without comments', () => {
  const metadata = {
    name: 'web',
    namespace: 'shop',
    uid: 'u',
    creationTimestamp: '',
    labels: { team: 'shop' },
    annotations: {
      'cairn.dev/changed-by': 'x',
      'kubectl.kubernetes.io/last-applied-configuration': '{}',
      note: 'kept',
    },
  }
  const object = { metadata, spec: { apply: 'Manual' }, status: { run: 'web-1' } }
  expect(asYAML('Stack', object)).toBe(`apiVersion: cairn.dev/v1alpha1
kind: Stack
metadata:
  name: web
  namespace: shop
  labels:
    team: shop
  annotations:
    note: kept
spec:
  apply: Manual
`)
  expect(asYAML('Stack', { ...object, metadata: { ...metadata, annotations: { 'cairn.dev/x': 'y' } } })).not.toContain(
    'annotations',
  )
})
