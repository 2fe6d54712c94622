import { describe, expect, test } from 'vitest'
import { linesOf } from './lines'

const group = (value: string, count: number, rows: number) => ({ value, count, rows })
/** The lines as text: > before a group. */
const text = (pages: Parameters<typeof linesOf<string>>[0], collapsed: string[] = []) => {
  const { rows, lines, incomplete } = linesOf(pages, collapsed)
  return [lines.map((l) => (typeof l === 'number' ? rows[l] : `>${l.value}:${l.count}`)).join(' '), incomplete]
}

describe('the lines of a list', () => {
  test('without groups are its rows', () => {
    expect(text([{ items: ['a', 'b'] }, { items: ['c'] }, {}])).toEqual(['a b c', false])
  })
  test('have a group before its rows, also where it continues on the next page', () => {
    const pages = [
      { items: ['a', 'b'], groups: [group('x', 3, 2)] },
      { items: ['c', 'd'], groups: [group('x', 3, 1), group('y', 1, 1)] },
    ]
    expect(text(pages)).toEqual(['>x:3 a b c >y:1 d', false])
    expect(text(pages.slice(0, 1))).toEqual(['>x:3 a b', false]) // more rows come
    expect(text(pages, ['x'])).toEqual(['>x:3 >y:1 d', false])
  })
  test('are incomplete if a group was collapsed when the page was fetched', () => {
    const pages = [{ items: ['d'], groups: [group('x', 3, 0), group('y', 1, 1)] }]
    expect(text(pages, ['x'])).toEqual(['>x:3 >y:1 d', false])
    expect(text(pages)).toEqual(['>x:3 >y:1 d', true])
  })
})
