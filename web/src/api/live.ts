import type { QueryClient, QueryKey } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import { kinds, plurals } from '../kinds'

/** A change that the server publishes. */
export type Change = { kind: string; namespace: string; name: string; deleted?: boolean }

/** Returns the keys of the queries that a change invalidates: the object, and the lists of its resource. */
export function keysOf(change: Change): QueryKey[] {
  const kind = plurals.find((plural) => kinds[plural].kind === change.kind)
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

/** State of the connection: `connecting` at the start, `live`, or `away` when disconnected. */
export type Liveness = 'live' | 'connecting' | 'away'

/** Delay before reconnecting, in milliseconds. */
export const again = [1_000, 2_000, 5_000, 10_000, 30_000]
/**
 * Time without events after which a stream counts as disconnected, in milliseconds. The server sends a heartbeat every 20 seconds;
 * browsers do not report a connection that was lost, for example while a laptop slept.
 */
export const silence = 65_000
/** How long changes that come together are gathered; the server has gathered them before. */
export const gather = 30

type Source = Pick<EventSource, 'addEventListener' | 'close' | 'readyState'>

/** Live subscribes to changes and invalidates the queries that they affect. Inactive queries are fetched when they become active. */
export class Live {
  state: Liveness = 'connecting'
  private source: Source | undefined
  private timer: ReturnType<typeof setTimeout> | undefined
  private watch: ReturnType<typeof setTimeout> | undefined
  private tries = 0
  private missed = false
  private listeners = new Set<() => void>()
  /** The queries that are being fetched, and whether they changed in the meantime. */
  private reading = new Map<string, { old: boolean }>()
  private readonly client: QueryClient
  private readonly open: () => Source
  /** The network of the browser changed: a new stream shows whether the server is reachable. It can be on this machine. */
  private readonly onNetwork = () => {
    if (this.source) this.reconnect(this.source)
  }

  constructor(client: QueryClient, open: () => Source = () => new EventSource('/api/v1/changes')) {
    this.client = client
    this.open = open
  }

  /** Connects, until stop. */
  start(): void {
    if (this.source) return
    for (const event of ['offline', 'online']) window.addEventListener(event, this.onNetwork)
    const source = this.open()
    this.source = source
    const heard = () => {
      clearTimeout(this.watch)
      if (this.source === source) this.watch = setTimeout(() => this.reconnect(source), silence)
    }
    heard()
    for (const event of ['open', 'hello', 'beat', 'change', 'reset', 'error']) source.addEventListener(event, heard)
    let continues = false
    source.addEventListener('hello', () => (continues = true))
    source.addEventListener('open', () => {
      this.tries = 0
      this.become('live')
      // A new stream does not contain the changes since the end of the old one. One that continues does, but what failed meanwhile
      // does not change again by itself.
      void this.client.invalidateQueries(this.missed ? {} : { predicate: (q) => q.state.status === 'error' })
      this.missed = false
    })
    source.addEventListener('change', (event) => {
      const change = readChange((event as MessageEvent<string>).data)
      if (change) for (const key of keysOf(change)) void this.refresh(key)
    })
    source.addEventListener('reset', () => void this.client.invalidateQueries())
    source.addEventListener('error', () => {
      this.become('away')
      // Without the first event there is no ID to continue from.
      if (!continues) this.missed = true
      // The browser reconnects automatically, with the ID of the last event, unless the server rejected it.
      if (source.readyState !== 2) return
      this.missed = true
      source.close()
      this.source = undefined
      clearTimeout(this.watch)
      // The session may have expired: then this opens the sign-in.
      void this.client.invalidateQueries({ queryKey: ['me'] })
      clearTimeout(this.timer)
      this.timer = setTimeout(() => this.start(), again[Math.min(this.tries++, again.length - 1)])
    })
  }

  /** Disconnects. The next start fetches everything, because changes in the meantime are not received. */
  stop(): void {
    for (const event of ['offline', 'online']) window.removeEventListener(event, this.onNetwork)
    clearTimeout(this.timer)
    clearTimeout(this.watch)
    this.source?.close()
    this.source = undefined
    this.tries = 0
    this.missed = true
    this.become('connecting')
  }

  /** Closes a stream that is disconnected, and connects again. */
  private reconnect(source: Source): void {
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

  /** Fetches the queries with the key, and once more at the end if they changed in the meantime, so that frequent changes do not starve a list. */
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

/** The state of the connection. */
export function useLiveness(live: Live): Liveness {
  return useSyncExternalStore(live.subscribe, () => live.state)
}
