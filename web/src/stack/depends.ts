import { queryOptions } from '@tanstack/react-query'
import type { Stack } from '../api/client'
import { send } from '../api/client'
import type { Page } from '../api/kinds'
import { keys, listPath } from '../api/queries'
import type { StackGraph, StackNode } from '../views/graph/stacks'
import { near } from '../views/graph/stacks'

/** All Stacks of a namespace. */
export function stacksOf(namespace: string) {
  return queryOptions({
    queryKey: keys.list('stacks', { namespace, all: true }),
    queryFn: async ({ signal }) => {
      const all: Stack[] = []
      for (let after: string | undefined = ''; after !== undefined;) {
        const path: string = listPath('stacks', { namespace, limit: 500 }, after)
        const page = (await (await send('GET', path, undefined, signal)).json()) as Page<'stacks'>
        all.push(...(page.items ?? []))
        after = page.next
      }
      return all
    },
  })
}

/**
 * The Stacks that have to be destroyed or deleted before a Stack is destroyed, in an order that works. As for the operator, those that are
 * destroyed already do not count, nor those that depend on each other.
 */
export function destroyedFirst(graph: StackGraph, id: string): StackNode[] {
  const nodes = new Map(graph.nodes.map((n) => [n.id, n]))
  const order: StackNode[] = []
  const seen = new Set([id])
  const walk = (id: string) => {
    const before = near(graph, id, Infinity, ['uses'])
    for (const other of nodes.get(id)?.usedBy ?? []) {
      const node = nodes.get(other)
      if (!node || seen.has(other) || node.stack?.destroyed || before?.has(other)) continue
      seen.add(other)
      walk(other)
      order.push(node)
    }
  }
  walk(id)
  return order
}
