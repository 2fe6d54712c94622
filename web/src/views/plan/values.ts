import { safe } from '../text/escape'
import { parseExactly, writeExactly } from '../text/exact'
import type { Attribute } from './types'

/** How much of a value is shown on a line. */
const longest = 400

/** How many characters a text may have to be compared line by line. */
export const longestDiff = 200_000

/** A value on one line; undefined where there is none. */
export function brief(value: unknown): string | undefined {
  if (value === undefined) return undefined
  const text = typeof value === 'string' ? value : writeExactly(value)
  const begin = text.slice(0, longest)
  const more = text.length - begin.length
  const shown = safe(typeof value === 'string' ? quoted(begin) : begin)
  return more > 0 ? `${shown} … and ${more.toLocaleString('en')} characters more` : shown
}

function quoted(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}

/** The texts of an attribute on both sides. */
export function sides(a: Attribute): { before: string | undefined; after: string | undefined } {
  const hidden = '(sensitive)'
  return {
    before: a.sensitive && a.before !== undefined ? hidden : brief(a.before),
    after: a.unknown ? '(known after apply)' : a.sensitive && a.after !== undefined ? hidden : brief(a.after),
  }
}

/** The texts of an attribute whose difference is better seen line by line: of several lines, or documents in JSON. */
export function texts(a: Attribute): { before: string; after: string } | undefined {
  if (a.sensitive || a.unknown) return undefined
  const before = a.before === undefined ? '' : lines(a.before)
  const after = a.after === undefined ? '' : lines(a.after)
  if (before === undefined || after === undefined || before.length + after.length > longestDiff) return undefined
  if (!before.trimEnd().includes('\n') && !after.trimEnd().includes('\n')) return undefined
  return { before, after }
}

function lines(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  if (/^\s*[[{]/.test(value)) {
    try {
      return writeExactly(parseExactly(value), 2)
    } catch {
      return value
    }
  }
  return value
}
