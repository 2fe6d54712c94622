import type { Stack } from '../../api/client'
import type { Edge, Graph } from '../plan/json'

export type UsedOutput = NonNullable<Stack['usedOutputs']>[number]

export const idOf = (s: { namespace: string; name: string }) => `${s.namespace}/${s.name}`

/** The name of a Stack in a namespace: that of one in another namespace has it before a slash. */
export const nameIn = (namespace: string, id: string) =>
  id.startsWith(`${namespace}/`) ? id.slice(namespace.length + 1) : id

/** A Stack with what goes before it and what comes after it. One that others depend on, but that is not found, has no row. */
export type StackNode = {
  id: string
  namespace: string
  name: string
  stack?: Stack
  uses: string[]
  usedBy: string[]
}

/** The state of a Stack that is not found: a user can list all Stacks of a namespace or none. */
export const notFound = 'Not found'

/** A dependency with the outputs that it passes; one without any is only the order. */
export type Dependency = Edge & { outputs: UsedOutput[] }

export type StackGraph = Graph<StackNode, Dependency>

/** Stacks and which uses which: an edge goes from what goes first to what waits for it. */
export function graphOfStacks(stacks: Stack[]): StackGraph {
  const nodes = new Map<string, StackNode>()
  for (const stack of stacks) {
    const { namespace, name } = stack
    nodes.set(idOf(stack), { id: idOf(stack), namespace, name, stack, uses: [], usedBy: [] })
  }
  const edges: Dependency[] = []
  for (const stack of stacks) {
    const node = nodes.get(idOf(stack))!
    for (const name of new Set(stack.uses)) {
      const id = name.includes('/') ? name : idOf({ namespace: node.namespace, name }) // with a slash: of another namespace
      if (id === node.id) continue
      const [namespace = '', own = ''] = id.split('/')
      const used = nodes.get(id) ?? { id, namespace, name: own, uses: [], usedBy: [] }
      nodes.set(id, used)
      node.uses.push(id)
      used.usedBy.push(node.id)
      edges.push({ from: id, to: node.id, outputs: outputsOf(stack, name) })
    }
  }
  return { nodes: [...nodes.values()], edges }
}

/** The outputs of a dependency that a Stack uses. */
export function outputsOf(stack: Stack, dependency: string): UsedOutput[] {
  return (stack.usedOutputs ?? []).filter((u) => u.stack === dependency)
}

/** The selected nodes: those of a namespace, or one node with its neighbors up to a distance. */
export type Selection = {
  namespace?: string | undefined
  focus?: string | undefined
  depth: number
  alone: boolean
}

export function part(graph: StackGraph, selection: Selection): StackGraph {
  const focused = selection.focus ? near(graph, selection.focus, selection.depth) : undefined
  const nodes = graph.nodes.filter((n) => {
    if (focused) return focused.has(n.id)
    if (selection.namespace && n.namespace !== selection.namespace) return false
    return selection.alone || !isAlone(n)
  })
  const ids = new Set(nodes.map((n) => n.id))
  return { nodes, edges: graph.edges.filter((e) => ids.has(e.from) && ids.has(e.to)) }
}

/** Whether a Stack has no dependencies and nothing depends on it. */
export const isAlone = (n: StackNode) => n.uses.length + n.usedBy.length === 0

/** Whether a Stack has all words of a search. */
export function matches(n: StackNode, q: string): boolean {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean)
  const said = [n.id, ...(n.stack ? [n.stack.reason, n.stack.path, n.stack.repository] : [notFound])]
    .join(' ')
    .toLowerCase()
  return words.every((w) => said.includes(w))
}

/** The layer of each Stack: 1 if it depends on none, otherwise one more than the highest of its dependencies. A cycle counts once. */
export function layersOf(graph: StackGraph): Map<string, number> {
  const nodes = new Map(graph.nodes.map((n) => [n.id, n]))
  const layers = new Map<string, number>()
  const layer = (id: string): number => {
    const known = layers.get(id)
    if (known !== undefined) return known
    layers.set(id, 0) // while it is computed, for a cycle
    const found = 1 + Math.max(0, ...(nodes.get(id)?.uses ?? []).map(layer))
    layers.set(id, found)
    return found
  }
  for (const id of nodes.keys()) layer(id)
  return layers
}

/** A node, all that it waits for and all that waits for it, within a distance; not what is beside it. */
export function near(
  graph: StackGraph,
  focus: string,
  depth: number,
  ways: ('uses' | 'usedBy')[] = ['uses', 'usedBy'],
): Set<string> | undefined {
  const nodes = new Map(graph.nodes.map((n) => [n.id, n]))
  if (!nodes.has(focus)) return undefined
  const found = new Set([focus])
  for (const way of ways) {
    let edge = [focus]
    for (let i = 0; i < depth && edge.length > 0; i++) {
      edge = edge.flatMap((id) => nodes.get(id)?.[way] ?? []).filter((id) => !found.has(id))
      for (const id of edge) found.add(id)
    }
  }
  return found
}
