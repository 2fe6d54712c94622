import type { Action, Attribute, Change, View } from '../plan/types'
import { actions } from '../plan/types'
import { Exact, writeExactly } from '../text/exact'
import { natural } from '../text/natural'
import type { Resource, Statefile } from './statefile'
import { equal, Secret } from './statefile'

/** How many attributes of a resource are compared one by one. */
const mostAttributes = 5_000

/**
 * What a later state has otherwise than an earlier one, in the form of a plan, so that it is shown as one. Data sources are left out.
 * `cairn state diff` decides the same (internal/cli/statefile), and has the same cases as test.
 */
export function compare(from: Statefile, to: Statefile): View {
  const before = managed(from)
  const after = managed(to)
  const moved = moves(before, after)
  const gone = new Set(moved.values())
  const changes: Change[] = []
  for (const [key, was] of before) {
    if (!after.has(key) && !gone.has(was)) changes.push(changeOf(was, 'delete', different(was.attributes, undefined)))
  }
  for (const [key, is] of after) {
    const previous = moved.get(is)
    const was = previous ?? before.get(key)
    const attributes = different(was?.attributes, is.attributes)
    const notes = was ? notesOf(was, is) : []
    if (was && !previous && attributes.length === 0 && notes.length === 0) continue
    changes.push({
      ...changeOf(is, previous ? 'move' : was ? 'update' : 'create', attributes),
      ...(previous && { previous: previous.address }),
      ...(notes.length > 0 && { reason: notes.join('; ') }),
    })
  }
  changes.sort(
    (a, b) =>
      actions.indexOf(a.action) - actions.indexOf(b.action) ||
      natural(a.address, b.address) ||
      natural(a.deposed ?? '', b.deposed ?? ''),
  )
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

function changeOf(r: Resource, action: Action, attributes: Attribute[]): Change {
  const { address, type, module, deposed } = r
  return { address, action, type, module, ...(deposed && { deposed }), attributes }
}

/**
 * Which resource has become which: its address disappeared, and its type, provider and attribute id are those of one object in each
 * state. Where several objects have the same ID, it does not identify one of them. Deposed objects do not move, but count.
 */
function moves(before: Map<string, Resource>, after: Map<string, Resource>): Map<Resource, Resource> {
  const found = new Map<Resource, Resource>()
  const objects = byObject(after)
  for (const [object, [was, ...others]] of byObject(before)) {
    const [is, ...more] = objects.get(object) ?? []
    if (!was || !is || others.length > 0 || more.length > 0 || was.deposed || is.deposed) continue
    if (!after.has(keyOf(was)) && !before.has(keyOf(is))) found.set(is, was)
  }
  return found
}

function byObject(resources: Map<string, Resource>): Map<string, Resource[]> {
  const found = new Map<string, Resource[]>()
  for (const r of resources.values()) {
    const id = idOf(r)
    if (id === undefined) continue
    const object = JSON.stringify([r.type, r.provider, id])
    const same = found.get(object)
    if (same) same.push(r)
    else found.set(object, [r])
  }
  return found
}

/** IDs that identify nothing: that of each random_password is none. */
const noIds = ['""', '"none"']

/** The attribute id, a text or a number, as JSON; it may be a secret. */
function idOf(r: Resource): string | undefined {
  const id = record(r.attributes)?.id
  const text = id instanceof Secret ? id.key() : writeExactly(id ?? null)
  return /^["\d-]/.test(text) && !noIds.includes(text) ? text : undefined
}

const keyOf = (r: Resource) => `${r.address}|${r.deposed}`

function managed(s: Statefile): Map<string, Resource> {
  return new Map(s.resources.filter((r) => r.mode === 'managed').map((r) => [keyOf(r), r]))
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
