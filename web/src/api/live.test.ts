import { QueryClient, QueryObserver } from '@tanstack/react-query'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { again, gather, keysOf, Live, readChange, silence } from './live'

class Source extends EventTarget {
  readyState = 0
  close() {
    this.readyState = 2
  }
  connected() {
    this.readyState = 1
    this.dispatchEvent(new Event('open'))
  }
  send(event: string, data: unknown) {
    this.dispatchEvent(new MessageEvent(event, { data: typeof data === 'string' ? data : JSON.stringify(data) }))
  }
  fail(closed: boolean) {
    this.readyState = closed ? 2 : 0
    this.dispatchEvent(new Event('error'))
  }
}

test('a change invalidates its object and the lists of its type', () => {
  expect(keysOf({ kind: 'Run', namespace: 'shop', name: 'web-1' })).toEqual([
    ['runs', 'shop', 'web-1'],
    ['runs', 'list'],
  ])
  expect(keysOf({ kind: 'Repository', namespace: 'a', name: 'b' })[0]).toEqual(['repositories', 'a', 'b'])
  expect(keysOf({ kind: 'PullRequest', namespace: 'a', name: 'b' })[1]).toEqual(['pullrequests', 'list'])
  expect(keysOf({ kind: 'Secret', namespace: 'a', name: 'b' })).toEqual([])
})

test('an invalid event changes nothing', () => {
  expect(readChange('{"kind":"Stack","namespace":"a","name":"b","deleted":true}')).toEqual({
    kind: 'Stack',
    namespace: 'a',
    name: 'b',
    deleted: true,
  })
  for (const text of ['', '{', 'null', '[]', '7', '{"kind":"Stack"}', '{"kind":"Stack","namespace":1,"name":"b"}']) {
    expect(readChange(text)).toBeUndefined()
  }
})

