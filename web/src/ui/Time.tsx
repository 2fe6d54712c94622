import { useSyncExternalStore } from 'react'
import { ago, duration, moment } from './time'

// One clock for the whole page. It ticks while a time is shown.
const watchers = new Set<() => void>()
let ticking: ReturnType<typeof setInterval> | undefined
let second = 0
const now = () => second
function watch(watcher: () => void): () => void {
  watchers.add(watcher)
  second = Math.floor(Date.now() / 1000)
  ticking ??= setInterval(() => {
    second = Math.floor(Date.now() / 1000)
    for (const w of watchers) w()
  }, 1000)
  return () => {
    watchers.delete(watcher)
    if (watchers.size > 0) return
    clearInterval(ticking)
    ticking = undefined
  }
}

/** The time, by the second. */
export function useNow(): Date {
  second ||= Math.floor(Date.now() / 1000)
  return new Date(useSyncExternalStore(watch, now) * 1000)
}

/** How long ago a time was, with the time as a tooltip. */
export function Ago({ at }: { at?: string }) {
  const now = useNow()
  if (!at) return <span className="text-muted">never</span>
  const then = new Date(at)
  return (
    <time dateTime={at} title={moment(then)} className="whitespace-nowrap">
      {ago(then, now)}
    </time>
  )
}

/** A duration, finished or in progress. */
export function Took({ from, to }: { from?: string; to?: string }) {
  const now = useNow()
  if (!from) return null
  const end = to ? new Date(to) : now
  return (
    <span className="whitespace-nowrap tabular-nums">
      {duration(Math.max(0, end.getTime() - new Date(from).getTime()))}
    </span>
  )
}
