import type { QueryClient, QueryKey } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import type { Plural } from './client'

/** A change that the server tells of. */
export type Change = { kind: string; namespace: string; name: string; deleted?: boolean }

const plurals: Record<string, Plural> = { Stack: 'stacks', Run: 'runs', Repository: 'repositories', State: 'states' }

/** The keys of the queries that a change makes old: those of the object, and the lists of its kind. */
export function keysOf(change: Change): QueryKey[] {
  const kind = plurals[change.kind]
  if (!kind) return []
  return [
    [kind, change.namespace, change.name],
    [kind, 'list'],
  ]
}

/** Reads a change from the text of an event; undefined when it is none. */
export function readChange(text: string): Change | undefined {
  try {
    const c = JSON.parse(text) as Partial<Change> | null
    if (typeof c?.kind !== 'string' || typeof c.namespace !== 'string' || typeof c.name !== 'string') return undefined
    return { kind: c.kind, namespace: c.namespace, name: c.name, deleted: c.deleted === true }
  } catch {
    return undefined
  }
}

/** What is shown of the connection: `live`, `connecting` at the beginning, `away` when changes are not heard of. */
export type Liveness = 'live' | 'connecting' | 'away'

/** How long is waited before connecting again, in milliseconds. */
export const again = [1_000, 2_000, 5_000, 10_000, 30_000]
/**
 * How long a stream may say nothing before it is taken for dead, in milliseconds. The server says every 20 seconds that it lives; of a
 * connection that was lost on the way, as by a laptop that slept, no browser tells.
 */
export const silence = 65_000
/** How long changes that come together are gathered; the server has gathered them before. */
export const gather = 30

type Source = Pick<EventSource, 'addEventListener' | 'close' | 'readyState'>

/** Live hears of changes, and has what they make old read anew. What nobody looks at is read when somebody does. */
export class Live {
  state: Liveness = 'connecting'
  private source: Source | undefined
  private timer: ReturnType<typeof setTimeout> | undefined
  private watch: ReturnType<typeof setTimeout> | undefined
  private tries = 0
  private missed = false
  private listeners = new Set<() => void>()
  /** What is being read anew, and whether it is old again meanwhile. */
  private reading = new Map<string, { old: boolean }>()
  private readonly client: QueryClient
  private readonly open: () => Source

  constructor(client: QueryClient, open: () => Source = () => new EventSource('/api/v1/changes')) {
    this.client = client
    this.open = open
  }

  /** Connects, until stop. */
  start(): void {
    if (this.source) return
    const source = this.open()
    this.source = source
    const heard = () => {
      clearTimeout(this.watch)
      if (this.source === source) this.watch = setTimeout(() => this.anew(source), silence)
    }
    heard()
    for (const event of ['open', 'hello', 'beat', 'change', 'reset', 'error']) source.addEventListener(event, heard)
    source.addEventListener('open', () => {
      this.tries = 0
      this.become('live')
      // A new stream does not know what the old one had told.
      if (this.missed) void this.client.invalidateQueries()
      this.missed = false
    })
    source.addEventListener('change', (event) => {
      const change = readChange((event as MessageEvent<string>).data)
      if (change) for (const key of keysOf(change)) void this.refresh(key)
    })
    source.addEventListener('reset', () => void this.client.invalidateQueries())
    source.addEventListener('error', () => {
      this.become('away')
      // The browser comes back by itself, with its place, unless it was told off.
      if (source.readyState !== 2) return
      this.missed = true
      source.close()
      this.source = undefined
      clearTimeout(this.watch)
      // It may be that nobody is signed in any more: then this sends to the sign-in.
      void this.client.invalidateQueries({ queryKey: ['me'] })
      clearTimeout(this.timer)
      this.timer = setTimeout(() => this.start(), again[Math.min(this.tries++, again.length - 1)])
    })
  }

  /** Disconnects. What changes until the next start is not heard of, so all is read anew then. */
  stop(): void {
    clearTimeout(this.timer)
    clearTimeout(this.watch)
    this.source?.close()
    this.source = undefined
    this.tries = 0
    this.missed = true
    this.become('connecting')
  }

  /** Gives a stream up that is dead, and connects again. */
  private anew(source: Source): void {
    source.close()
    this.source = undefined
    this.missed = true
    this.become('away')
    this.start()
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  /** Reads what has the key anew; once more at the end if it changed meanwhile, so that a stream of changes never starves a list. */
  private async refresh(queryKey: QueryKey): Promise<void> {
    const id = JSON.stringify(queryKey)
    const at = this.reading.get(id)
    if (at) {
      at.old = true
      return
    }
    const now = { old: true }
    this.reading.set(id, now)
    await new Promise((done) => setTimeout(done, gather))
    while (now.old) {
      now.old = false
      await this.client.invalidateQueries({ queryKey })
    }
    this.reading.delete(id)
  }

  private become(state: Liveness): void {
    if (state === this.state) return
    this.state = state
    for (const listener of this.listeners) listener()
  }
}

/** Whether the page hears of changes. */
export function useLiveness(live: Live): Liveness {
  return useSyncExternalStore(live.subscribe, () => live.state)
}
