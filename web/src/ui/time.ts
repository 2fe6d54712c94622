const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ['second', 1],
  ['minute', 60],
  ['hour', 3600],
  ['day', 86400],
]
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'always', style: 'narrow' })

/** How long ago it was, in the largest unit of which there are two: "90 s ago" is 90s, not 1min. */
export function ago(then: Date, now: Date): string {
  const seconds = Math.round((now.getTime() - then.getTime()) / 1000)
  const far = Math.abs(seconds)
  if (far < 5) return 'now'
  let chosen = units[0]!
  for (const unit of units) if (far >= 2 * unit[1]) chosen = unit
  return relative.format(-Math.round(seconds / chosen[1]), chosen[0])
}

/** A duration: 850ms, 12s, 3m 20s, 2h 5m, 3d 4h. */
export function duration(milliseconds: number): string {
  if (!(milliseconds >= 0)) return '0s'
  if (milliseconds < 1000) return `${Math.round(milliseconds)}ms`
  const s = Math.round(milliseconds / 1000)
  if (s < 60) return `${s}s`
  if (s < 3600) return `${Math.floor(s / 60)}m ${s % 60}s`
  if (s < 86400) return `${Math.floor(s / 3600)}h ${Math.floor((s % 3600) / 60)}m`
  return `${Math.floor(s / 86400)}d ${Math.floor((s % 86400) / 3600)}h`
}

/** A moment in full, as the reader's place writes it. */
export function moment(then: Date): string {
  return then.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
}
