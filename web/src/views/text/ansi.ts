import Anser from 'anser'
import { safeLine } from './escape'

/** A piece of a line with one style. */
export type Segment = { text: string; className: string }

/** How many times a line may change its style. What follows is shown plain. */
const mostSegments = 300

/** The colors of engines and scripts in those of the page, which can be read on light and on dark. */
const colors: Record<string, string> = {
  black: 'text-muted',
  red: 'text-bad',
  green: 'text-good',
  yellow: 'text-warn',
  blue: 'text-busy',
  magenta: 'text-accent',
  cyan: 'text-busy',
}

const decorations: Record<string, string> = {
  bold: 'font-semibold',
  dim: 'opacity-70',
  italic: 'italic',
  underline: 'underline',
}

/** Reads the colors of a line. Other codes do nothing: those that a terminal knows are left out, the rest is shown escaped. */
export function segments(line: string): Segment[] {
  if (!line.includes('\x1b')) return [{ text: safeLine(line), className: '' }]
  const shown: Segment[] = []
  for (const piece of Anser.ansiToJson(line, { use_classes: true, json: true, remove_empty: true })) {
    const className = [
      colors[/^ansi-(?:bright-)?(\w+)$/.exec(piece.fg ?? '')?.[1] ?? ''] ?? '',
      ...piece.decorations.map((d) => decorations[d] ?? ''),
    ]
      .filter(Boolean)
      .join(' ')
    const text = safeLine(piece.content)
    const last = shown.at(-1)
    if (last && (last.className === className || shown.length >= mostSegments)) last.text += text
    else shown.push({ text, className })
  }
  return shown
}

// eslint-disable-next-line no-control-regex -- it matches escapes
const codes = /\x1b\[[0-?]*[ -/]*[@-~]/g

/** The text of a line as it is searched. */
export function plain(line: string): string {
  return line.includes('\x1b') ? line.replace(codes, '') : line
}
