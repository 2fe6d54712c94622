import { stringify } from 'yaml'
import type { Metadata } from '../api/kinds'

/** An object as one would write it: without status, and without what Kubernetes and commands note in it. */
export function asYAML(kind: string, object: { metadata: Metadata; spec?: unknown }): string {
  const { name, namespace, labels, annotations } = object.metadata
  const kept = Object.fromEntries(
    Object.entries(annotations ?? {}).filter(
      ([key]) => !key.startsWith('kubectl.kubernetes.io/') && !key.startsWith('cairn.dev/'),
    ),
  )
  return stringify(
    {
      apiVersion: 'cairn.dev/v1alpha1',
      kind,
      metadata: {
        name,
        namespace,
        ...(labels && { labels }),
        ...(Object.keys(kept).length > 0 && { annotations: kept }),
      },
      spec: object.spec,
    },
    { lineWidth: 0 },
  )
}
