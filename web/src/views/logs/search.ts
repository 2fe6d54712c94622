import { plain } from '../text/ansi'
import type { LogStore } from './store'

/** Number of lines to search before yielding to other work. */
const atOnce = 20_000
/** Number of matching lines that are counted. */
export const mostMatches = 10_000

/** The lines that have a text, in any case; those up to the first that was not looked at. */
export class LogSearch {
  readonly matches: number[] = []
  private next = 1
  private readonly wanted: string

  constructor(wanted: string) {
    this.wanted = wanted.toLowerCase()
  }

  /** Searches more lines, and returns whether there are more. Only a complete last line counts. */
  scan(log: LogStore, ended: boolean): boolean {
    if (this.wanted === '') return false
    const end = ended ? log.total : log.total - 1
    let n = Math.max(this.next, log.first)
    const stop = Math.min(end, n + atOnce - 1)
    for (; n <= stop && this.matches.length < mostMatches; n++) {
      if (
        plain(log.line(n) ?? '')
          .toLowerCase()
          .includes(this.wanted)
      )
        this.matches.push(n)
    }
    this.next = n
    return n <= end && this.matches.length < mostMatches
  }

  /** The match at or after a line, else the first; its place among the matches. */
  from(line: number): number {
    const at = this.matches.findIndex((m) => m >= line)
    return at < 0 ? 0 : at
  }
}

/** A piece of a text, and whether it is what was looked for. */
export type Piece = { text: string; hit: boolean }

/** Takes a text apart at what is looked for. */
export function highlight(text: string, wanted: string): Piece[] {
  if (wanted === '') return [{ text, hit: false }]
  const pieces: Piece[] = []
  const lower = text.toLowerCase()
  // Lower case may be longer than the text, as of İ: then nothing is marked, because the positions would be wrong.
  if (lower.length !== text.length) return [{ text, hit: false }]
  const low = wanted.toLowerCase()
  let at = 0
  for (let hit = lower.indexOf(low); hit >= 0 && pieces.length < 200; hit = lower.indexOf(low, at)) {
    if (hit > at) pieces.push({ text: text.slice(at, hit), hit: false })
    at = hit + low.length
    pieces.push({ text: text.slice(hit, at), hit: true })
  }
  if (at < text.length || pieces.length === 0) pieces.push({ text: text.slice(at), hit: false })
  return pieces
}
