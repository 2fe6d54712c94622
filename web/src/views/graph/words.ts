import { inWords } from '../../ui/tone'
import { safe } from '../text/escape'
import { nameIn, notFound, outputsOf } from './stacks'
import type { StackNode, UsedOutput } from './stacks'

/** The outputs that a dependency passes, with the variables of other names that receive them: "zone, id → var.vpc". */
export function outputsText(outputs: UsedOutput[]): string {
  if (outputs.length === 0) return 'order only'
  return outputs
    .map(({ output, variable }) => {
      if (output === undefined) return 'any output'
      return safe(variable && variable !== output ? `${output} → var.${variable}` : output)
    })
    .join(', ')
}

const mostNamed = 2

/** As outputsText, short enough for an edge: the first outputs by name, each once. */
export function edgeLabel(outputs: UsedOutput[]): string | undefined {
  const names = [...new Set(outputs.map((u) => (u.output === undefined ? 'any output' : safe(u.output))))]
  if (names.length === 0) return undefined
  const named = names.slice(0, mostNamed).map((name) => (name.length > 22 ? `${name.slice(0, 21)}…` : name))
  return named.join(', ') + (names.length > mostNamed ? ` and ${names.length - mostNamed} more` : '')
}

/** The state of a Stack in words. */
export const stateOf = (n: StackNode) => (n.stack ? inWords(n.stack.reason ?? n.stack.ready) : notFound)

/** What a Stack depends on, with the outputs that it uses, and what depends on it. */
export function relations(n: StackNode): string {
  const parts = []
  const { stack } = n
  if (stack && n.uses.length > 0)
    parts.push(`depends on ${few(n, n.uses, (name) => ` (${outputsText(outputsOf(stack, name))})`)}`)
  if (n.usedBy.length > 0) parts.push(`required by ${few(n, n.usedBy)}`)
  return parts.join('; ') || 'has no dependencies'
}

function few(of: StackNode, ids: string[], more: (name: string) => string = () => ''): string {
  const names = ids.slice(0, 5).map((id) => nameIn(of.namespace, id))
  return names.map((name) => safe(name) + more(name)).join(', ') + (ids.length > 5 ? ` and ${ids.length - 5} more` : '')
}
