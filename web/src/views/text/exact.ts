/*
 * Engines write numbers of any length, and JavaScript rounds what has more than some 16 digits: a plan would be shown with another
 * number than the one that is applied, and two that differ as the same.
 */

// A random value for each page load, so that no text can contain it.
const mark = `exact-${crypto.getRandomValues(new Uint32Array(4)).join('-')}:`

/** A number that JavaScript has no equal of, as it was written. */
export class Exact {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
  toJSON(): string {
    return mark + this.text
  }
}

const numbers = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g
/** Only a number of so many characters can be one that is rounded. */
const long = 16

/** Reads JSON; a number that would be rounded is Exact. */
export function parseExactly(text: string): unknown {
  const parts: string[] = []
  let kept = 0
  for (let at = 0; at < text.length;) {
    const quote = text.indexOf('"', at)
    const end = quote < 0 ? text.length : quote
    if (end - at >= long) {
      for (const found of text.slice(at, end).matchAll(numbers)) {
        if (found[0].length < long || String(Number(found[0])) === found[0]) continue
        const begin = at + found.index
        parts.push(text.slice(kept, begin), JSON.stringify({ [mark]: found[0] }))
        kept = begin + found[0].length
      }
    }
    if (quote < 0) break
    at = endOfText(text, quote) + 1
  }
  if (parts.length === 0) return JSON.parse(text)
  parts.push(text.slice(kept))
  return JSON.parse(parts.join(''), (_, value: unknown) => {
    const number: unknown =
      typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[mark] : undefined
    return typeof number === 'string' ? new Exact(number) : value
  })
}

/** Where the text ends that begins at a quote. */
function endOfText(text: string, quote: number): number {
  for (let at = quote; ;) {
    at = text.indexOf('"', at + 1)
    if (at < 0) return text.length
    let escapes = 0
    while (text[at - 1 - escapes] === '\\') escapes++
    if (escapes % 2 === 0) return at
  }
}

/** Writes a value as JSON, with all digits of its numbers. */
export function writeExactly(value: unknown, indent?: number): string {
  return JSON.stringify(value, undefined, indent).replaceAll(new RegExp(`"${mark}([^"]*)"`, 'g'), '$1')
}
