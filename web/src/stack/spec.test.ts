import { expect, test } from 'vitest'
import { asYAML } from './spec'

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
