// Writes the types of Cairn's kinds as Kubernetes has them from their CRDs: they are the `object` beside each row.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import openapi, { astToString } from 'openapi-typescript'
import { parse } from 'yaml'

const folder = new URL('../../charts/cairn/files/crds/', import.meta.url)
const schemas = {}
for (const file of readdirSync(folder).sort()) {
  const { spec } = parse(readFileSync(new URL(file, folder), 'utf8'))
  const schema = spec.versions.find((v) => v.storage).schema.openAPIV3Schema
  schema.properties.metadata = { $ref: '#/components/schemas/Metadata' }
  schema.required = ['metadata', 'spec']
  schemas[spec.names.kind] = schema
}
const text = { type: 'string' }
const texts = { type: 'object', additionalProperties: text }
schemas.Metadata = {
  type: 'object',
  required: ['name', 'namespace', 'uid', 'creationTimestamp'],
  properties: {
    name: text,
    namespace: text,
    uid: text,
    creationTimestamp: text,
    deletionTimestamp: text,
    generation: { type: 'integer' },
    resourceVersion: text,
    labels: texts,
    annotations: texts,
    finalizers: { type: 'array', items: text },
    ownerReferences: { type: 'array', items: { type: 'object', required: ['uid'], properties: { uid: text } } },
  },
}
const document = { openapi: '3.0.3', info: { title: 'kinds', version: '1' }, paths: {}, components: { schemas } }
const header = '/* Written by `npm run schema` from the CRDs of the chart. */\n'
writeFileSync(new URL('../src/api/kinds.d.ts', import.meta.url), header + astToString(await openapi(document)))
