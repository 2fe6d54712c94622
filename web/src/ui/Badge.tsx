import type { ReactNode } from 'react'
import { cx } from './cx'
import type { Tone } from './tone'
import { inWords, phaseTone, readyTone } from './tone'

const tones: Record<Tone, string> = {
  good: 'bg-goodbg text-good',
  busy: 'bg-busybg text-busy',
  warn: 'bg-warnbg text-warn',
  bad: 'bg-badbg text-bad',
  none: 'bg-sunken text-muted',
}

/** A word in its color. The color has no meaning of its own. */
export function Badge({ tone = 'none', children, title }: { tone?: Tone; children: ReactNode; title?: string }) {
  return (
    <span
      title={title}
      className={cx('inline-flex max-w-full items-center rounded px-1.5 py-px text-xs font-medium', tones[tone])}
    >
      <span className="truncate">{children}</span>
    </span>
  )
}

/** A Run's phase. */
export function PhaseBadge({ phase }: { phase: string }) {
  return <Badge tone={phaseTone(phase)}>{inWords(phase)}</Badge>
}

/** The state of an object: the reason of its Ready condition. */
export function ReadyBadge({ of }: { of: { ready: string; reason?: string; stalled?: boolean; suspended?: boolean } }) {
  return <Badge tone={readyTone(of)}>{inWords(of.reason ?? (of.ready === 'Unknown' ? 'New' : of.ready))}</Badge>
}