describe('live', () => {
  let sources: Source[]
  let client: QueryClient
  let live: Live
  const last = () => sources.at(-1)!

  /** Starts an active query, and counts how often it is fetched. */
  const watched = (queryKey: unknown[], read: () => Promise<unknown> = () => Promise.resolve(1)) => {
    const queryFn = vi.fn(read)
    new QueryObserver(client, { queryKey, queryFn, staleTime: Infinity }).subscribe(() => undefined)
    return queryFn
  }

  beforeEach(() => {
    vi.useFakeTimers()
    sources = []
    client = new QueryClient({ defaultOptions: { queries: { retry: false } } })
    live = new Live(client, () => {
      sources.push(new Source())
      return last() as unknown as EventSource
    })
    live.start()
    last().connected()
  })
  afterEach(() => {
    live.stop()
    client.clear()
    vi.useRealTimers()
  })

  test('fetches what changed again, and nothing else', async () => {
    const it = watched(['stacks', 'shop', 'web'])
    const part = watched(['stacks', 'shop', 'web', 'events'])
    const list = watched(['stacks', 'list', {}])
    const other = watched(['stacks', 'shop', 'api'])
    const runs = watched(['runs', 'list', {}])
    await vi.advanceTimersByTimeAsync(0)
    last().send('change', { kind: 'Stack', namespace: 'shop', name: 'web' })
    await vi.advanceTimersByTimeAsync(gather)
    expect([it, part, list, other, runs].map((q) => q.mock.calls.length)).toEqual([2, 2, 2, 1, 1])
  })

  test('many changes at once fetch a list once', async () => {
    const list = watched(['runs', 'list', {}])
    await vi.advanceTimersByTimeAsync(0)
    for (let i = 0; i < 500; i++) last().send('change', { kind: 'Run', namespace: 'shop', name: `web-${i}` })
    await vi.advanceTimersByTimeAsync(gather)
    expect(list).toHaveBeenCalledTimes(2)
  })

  test('a change during a fetch leads to one more fetch', async () => {
    let answer = () => undefined as void
    const list = watched(['runs', 'list', {}], () => new Promise((done) => (answer = () => done(1))))
    await vi.advanceTimersByTimeAsync(0)
    answer()
    await vi.advanceTimersByTimeAsync(0)
    last().send('change', { kind: 'Run', namespace: 'a', name: 'b' })
    await vi.advanceTimersByTimeAsync(gather)
    expect(list).toHaveBeenCalledTimes(2)
    for (let i = 0; i < 5; i++) last().send('change', { kind: 'Run', namespace: 'a', name: 'b' })
    await vi.advanceTimersByTimeAsync(1000)
    expect(list).toHaveBeenCalledTimes(2) // the fetch in progress is not aborted
    answer()
    await vi.advanceTimersByTimeAsync(gather)
    expect(list).toHaveBeenCalledTimes(3)
    answer()
    await vi.advanceTimersByTimeAsync(1000)
    expect(list).toHaveBeenCalledTimes(3)
  })

  test('a change of the network connects again, and fetches everything if the server is reachable', async () => {
    const list = watched(['runs', 'list', {}])
    await vi.advanceTimersByTimeAsync(0)
    window.dispatchEvent(new Event('offline'))
    expect(live.state).toBe('away')
    expect(sources).toHaveLength(2)
    last().connected()
    await vi.advanceTimersByTimeAsync(gather)
    expect(live.state).toBe('live')
    expect(list).toHaveBeenCalledTimes(2)
    live.stop()
    window.dispatchEvent(new Event('online'))
    expect(sources).toHaveLength(2)
  })

  test('a reset invalidates everything', async () => {
    const all = [watched(['me']), watched(['stacks', 'shop', 'web']), watched(['runs', 'list', {}])]
    await vi.advanceTimersByTimeAsync(0)
    last().send('reset', {})
    await vi.advanceTimersByTimeAsync(gather)
    for (const q of all) expect(q).toHaveBeenCalledTimes(2)
  })

  test('reports the interruption while the browser reconnects, without fetching', async () => {
    const list = watched(['runs', 'list', {}])
    await vi.advanceTimersByTimeAsync(0)
    expect(live.state).toBe('live')
    last().send('hello', { name: 'jane' })
    last().fail(false)
    expect(live.state).toBe('away')
    last().connected()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(live.state).toBe('live')
    expect(sources).toHaveLength(1) // the stream resends missed events
    expect(list).toHaveBeenCalledTimes(1)
  })

  test('fetches everything if the first connection fails, because the browser has no event to continue from', async () => {
    const list = watched(['runs', 'list', {}])
    await vi.advanceTimersByTimeAsync(0)
    const fresh = new Live(client, () => {
      sources.push(new Source())
      return last() as unknown as EventSource
    })
    fresh.start()
    last().fail(false)
    last().connected()
    await vi.advanceTimersByTimeAsync(0)
    expect(list).toHaveBeenCalledTimes(2)
    last().send('hello', { name: 'jane' })
    last().fail(false)
    last().connected()
    await vi.advanceTimersByTimeAsync(0)
    expect(list).toHaveBeenCalledTimes(2)
    fresh.stop()
  })

  test('fetches again what failed while the connection was lost', async () => {
    let fails = false
    const failed = watched(['runs', 'shop', 'web-1'], () =>
      fails ? Promise.reject(new Error('unreachable')) : Promise.resolve(1),
    )
    const list = watched(['runs', 'list', {}])
    await vi.advanceTimersByTimeAsync(0)
    last().send('hello', { name: 'jane' })
    fails = true
    last().send('change', { kind: 'Run', namespace: 'shop', name: 'web-1' })
    await vi.advanceTimersByTimeAsync(gather)
    last().fail(false)
    fails = false
    last().connected()
    await vi.advanceTimersByTimeAsync(0)
    expect(failed).toHaveBeenCalledTimes(3)
    expect(list).toHaveBeenCalledTimes(2)
  })

  test('reconnects after a rejection with a growing delay, checks the session, and fetches everything', async () => {
    const list = watched(['runs', 'list', {}])
    const me = watched(['me'])
    await vi.advanceTimersByTimeAsync(0)
    for (const wait of again) {
      last().fail(true)
      const before = sources.length
      await vi.advanceTimersByTimeAsync(wait - 1)
      expect(sources).toHaveLength(before)
      await vi.advanceTimersByTimeAsync(1)
      expect(sources).toHaveLength(before + 1)
    }
    expect(me).toHaveBeenCalledTimes(1 + again.length)
    expect(list).toHaveBeenCalledTimes(1)
    last().connected()
    await vi.advanceTimersByTimeAsync(0)
    expect(list).toHaveBeenCalledTimes(2)
    last().fail(true)
    await vi.advanceTimersByTimeAsync(again[0]!)
    expect(sources).toHaveLength(again.length + 2) // without delay, since the last connection worked
  })

  test('reconnects after a timeout without events, and fetches everything', async () => {
    const list = watched(['runs', 'list', {}])
    for (let i = 0; i < 10; i++) {
      await vi.advanceTimersByTimeAsync(20_000)
      last().send('beat', {})
    }
    expect(sources).toHaveLength(1)
    const first = last()
    await vi.advanceTimersByTimeAsync(silence)
    expect(live.state).toBe('away')
    expect(first.readyState).toBe(2)
    expect(sources).toHaveLength(2)
    expect(list).toHaveBeenCalledTimes(1)
    last().connected()
    await vi.advanceTimersByTimeAsync(0)
    expect(live.state).toBe('live')
    expect(list).toHaveBeenCalledTimes(2)
    live.stop()
    await vi.advanceTimersByTimeAsync(10 * silence)
    expect(sources).toHaveLength(2)
  })

  test('fetches everything again when it continues after a stop', async () => {
    const list = watched(['runs', 'list', {}])
    await vi.advanceTimersByTimeAsync(0)
    const first = last()
    live.stop()
    expect(first.readyState).toBe(2)
    live.start()
    last().connected()
    await vi.advanceTimersByTimeAsync(0)
    expect(list).toHaveBeenCalledTimes(2)
  })
})
