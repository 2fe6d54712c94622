import { natural } from '../text/natural'
import { countActions } from './filter'
import type { Action, Attribute, Change, Output } from './types'
import { actions, destroys } from './types'

/** A row of a plan as it is shown. Each is drawn only while it is to be seen. */
export type Row =
  | { kind: 'destroyed'; key: string; counts: Map<Action, number>; open: boolean }
  | { kind: 'module'; key: string; module: string; counts: Map<Action, number>; open: boolean }
  | { kind: 'action'; key: string; action: Action; count: number; open: boolean }
  | { kind: 'change'; key: string; change: Change; open: boolean }
  | { kind: 'note'; key: string; text: string }
  | { kind: 'attribute'; key: string; attribute: Attribute; action: Action; open: boolean }
  | { kind: 'outputs'; key: string; counts: Map<Action, number>; open: boolean }
  | { kind: 'output'; key: string; output: Output; open: boolean }

export const destroyedKey = 'destroyed'
export const outputsKey = 'outputs'

export const actionKey = (action: Action) => `g:${action}`
export const moduleKey = (module: string) => `m:${module}`
export const changeKey = (c: Change) => `c:${c.address}|${c.deposed ?? ''}`
export const outputKey = (o: Output) => `o:${o.name}`

/** The keys that a user has toggled. */
export type Toggled = ReadonlySet<string>

/** The keys of the changes of a review that are unfolded at first. A review has what is destroyed in a group of its own. */
export type Review = { unfolded: ReadonlySet<string> }

/** So many changes are unfolded at first at most. */
const mostUnfolded = 50

/** Returns what a review of changes shows first. */
export function reviewOf(changes: Change[]): Review {
  return { unfolded: new Set(changes.filter(destroys).slice(0, mostUnfolded).map(changeKey)) }
}

/** Whether a change or an output is unfolded: at first, only those of a review are. */
export const isOpen = (key: string, toggled: Toggled, review?: Review) =>
  toggled.has(key) !== (review?.unfolded.has(key) ?? false)

/**
 * Returns the rows of a plan: for a review, what is destroyed and replaced in all modules; then the root module and the other modules by
 * name, in each destructive changes first.
 */
export function rowsOf(changes: Change[], outputs: Output[], toggled: Toggled, review?: Review): Row[] {
  const rows: Row[] = []
  const open = (key: string) => isOpen(key, toggled, review)
  const destroyed = review ? changes.filter(destroys) : []
  if (destroyed.length > 0) {
    const key = destroyedKey
    rows.push({ kind: 'destroyed', key, counts: countActions(destroyed), open: !toggled.has(key) })
    if (!toggled.has(key)) for (const change of destroyed) changeRows(rows, change, open)
  }
  const modules = new Map<string, Change[]>()
  for (const c of changes) {
    if (review && destroys(c)) continue
    const inside = modules.get(c.module ?? '')
    if (inside) inside.push(c)
    else modules.set(c.module ?? '', [c])
  }
  const names = [...modules.keys()].sort(natural)
  for (const module of names) {
    const inside = modules.get(module) ?? []
    const key = moduleKey(module)
    rows.push({ kind: 'module', key, module, counts: countActions(inside), open: !toggled.has(key) })
    if (toggled.has(key)) continue
    inside.sort((a, b) => actions.indexOf(a.action) - actions.indexOf(b.action))
    for (const change of inside) changeRows(rows, change, open)
  }
  addOutputs(rows, outputs, toggled, open)
  return rows
}

/** Returns the rows of what has changed, which are in groups by action. */
export function rowsByAction(changes: Change[], outputs: Output[], toggled: Toggled): Row[] {
  const rows: Row[] = []
  const open = (key: string) => toggled.has(key)
  for (const action of actions) {
    const inside = changes.filter((c) => c.action === action)
    if (inside.length === 0) continue
    const key = actionKey(action)
    rows.push({ kind: 'action', key, action, count: inside.length, open: !open(key) })
    if (!open(key)) for (const change of inside) changeRows(rows, change, open)
  }
  addOutputs(rows, outputs, toggled, open)
  return rows
}

type Open = (key: string) => boolean

function addOutputs(rows: Row[], outputs: Output[], toggled: Toggled, open: Open): void {
  if (outputs.length === 0) return
  const key = outputsKey
  rows.push({ kind: 'outputs', key, counts: countActions(outputs), open: !toggled.has(key) })
  if (!toggled.has(key)) for (const output of outputs) outputRows(rows, output, open)
}

function changeRows(rows: Row[], change: Change, open: Open): void {
  const key = changeKey(change)
  rows.push({ kind: 'change', key, change, open: open(key) })
  if (!open(key)) return
  for (const [i, text] of notesOf(change).entries()) rows.push({ kind: 'note', key: `${key}|n${i}`, text })
  attributeRows(rows, key, change.action, change.attributes, open)
  if (change.unchanged) {
    const text = `${change.unchanged} ${change.unchanged === 1 ? 'attribute' : 'attributes'} unchanged`
    rows.push({ kind: 'note', key: `${key}|u`, text })
  }
}

function outputRows(rows: Row[], output: Output, open: Open): void {
  const key = outputKey(output)
  rows.push({ kind: 'output', key, output, open: open(key) })
  if (open(key)) attributeRows(rows, key, output.action, output.attributes, open)
}

function attributeRows(rows: Row[], of: string, action: Action, attributes: Attribute[] = [], open: Open): void {
  for (const [i, attribute] of attributes.entries()) {
    const key = `${of}|a${i}`
    rows.push({ kind: 'attribute', key, attribute, action, open: open(key) })
  }
}

/** What is to be known of a change beside its attributes. */
export function notesOf(c: Change): string[] {
  const notes: string[] = []
  if (c.previous) notes.push(`moved from ${c.previous}`)
  if (c.importing) notes.push(`imported by ${c.importing}`)
  if (c.deposed) notes.push(`the object ${c.deposed} that an earlier replacement left behind`)
  if (c.reason) notes.push(`because ${c.reason}`)
  const forces = forcing(c)
  if (forces.length > 0) notes.push(`forced by ${forces.join(', ')}`)
  if (c.action === 'replace') {
    notes.push(
      c.createFirst
        ? 'the new one is created before the old one is destroyed'
        : 'the old one is destroyed before the new one is created',
    )
  }
  return notes
}

/** The attributes that force a replacement. */
export function forcing(c: Change): string[] {
  return c.action === 'replace' ? (c.attributes ?? []).filter((a) => a.forces).map((a) => a.path) : []
}

/** The keys of all that can be opened. */
export function foldable(changes: Change[], outputs: Output[]): string[] {
  return [...changes.map(changeKey), ...outputs.map(outputKey)]
}
