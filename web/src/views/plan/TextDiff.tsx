import { structuredPatch } from 'diff'
import { useMemo } from 'react'
import { cx } from '../../ui/cx'
import { safeText } from '../text/escape'

/** How many lines of a difference are shown. */
const mostLines = 1_000

/** Two texts, line by line: what is the same far from what is different is left out. */
export function TextDiff({ before, after }: { before: string; after: string }) {
  const lines = useMemo(() => difference(before, after), [before, after])
  return (
    <pre className="bg-panel border-line my-1 overflow-x-auto rounded border p-1.5 text-xs leading-5">
      {lines.map((line, i) => (
        <span
          key={i}
          className={cx(
            'block w-max min-w-full',
            line.startsWith('+') && 'bg-goodbg',
            line.startsWith('-') && 'bg-badbg',
            line.startsWith('@') && 'text-muted',
          )}
        >
          {safeText(line)}
        </span>
      ))}
    </pre>
  )
}

/** The lines of a difference, each with its sign in front. */
export function difference(before: string, after: string): string[] {
  const patch = structuredPatch('', '', ended(before), ended(after), undefined, undefined, { context: 3, timeout: 500 })
  // Texts that are too different to compare in time are shown one after the other.
  const lines = patch
    ? patch.hunks.flatMap((h, i) => [...(i > 0 ? ['@ …'] : []), ...h.lines])
    : [...split(before).map((l) => '-' + l), ...split(after).map((l) => '+' + l)]
  if (lines.length <= mostLines) return lines
  return [...lines.slice(0, mostLines), `@ … and ${(lines.length - mostLines).toLocaleString('en')} lines more`]
}

const ended = (text: string) => (text === '' || text.endsWith('\n') ? text : text + '\n')
const split = (text: string) => (text === '' ? [] : text.replace(/\n$/, '').split('\n'))
