import { writeExactly } from '../text/exact'
import type { Action, Change, Output, View } from './types'

/** The filter of a plan. An empty filter selects everything. */
export type Filter = { actions: Action[]; address: string; text: string }

export const noFilter: Filter = { actions: [], address: '', text: '' }

/** Returns the changes that match the filter. An address may have * for any text; the search is in addresses, types, paths and values. */
export function filtered(view: View, f: Filter): { changes: Change[]; outputs: Output[] } {
  const address = matcher(f.address)
  const words = f.text.toLowerCase().split(/\s+/).filter(Boolean)
  const action = (a: Action) => f.actions.length === 0 || f.actions.includes(a)
  const said = (parts: Iterable<string>) => {
    if (words.length === 0) return true
    const left = new Set(words)
    for (const part of parts) {
      const low = part.toLowerCase()
      for (const word of left) if (low.includes(word)) left.delete(word)
      if (left.size === 0) return true
    }
    return false
  }
  return {
    changes: (view.changes ?? []).filter(
      (c) =>
        action(c.action) &&
        (address(c.address) || (c.previous !== undefined && address(c.previous))) &&
        said(partsOf(c)),
    ),
    // Outputs have no address, so a filter by address excludes them.
    outputs: (view.outputs ?? []).filter((o) => action(o.action) && f.address.trim() === '' && said(partsOfOutput(o))),
  }
}

function* partsOf(c: Change): Iterable<string> {
  yield c.address
  yield c.type ?? ''
  yield c.previous ?? ''
  yield c.reason ?? ''
  yield c.importing ?? ''
  yield* partsOfAttributes(c.attributes)
}

function* partsOfOutput(o: Output): Iterable<string> {
  yield o.name
  yield* partsOfAttributes(o.attributes)
}

function* partsOfAttributes(attributes: Change['attributes']): Iterable<string> {
  for (const a of attributes ?? []) {
    yield a.path
    if (a.sensitive) continue
    if (a.before !== undefined) yield textOf(a.before)
    if (a.after !== undefined) yield textOf(a.after)
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : writeExactly(value)
}

function matcher(pattern: string): (address: string) => boolean {
  const parts = pattern.trim().toLowerCase().split('*')
  if (parts.length === 1) return (address) => address.toLowerCase().includes(parts[0] ?? '')
  return (address) => {
    const low = address.toLowerCase()
    let at = 0
    for (const [i, part] of parts.entries()) {
      const last = i === parts.length - 1
      const found = last && part !== '' ? (low.endsWith(part) ? low.length - part.length : -1) : low.indexOf(part, at)
      if (found < at || (i === 0 && found !== 0)) return false
      at = found + part.length
    }
    return true
  }
}

/** How many changes there are of each action. */
export function countActions(changes: { action: Action }[]): Map<Action, number> {
  const counts = new Map<Action, number>()
  for (const c of changes) counts.set(c.action, (counts.get(c.action) ?? 0) + 1)
  return counts
}
