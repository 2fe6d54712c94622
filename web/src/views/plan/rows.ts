import { natural } from '../text/natural'
import { countActions } from './filter'
import type { Action, Attribute, Change, Output } from './types'
import { actions } from './types'

/** A row of a plan as it is shown. Each is drawn only while it is to be seen. */
export type Row =
  | { kind: 'module'; key: string; module: string; counts: Map<Action, number>; open: boolean }
  | { kind: 'action'; key: string; action: Action; count: number; open: boolean }
  | { kind: 'change'; key: string; change: Change; open: boolean }
  | { kind: 'note'; key: string; text: string }
  | { kind: 'attribute'; key: string; attribute: Attribute; action: Action; open: boolean }
  | { kind: 'outputs'; key: string; counts: Map<Action, number>; open: boolean }
  | { kind: 'output'; key: string; output: Output; open: boolean }

export const outputsKey = 'outputs'

export const actionKey = (action: Action) => `g:${action}`
export const moduleKey = (module: string) => `m:${module}`
export const changeKey = (c: Change) => `c:${c.address}|${c.deposed ?? ''}`
export const outputKey = (o: Output) => `o:${o.name}`

/** What is folded otherwise than at first: modules are open, what is in them is folded. */
export type Toggled = ReadonlySet<string>

/** Returns the rows of a plan: the root module first, then modules by name, in each destructive changes first. */
export function rowsOf(changes: Change[], outputs: Output[], toggled: Toggled): Row[] {
  const rows: Row[] = []
  const modules = new Map<string, Change[]>()
  for (const c of changes) {
    const inside = modules.get(c.module ?? '')
    if (inside) inside.push(c)
    else modules.set(c.module ?? '', [c])
  }
  const names = [...modules.keys()].sort(natural)
  for (const module of names) {
    const inside = modules.get(module) ?? []
    const key = moduleKey(module)
    const open = !toggled.has(key)
    rows.push({ kind: 'module', key, module, counts: countActions(inside), open })
    if (!open) continue
    inside.sort((a, b) => actions.indexOf(a.action) - actions.indexOf(b.action))
    for (const change of inside) changeRows(rows, change, toggled)
  }
  addOutputs(rows, outputs, toggled)
  return rows
}

/** Returns the rows of what has changed, which are in groups by action. */
export function rowsByAction(changes: Change[], outputs: Output[], toggled: Toggled): Row[] {
  const rows: Row[] = []
  for (const action of actions) {
    const inside = changes.filter((c) => c.action === action)
    if (inside.length === 0) continue
    const key = actionKey(action)
    const open = !toggled.has(key)
    rows.push({ kind: 'action', key, action, count: inside.length, open })
    if (open) for (const change of inside) changeRows(rows, change, toggled)
  }
  addOutputs(rows, outputs, toggled)
  return rows
}

function addOutputs(rows: Row[], outputs: Output[], toggled: Toggled): void {
  if (outputs.length > 0) {
    const open = !toggled.has(outputsKey)
    rows.push({ kind: 'outputs', key: outputsKey, counts: countActions(outputs), open })
    if (open) for (const output of outputs) outputRows(rows, output, toggled)
  }
}

function changeRows(rows: Row[], change: Change, toggled: Toggled): void {
  const key = changeKey(change)
  const open = toggled.has(key)
  rows.push({ kind: 'change', key, change, open })
  if (!open) return
  for (const [i, text] of notesOf(change).entries()) rows.push({ kind: 'note', key: `${key}|n${i}`, text })
  attributeRows(rows, key, change.action, change.attributes, toggled)
  if (change.unchanged) {
    const text = `${change.unchanged} ${change.unchanged === 1 ? 'attribute' : 'attributes'} unchanged`
    rows.push({ kind: 'note', key: `${key}|u`, text })
  }
}

function outputRows(rows: Row[], output: Output, toggled: Toggled): void {
  const key = outputKey(output)
  const open = toggled.has(key)
  rows.push({ kind: 'output', key, output, open })
  if (open) attributeRows(rows, key, output.action, output.attributes, toggled)
}

function attributeRows(rows: Row[], of: string, action: Action, attributes: Attribute[] = [], toggled: Toggled): void {
  for (const [i, attribute] of attributes.entries()) {
    const key = `${of}|a${i}`
    rows.push({ kind: 'attribute', key, attribute, action, open: toggled.has(key) })
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
