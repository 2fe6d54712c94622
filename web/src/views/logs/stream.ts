import { createParser } from 'eventsource-parser'
import type { Problem } from '../../api/client'
import { isForeign, problemOf } from '../../api/client'
import { silence } from '../../api/live'

/** The state of the stream of a log. */
export type StreamState =
  | { kind: 'connecting' }
  | { kind: 'live' }
  | { kind: 'waiting'; detail: string }
  | { kind: 'ended' }
  | { kind: 'failed'; problem: Problem }

export type Options = {
  /** Takes the next text, and the offset that it leads to. */
  onText: (text: string, offset: string) => void
  onState: (state: StreamState) => void
  /** Where to begin: an offset that a text led to. */
  from?: string
  fetch?: typeof fetch
  /** Waits before the next try; it ends early when the reader leaves. */
  wait?: (milliseconds: number, signal: AbortSignal) => Promise<void>
}

/** Delay after one, two, ... attempts without data. */
const waits = [250, 500, 1_000, 2_000, 5_000, 10_000]

/** Answers that may be otherwise when it is asked again. */
const passing = (status: number) => status === 408 || status === 429 || status >= 500

/**
 * Reads a log until it ends. A stream that is interrupted, as by a restart of the server, continues where it was: the ID of an event
 * is the offset that it leads to. The returned function ends it.
 */
export function followLog(path: string, options: Options): () => void {
  const leave = new AbortController()
  void follow(path, { ...options, signal: leave.signal }).catch((error: unknown) => {
    if (leave.signal.aborted) return
    const detail = error instanceof Error ? error.message : String(error)
    options.onState({
      kind: 'failed',
      problem: { type: 'about:blank', title: 'The log cannot be shown', status: 0, detail },
    })
  })
  return () => leave.abort()
}

async function follow(path: string, o: Options & { signal: AbortSignal }): Promise<void> {
  const get = o.fetch ?? fetch
  const wait = o.wait ?? pause
  let offset = o.from ?? '0'
  o.onState({ kind: 'connecting' })
  for (let tries = 0; !o.signal.aborted; tries++) {
    let detail = 'The connection to the server is lost'
    try {
      const answer = await get(`${path}${path.includes('?') ? '&' : '?'}follow=true&offset=${offset}`, {
        headers: { accept: 'text/event-stream' },
        signal: o.signal,
      })
      if (!answer.ok || isForeign(answer) || !answer.body) {
        const problem = await problemOf(answer)
        if (!passing(answer.status)) return o.onState({ kind: 'failed', problem })
        detail = problem.detail
      } else {
        o.onState({ kind: 'live' })
        const end = await read(answer.body, (text, id) => {
          tries = 0
          offset = id
          o.onText(text, id)
        })
        if (end) return o.onState({ kind: 'ended' })
      }
    } catch {
      // The network, or the server in the middle of an answer: what comes after the offset is asked for again.
    }
    if (o.signal.aborted) return
    o.onState({ kind: 'waiting', detail })
    await wait(waits[Math.min(tries, waits.length - 1)] ?? 0, o.signal)
  }
}

/** Reads the events of one response, and returns whether the log ended. */
async function read(body: ReadableStream<Uint8Array>, take: (text: string, id: string) => void): Promise<boolean> {
  let end = false
  const parser = createParser({
    onEvent: ({ event, data, id }) => {
      if (event === 'end') end = true
      else if (event === 'log' && id !== undefined) take((JSON.parse(data) as { text: string }).text, id)
    },
  })
  const reader = body.getReader()
  const decoder = new TextDecoder()
  try {
    while (!end) {
      const { done, value } = await heard(reader.read())
      if (done) break
      parser.feed(decoder.decode(value, { stream: true }))
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
  return end
}

/** Waits for what is to come, as long as a stream that lives is silent at most. */
function heard<T>(next: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('no data is received')), silence)
    next.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, milliseconds)
    function done() {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      window.removeEventListener('online', done)
      resolve()
    }
    signal.addEventListener('abort', done)
    window.addEventListener('online', done)
  })
}
