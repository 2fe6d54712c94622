import type { Attribute, Change, View } from '../plan/types'
import type { Resource, Statefile } from './statefile'
import { Exact } from '../text/exact'
import { equal, Secret } from './statefile'

/** How many attributes of a resource are compared one by one. */
const mostAttributes = 5_000

/** What a later state has otherwise than an earlier one, in the form of a plan, so that it is shown as one. Data sources are left out. */
export function compare(from: Statefile, to: Statefile): View {
  const before = managed(from)
  const after = managed(to)
  const changes: Change[] = []
  for (const key of new Set([...before.keys(), ...after.keys()])) {
    const was = before.get(key)
    const is = after.get(key)
    const r = is ?? was
    if (!r) continue
    const attributes = different(was?.attributes, is?.attributes)
    const notes = was && is ? notesOf(was, is) : []
    if (was && is && attributes.length === 0 && notes.length === 0) continue
    changes.push({
      address: r.address,
      action: !was ? 'create' : !is ? 'delete' : 'update',
      type: r.type,
      module: r.module,
      ...(r.deposed && { deposed: r.deposed }),
      ...(notes.length > 0 && { reason: notes.join('; ') }),
      attributes,
    })
  }
  const names = [...new Set([...Object.keys(from.outputs), ...Object.keys(to.outputs)])].sort()
  const outputs = names
    .map((name) => ({
      name,
      action: !Object.hasOwn(from.outputs, name) ? 'create' : !Object.hasOwn(to.outputs, name) ? 'delete' : 'update',
      attributes: different(from.outputs[name], to.outputs[name], name),
    }))
    .filter((o) => o.attributes.length > 0) as View['outputs']
  return { changes, outputs }
}

function managed(s: Statefile): Map<string, Resource> {
  return new Map(s.resources.filter((r) => r.mode === 'managed').map((r) => [`${r.address}|${r.deposed}`, r]))
}

function notesOf(a: Resource, b: Resource): string[] {
  const notes: string[] = []
  if (b.tainted && !a.tainted) notes.push('it is tainted now: the next plan replaces it')
  if (a.tainted && !b.tainted) notes.push('it is no longer tainted')
  if (a.provider !== b.provider) notes.push(`its provider is ${b.provider}, and was ${a.provider}`)
  return notes
}

/** What is different in a value, path by path. */
export function different(a: unknown, b: unknown, path = ''): Attribute[] {
  const found: Attribute[] = []
  add(found, path, a, b)
  return found
}

function add(found: Attribute[], path: string, a: unknown, b: unknown): void {
  if (found.length >= mostAttributes || equal(a, b)) return
  const x = record(a)
  const y = record(b)
  // A resource that is added or removed is shown attribute by attribute, as in a plan.
  if ((x && y) || (path === '' && (x ?? y))) {
    for (const name of [...new Set([...Object.keys(x ?? {}), ...Object.keys(y ?? {})])].sort()) {
      add(found, join(path, name), x?.[name] ?? undefined, y?.[name] ?? undefined)
    }
    return
  }
  if (Array.isArray(a) && Array.isArray(b) && a.length === b.length) {
    for (const i of a.keys()) add(found, `${path}[${i}]`, a[i], b[i])
    return
  }
  if (hides(a) || hides(b)) {
    found.push({ path, sensitive: true, ...(a !== undefined && { before: '' }), ...(b !== undefined && { after: '' }) })
  } else {
    found.push({ path, ...(a !== undefined && { before: a }), ...(b !== undefined && { after: b }) })
  }
}

function record(v: unknown): Record<string, unknown> | undefined {
  return typeof v === 'object' && v !== null && !Array.isArray(v) && !(v instanceof Secret) && !(v instanceof Exact)
    ? (v as Record<string, unknown>)
    : undefined
}

/** Whether there is a secret in a value. */
export function hides(v: unknown): boolean {
  if (v instanceof Secret) return true
  return typeof v === 'object' && v !== null && Object.values(v).some(hides)
}

function join(path: string, name: string): string {
  if (!/^[\w-]+$/.test(name)) return `${path}[${JSON.stringify(name)}]`
  return path === '' ? name : `${path}.${name}`
}
