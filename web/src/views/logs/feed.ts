import type { Problem } from '../../api/client'
import { isForeign, problemOf } from '../../api/client'
import { LogSearch } from './search'
import { LogStore } from './store'
import type { StreamState } from './stream'
import { followLog } from './stream'

/** A text that comes line by line, for React: it changes version at most some times a second, however fast it comes. */
export class Feed {
  readonly store = new LogStore()
  search = new LogSearch('')
  state: StreamState = { kind: 'connecting' }
  private version = 0
  private timer: ReturnType<typeof setTimeout> | undefined
  private searching: ReturnType<typeof setTimeout> | undefined
  private readonly listeners = new Set<() => void>()
  private readonly open: (feed: Feed) => () => void

  constructor(open: (feed: Feed) => () => void) {
    this.open = open
  }

  readonly start = (): (() => void) => {
    const close = this.open(this)
    return () => {
      close()
      clearTimeout(this.timer)
      clearTimeout(this.searching)
      this.timer = undefined
    }
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  readonly snapshot = (): number => this.version

  add(text: string): void {
    this.store.add(text)
    this.changed()
  }

  become(state: StreamState): void {
    this.state = state
    this.changed()
  }

  /** Searches for a text from now on. */
  searchFor(wanted: string): void {
    this.search = new LogSearch(wanted)
    this.searchOn()
    this.notify()
  }

  private changed(): void {
    // Many lines take long to lay out: the more there are, the less often.
    this.timer ??= setTimeout(this.shown, Math.min(1_000, 60 + this.store.kept / 400))
  }

  private readonly shown = (): void => {
    this.timer = undefined
    this.searchOn()
    this.notify()
  }

  /** Searches some lines, and yields before it searches more. */
  private readonly searchOn = (): void => {
    clearTimeout(this.searching)
    const found = this.search.matches.length
    if (this.search.scan(this.store, this.state.kind === 'ended')) this.searching = setTimeout(this.searchOn)
    if ((found === 0) !== (this.search.matches.length === 0)) this.notify()
    else if (found !== this.search.matches.length) this.changed()
  }

  private notify(): void {
    this.version++
    for (const listener of this.listeners) listener()
  }
}

/** The log of a Run, as it comes. */
export function logFeed(path: string): Feed {
  let from = '0'
  return new Feed((feed) =>
    followLog(path, {
      from,
      onText: (text, offset) => {
        from = offset
        feed.add(text)
      },
      onState: (state) => feed.become(state),
    }),
  )
}

/** A text that is there whole, as it arrives. */
export function textFeed(path: string): Feed {
  let begun = false
  return new Feed((feed) => {
    const leave = new AbortController()
    // React begins a second time in development: what was read is there.
    if (!begun)
      void readText(path, feed, leave.signal).catch((error: unknown) => feed.become(failed(error, leave.signal)))
    begun = true
    return () => {
      if (feed.state.kind === 'ended') return
      leave.abort()
      begun = false
    }
  })
}

async function readText(path: string, feed: Feed, signal: AbortSignal): Promise<void> {
  const answer = await fetch(path, { signal })
  if (!answer.ok || isForeign(answer) || !answer.body)
    return feed.become({ kind: 'failed', problem: await problemOf(answer) })
  feed.store.clear()
  feed.become({ kind: 'live' })
  const reader = answer.body.getReader()
  const decoder = new TextDecoder()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    feed.add(decoder.decode(value, { stream: true }))
  }
  feed.become({ kind: 'ended' })
}

function failed(error: unknown, signal: AbortSignal): StreamState {
  if (signal.aborted) return { kind: 'connecting' }
  const problem: Problem = {
    type: 'about:blank',
    title: 'The text cannot be shown',
    status: 0,
    detail: error instanceof Error ? error.message : String(error),
  }
  return { kind: 'failed', problem }
}
