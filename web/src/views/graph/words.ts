import { safe } from '../text/escape'
import type { UsedOutput } from './stacks'

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
