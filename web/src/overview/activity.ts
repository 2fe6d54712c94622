import type { Activity } from '../api/client'

export type Step = NonNullable<Activity['steps']>[number]

/** How many there were in all steps. */
export function sums(steps: Step[]): { succeeded: number; failed: number; others: number } {
  const all = { succeeded: 0, failed: 0, others: 0 }
  for (const s of steps) {
    all.succeeded += s.succeeded
    all.failed += s.failed
    all.others += s.others
  }
  return all
}

/** When a step began, as the axis has it: the hour of a day, else the day. */
export function stepLabel(from: string, days: boolean): string {
  const then = new Date(from)
  return days
    ? then.toLocaleDateString(undefined, { weekday: 'short', day: 'numeric', month: 'short' })
    : then.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' })
}

/** The steps that the axis names: the first of each day, so that no day is named twice; all where a day is shown. */
export function ticks(steps: Step[], days: boolean): string[] | undefined {
  if (!days) return undefined
  const label = (i: number) => (steps[i] ? stepLabel(steps[i].from, true) : '')
  return steps.filter((_, i) => i > 0 && label(i) !== label(i - 1)).map((s) => s.from)
}
