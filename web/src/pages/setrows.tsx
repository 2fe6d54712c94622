import type { StackSet } from '../api/client'

/** The Stacks of a StackSet: how many there are, and how many of them are not applied, in short. */
export function StackCounts({ of }: { of: StackSet }) {
  const parts: [number, string, string][] = [
    [of.failed, 'failed', 'text-bad'],
    [of.changing - of.failed, 'changing', 'text-busy'],
    [of.outdated, 'outdated', 'text-warn'],
    [of.gone, 'gone', 'text-warn'],
  ]
  return (
    <span className="inline-flex flex-wrap gap-x-2 text-sm tabular-nums">
      <span>{of.generated.toLocaleString('en')}</span>
      {parts
        .filter(([n]) => n > 0)
        .map(([n, word, color]) => (
          <span key={word} className={color}>
            {n.toLocaleString('en')} {word}
          </span>
        ))}
    </span>
  )
}
