// Without Intl: its first formatter takes 45 ms of a processor, before the first rows are painted.

const units: [string, number][] = [
  ['s', 1],
  ['m', 60],
  ['h', 3600],
  ['d', 86400],
]

/** How long ago it was, in the largest unit of which there are two: "90 s ago" is 90s, not 1min. */
export function ago(then: Date, now: Date): string {
  const seconds = Math.round((now.getTime() - then.getTime()) / 1000)
  const far = Math.abs(seconds)
  if (far < 5) return 'now'
  let chosen = units[0]!
  for (const unit of units) if (far >= 2 * unit[1]) chosen = unit
  const amount = Math.round(far / chosen[1]) + chosen[0]
  return seconds < 0 ? `in ${amount}` : `${amount} ago`
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

/** A moment in the time zone of the user: 2026-11-28 06:14:05. */
export function moment(then: Date): string {
  const two = (n: number) => String(n).padStart(2, '0')
  const [year, month, day] = [then.getFullYear(), then.getMonth() + 1, then.getDate()]
  return `${year}-${two(month)}-${two(day)} ${[then.getHours(), then.getMinutes(), then.getSeconds()].map(two).join(':')}`
}
