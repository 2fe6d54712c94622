import { describe, expect, it } from 'vitest'
import { extended, formatRange, parseRange } from './range'
import { highlight, LogSearch } from './search'
import { LogStore } from './store'

const lines = (store: LogStore) => Array.from({ length: store.kept }, (_, i) => store.line(store.first + i))

describe('the lines of a log', () => {
  it('are assembled from chunks of any size', () => {
    const store = new LogStore()
    for (const piece of ['a', 'b\nc', '\r', '\n\n', 'd']) store.add(piece)
    expect(lines(store)).toEqual(['ab', 'c', '', 'd'])
    store.add('e\n')
    store.add('f')
    expect(lines(store)).toEqual(['ab', 'c', '', 'de', 'f'])
    expect(store.total).toBe(5)
  })
  it('are in sections that start with a step', () => {
    const store = new LogStore()
    store.add('── init ──\nx\n── pl')
    store.add('an ──\n── <script> ──\n')
    expect(store.sections).toEqual([
      { line: 1, step: 'init' },
      { line: 3, step: 'plan' },
    ])
  })
  it('are bounded: the oldest are dropped, and the line numbers remain', () => {
    const store = new LogStore({ lines: 100, characters: 1e9 })
    for (let i = 1; i <= 1_000; i++) store.add(i % 50 === 0 ? '── plan ──\n' : `line ${i}\n`)
    expect(store.kept).toBeLessThanOrEqual(100)
    expect(store.total).toBe(1_000)
    expect(store.line(999)).toBe('line 999')
    expect(store.line(1)).toBeUndefined()
    expect(store.sections.every((s) => s.line >= store.first && store.line(s.line) === '── plan ──')).toBe(true)
  })
  it('are truncated where they are long', () => {
    const store = new LogStore({ lines: 1e6, characters: 10_000 })
    for (let i = 0; i < 100; i++) store.add('x'.repeat(999) + '\n')
    expect(store.kept).toBeLessThanOrEqual(10)
    expect(store.total).toBe(100)
  })
  it('do not grow with a line without an end', () => {
    const store = new LogStore({ lines: 10, characters: 10_000 })
    for (let i = 0; i < 1_000; i++) store.add('x'.repeat(1_000))
    store.add('\nnext\n')
    expect(store.total).toBe(2)
    expect(store.line(1)?.length ?? 0).toBeLessThanOrEqual(10_000)
    expect(store.line(2)).toBe('next')
  })
})

describe('the search in a log', () => {
  const search = (wanted: string, text: string, ended = true) => {
    const store = new LogStore()
    store.add(text)
    const s = new LogSearch(wanted)
    while (s.scan(store, ended));
    return s
  }
  it('ignores case and colors', () => {
    const s = search('error', 'ok\nERROR 1\nan er\x1b[31mror\n')
    expect(s.matches).toEqual([2, 3])
    expect(s.from(3)).toBe(1)
    expect(s.from(4)).toBe(0)
  })
  it('continues with new lines, once they are complete', () => {
    const store = new LogStore()
    const s = new LogSearch('b')
    store.add('a\nb')
    s.scan(store, false)
    expect(s.matches).toEqual([])
    store.add('b\nb\n')
    s.scan(store, true)
    expect(s.matches).toEqual([2, 3])
  })
  it('processes lines in batches', () => {
    const store = new LogStore()
    store.add('x\n'.repeat(50_000))
    const s = new LogSearch('y')
    expect([s.scan(store, true), s.scan(store, true), s.scan(store, true)]).toEqual([true, true, false])
  })
  it('splits a line at its matches', () => {
    expect(highlight('An Error: error', 'error')).toEqual([
      { text: 'An ', hit: false },
      { text: 'Error', hit: true },
      { text: ': ', hit: false },
      { text: 'error', hit: true },
    ])
    expect(highlight('İx', 'x')).toEqual([{ text: 'İx', hit: false }])
  })
})

describe('links to lines', () => {
  it('name a line or a range', () => {
    expect(parseRange('L12')).toEqual({ from: 12, to: 12 })
    expect(parseRange('#L20-L3')).toEqual({ from: 3, to: 20 })
    for (const none of ['', 'x', 'L0', 'L1-', 'L1x', 'L99999999999']) expect(parseRange(none)).toBeUndefined()
    expect(formatRange({ from: 3, to: 20 })).toBe('L3-L20')
    expect(formatRange({ from: 3, to: 3 })).toBe('L3')
  })
  it('extend the range with shift', () => {
    expect(extended(undefined, 5, true)).toEqual({ from: 5, to: 5 })
    expect(extended({ from: 5, to: 5 }, 9, true)).toEqual({ from: 5, to: 9 })
    expect(extended({ from: 5, to: 5 }, 2, true)).toEqual({ from: 2, to: 5 })
    expect(extended({ from: 5, to: 5 }, 9, false)).toEqual({ from: 9, to: 9 })
  })
})
