import { describe, expect, it, vi } from 'vitest'
import type { StreamState } from './stream'
import { followLog } from './stream'

const log = (id: number, text: string) => `id: ${id}\nevent: log\ndata: ${JSON.stringify({ text })}\n\n`
const end = 'event: end\ndata: {}\n\n'

/** A response whose body ends with an error if requested. */
function answer(pieces: (string | Error)[]): Response {
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const next = pieces.shift()
      if (next === undefined) controller.close()
      else if (next instanceof Error) controller.error(next)
      else controller.enqueue(encoder.encode(next))
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

function problem(status: number, detail: string): Response {
  return new Response(JSON.stringify({ title: 'No', status, detail }), {
    status,
    headers: { 'content-type': 'application/problem+json' },
  })
}

/** Follows a log whose server answers in turn, until it ends or fails. */
function follow(answers: (Response | Error)[]) {
  const asked: string[] = []
  const states: StreamState[] = []
  let text = ''
  return new Promise<{ asked: string[]; states: StreamState[]; text: string; waits: number[] }>((resolve) => {
    const waits: number[] = []
    followLog('/log', {
      onText: (t) => (text += t),
      onState: (s) => {
        states.push(s)
        if (s.kind === 'ended' || s.kind === 'failed') resolve({ asked, states, text, waits })
      },
      fetch: (input) => {
        asked.push(input as string)
        const next = answers.shift() ?? problem(404, 'asked too often')
        return next instanceof Error ? Promise.reject(next) : Promise.resolve(next)
      },
      wait: (milliseconds) => {
        waits.push(milliseconds)
        return Promise.resolve()
      },
    })
  })
}

describe('the stream of a log', () => {
  it('is read to its end, in chunks of any size', async () => {
    const all = log(4, '── i') + log(10, 'nit\n') + end
    const got = await follow([answer([...all])])
    expect(got.text).toBe('── init\n')
    expect(got.asked).toEqual(['/log?follow=true&offset=0'])
    expect(got.states.map((s) => s.kind)).toEqual(['connecting', 'live', 'ended'])
  })
  it('continues at the same offset after a restart of the server', async () => {
    const got = await follow([
      answer([log(3, 'one'), new Error('cut off')]),
      new Error('refused'),
      problem(503, 'The server has just begun; ask again'),
      answer([log(6, 'two')]), // without an end event
      answer([log(11, 'three'), end]),
    ])
    expect(got.text).toBe('onetwothree')
    expect(got.asked.map((a) => a.split('offset=')[1])).toEqual(['0', '3', '3', '3', '6'])
    expect(got.states).toContainEqual({ kind: 'waiting', detail: 'The server has just begun; ask again' })
    expect(got.states.at(-1)).toEqual({ kind: 'ended' })
    // The delay grows, and is reset by data.
    expect(got.waits).toEqual([250, 500, 1_000, 250])
  })
  it('ignores an event that was cut off', async () => {
    const got = await follow([answer([log(3, 'one') + log(6, 'two').slice(0, -5)]), answer([log(6, 'two'), end])])
    expect(got.text).toBe('onetwo')
  })
  it('is requested again after a timeout without data', async () => {
    vi.useFakeTimers()
    const lives = ':\n\n'
    let send: (text: string) => void = () => undefined
    const body = new ReadableStream<Uint8Array>({
      start: (c) => (send = (text) => c.enqueue(new TextEncoder().encode(text))),
    })
    const asked: string[] = []
    const states: string[] = []
    const leave = followLog('/log', {
      onText: () => undefined,
      onState: (s) => states.push(s.kind),
      fetch: (path) => {
        asked.push(path as string)
        return Promise.resolve(asked.length === 1 ? new Response(body) : answer([end]))
      },
      wait: () => Promise.resolve(),
    })
    await vi.advanceTimersByTimeAsync(0)
    send(log(3, 'one'))
    for (let i = 0; i < 10; i++) {
      await vi.advanceTimersByTimeAsync(20_000)
      send(lives)
    }
    expect(asked).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(65_000)
    expect(asked.map((a) => a.split('offset=')[1])).toEqual(['0', '3'])
    expect(states).toEqual(['connecting', 'live', 'waiting', 'live', 'ended'])
    leave()
    vi.useRealTimers()
  })
  it('explains what to do if a retry does not help', async () => {
    const got = await follow([problem(403, 'a role has to allow verb "get" on runs/logs')])
    expect(got.states.at(-1)).toMatchObject({
      kind: 'failed',
      problem: { status: 403, detail: 'a role has to allow verb "get" on runs/logs' },
    })
    expect(got.asked).toHaveLength(1)
  })
})
