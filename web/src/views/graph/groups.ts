import type { Tone } from '../../ui/tone'
import { readyTone } from '../../ui/tone'
import type { Graph } from '../plan/json'
import type { Dependency, StackGraph, StackNode } from './stacks'

/** Stacks that have the same value, and are one node until a user expands them. */
export type Group = { id: string; value: string; members: StackNode[] }

export type GroupedGraph = Graph<StackNode | Group, Dependency>

export const isGroup = (n: StackNode | Group): n is Group => 'members' in n

/** What Stacks are grouped by: their namespace, their Repository, or the value of a label, as label:team. */
export type By = string

/** The value by which a Stack is grouped; empty if it has none. */
export function valueOf(n: StackNode, by: By): string {
  if (by === 'namespace') return n.namespace
  if (by === 'repository') return n.stack?.repository ?? ''
  const prefix = `${by.slice('label:'.length)}=`
  return n.stack?.labels?.find((l) => l.startsWith(prefix))?.slice(prefix.length) ?? ''
}

const mostChoices = 20

/** What some Stacks can be grouped by: what has several values, labels of most Stacks first. */
export function choices(nodes: StackNode[]): By[] {
  const keys = new Map<string, number>()
  for (const n of nodes) {
    for (const label of n.stack?.labels ?? []) {
      const by = `label:${label.slice(0, label.indexOf('='))}`
      keys.set(by, (keys.get(by) ?? 0) + 1)
    }
  }
  const labels = [...keys].sort(([a, n], [b, m]) => m - n || a.localeCompare(b)).map(([by]) => by)
  const several = (by: By) => new Set(nodes.map((n) => valueOf(n, by))).size > 1
  return ['namespace', 'repository', ...labels].filter(several).slice(0, mostChoices)
}

/** A graph in which the Stacks of a value are one node, unless it is expanded. A Stack without a value, or alone in its group, stays. */
export function grouped(graph: StackGraph, by: By | undefined, expanded: string[]): GroupedGraph {
  if (!by) return graph
  const groups = new Map<string, Group>()
  for (const n of graph.nodes) {
    const value = valueOf(n, by)
    if (value === '' || expanded.includes(value)) continue
    const group = groups.get(value) ?? { id: `group:${value}`, value, members: [] }
    groups.set(value, group)
    group.members.push(n)
  }
  const shown = new Map<string, StackNode | Group>()
  for (const n of graph.nodes) {
    const group = groups.get(valueOf(n, by))
    shown.set(n.id, group && group.members.length > 1 ? group : n)
  }
  const edges = new Map<string, Dependency>()
  for (const e of graph.edges) {
    const [from = '', to = ''] = [e.from, e.to].map((id) => shown.get(id)?.id)
    if (from === to) continue
    const outputs = [...(edges.get(`${from}|${to}`)?.outputs ?? []), ...e.outputs]
    edges.set(`${from}|${to}`, { from, to, outputs })
  }
  return { nodes: [...new Set(shown.values())], edges: [...edges.values()] }
}

const words: [Tone, string][] = [
  ['bad', 'failing'],
  ['warn', 'waiting'],
  ['busy', 'in progress'],
  ['none', 'suspended'],
  ['good', 'ready'],
]

/** How many Stacks of a group are in which state, and the state that requires a user most. */
export function summary(group: Group): { tone: Tone; text: string } {
  const tones = group.members.map(toneOf)
  const counts = words.map(([tone, word]) => ({ tone, word, n: tones.filter((t) => t === tone).length }))
  const present = counts.filter((c) => c.n > 0)
  return { tone: present[0]?.tone ?? 'none', text: present.map((c) => `${c.n} ${c.word}`).join(', ') }
}

/** The tone of a Stack; one that is not found is as bad as one that fails. */
export const toneOf = (n: StackNode): Tone => (n.stack ? readyTone(n.stack) : 'bad')
