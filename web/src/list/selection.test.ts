import { act, renderHook } from '@testing-library/react'
import { expect, test } from 'vitest'
import { aStack } from '../test/rows'
import { mostSelected, useSelection } from './selection'

const rows = Array.from({ length: mostSelected + 20 }, (_, i) => aStack({ name: `s${i}` }))

function select() {
  const { result, rerender } = renderHook(({ filters }) => useSelection(filters), { initialProps: { filters: {} } })
  const names = () => [...result.current.chosen.values()].map((r) => r.name).join(' ')
  const choose = (at: number, on = true, range = false) => act(() => result.current.choose(rows, at, on, range))
  return { result, rerender, names, choose }
}

test('a range is from the row that was selected before, in both directions', () => {
  const { names, choose } = select()
  choose(3)
  choose(5, true, true)
  expect(names()).toBe('s3 s4 s5')
  choose(2, true, true)
  expect(names()).toBe('s3 s4 s5 s2')
  choose(4, false, true)
  expect(names()).toBe('s5')
})

test('no more than 100 rows are selected', () => {
  const { result, names, choose } = select()
  choose(0)
  choose(mostSelected + 10, true, true)
  expect(result.current.chosen.size).toBe(mostSelected)
  expect(names()).toMatch(/s98 s99$/)
  choose(0, false)
  expect(result.current.chosen.size).toBe(mostSelected - 1)
})

test('other filters clear the selection', () => {
  const { rerender, names, choose } = select()
  choose(1)
  rerender({ filters: {} })
  expect(names()).toBe('s1')
  rerender({ filters: { q: 'x' } })
  expect(names()).toBe('')
})
