import { act, fireEvent, render, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, test, vi } from 'vitest'
import { problem, showApp } from '../test/app'
import { aStack } from '../test/rows'
import { Search } from './Search'
import { flip } from './sort'

const page = (from: number, to: number, total: number, next?: string) => ({
  items: Array.from({ length: to - from }, (_, i) => aStack({ name: `s${from + i}`, uid: `u${from + i}` })),
  total,
  ...(next && { next }),
})

test('of 10,000 rows only the visible ones are rendered, and more are fetched while scrolling', async () => {
  const { asked } = showApp('/stacks', {
    '/api/v1/stacks?limit=100': { body: page(0, 100, 10_000, 'two') },
    '/api/v1/stacks?limit=500&after=two': { body: page(100, 600, 10_000, 'three') },
  })
  const table = await screen.findByRole('table', { name: 'Stacks' })
  expect(table).toHaveAttribute('aria-rowcount', '10001')
  const rows = within(table).getAllByRole('row')
  expect(rows.length).toBeGreaterThan(10)
  expect(rows.length).toBeLessThan(60)
  expect(screen.getByText(/10,000 rows, 100 of them here/)).toBeInTheDocument()
  const box = table.parentElement!
  Object.defineProperty(box, 'scrollTop', { value: 3500, configurable: true })
  fireEvent.scroll(box)
  await waitFor(() => expect(screen.getByText(/600 of them here/)).toBeInTheDocument())
  expect(asked.filter((a) => a.path.includes('after=')).map((a) => a.path)).toEqual([
    '/api/v1/stacks?limit=500&after=two',
  ])
})

test('a change while more rows are fetched is shown', async () => {
  let first = page(0, 100, 10_000, 'two')
  const { asked, context } = showApp('/stacks', {
    '/api/v1/stacks?limit=100': () => new Promise((done) => setTimeout(() => done({ body: first }), 200)),
    '/api/v1/stacks?limit=500&after=two': () => new Promise<never>(() => undefined),
  })
  const box = (await screen.findByRole('table', { name: 'Stacks' })).parentElement!
  const scroll = (to: number) => {
    Object.defineProperty(box, 'scrollTop', { value: to, configurable: true })
    fireEvent.scroll(box)
  }
  scroll(3500)
  const more = (times: number) =>
    waitFor(() => expect(asked.filter((a) => a.path.includes('after=two'))).toHaveLength(times))
  await more(1)
  first = { ...first, items: first.items.map((s) => ({ ...s, message: 'it has changed' })) }
  await act(() => Promise.resolve(void context.client.invalidateQueries({ queryKey: ['stacks', 'list'] })))
  await more(2)
  scroll(0)
  expect(await screen.findAllByText('it has changed')).not.toHaveLength(0)
})

test('j, k and the arrows move between rows, Enter opens one', async () => {
  const { router } = showApp('/stacks', { '/api/v1/stacks?limit=100': { body: page(0, 3, 3) } })
  await screen.findByText('s0')
  const user = userEvent.setup()
  const focused = () => document.activeElement?.textContent
  await user.keyboard('j')
  await waitFor(() => expect(focused()).toBe('shop/s0'))
  await user.keyboard('j')
  await waitFor(() => expect(focused()).toBe('shop/s1'))
  await user.keyboard('{ArrowDown}')
  await waitFor(() => expect(focused()).toBe('shop/s2'))
  await user.keyboard('j')
  expect(focused()).toBe('shop/s2')
  await user.keyboard('k')
  await waitFor(() => expect(focused()).toBe('shop/s1'))
  await user.keyboard('{Enter}')
  await waitFor(() => expect(router.state.location.pathname).toBe('/stacks/shop/s1'))
})

test('search, filters and sort order are in the URL and the request', async () => {
  const { router, asked } = showApp('/stacks?ready=False', { '/api/v1/stacks': { body: page(0, 2, 2) } })
  const user = userEvent.setup()
  await screen.findByText('s0')
  expect(asked.some((a) => a.path === '/api/v1/stacks?limit=100&ready=False')).toBe(true)
  await user.keyboard('/')
  await user.keyboard('eu')
  await waitFor(() => expect(router.state.location.searchStr).toBe('?ready=False&q=eu'))
  await user.click(screen.getByRole('button', { name: 'Drifted' }))
  await user.click(screen.getByRole('button', { name: 'Since' }))
  await waitFor(() => expect(router.state.location.searchStr).toBe('?ready=False&q=eu&drifted=true&sort=changed'))
  expect(screen.getByRole('columnheader', { name: 'Since' })).toHaveAttribute('aria-sort', 'ascending')
  await waitFor(() =>
    expect(asked.at(-1)?.path).toBe('/api/v1/stacks?limit=100&ready=False&q=eu&drifted=true&sort=changed'),
  )
  await user.click(screen.getByRole('button', { name: 'Clear' }))
  await waitFor(() => expect(router.state.location.searchStr).toBe('?sort=changed'))
  expect(screen.getByRole('searchbox')).toHaveValue('')
})

test('values of the API are shown as text', async () => {
  const message = '<img src=x onerror=alert(1)>\u202Eevil'
  const { container } = showApp('/stacks', { '/api/v1/stacks': { body: { items: [aStack({ message })], total: 1 } } })
  expect(await screen.findByText('<img src=x onerror=alert(1)>\\u202eevil')).toBeInTheDocument()
  expect(container.querySelector('img')).toBeNull()
})

test('a list that is denied shows the reason', async () => {
  showApp('/stacks', { '/api/v1/stacks': problem(403, 'jane may not list stacks: a role has to allow it') })
  expect(await screen.findByText('jane may not list stacks: a role has to allow it')).toBeInTheDocument()
  expect(screen.getByRole('button', { name: 'Try again' })).toBeInTheDocument()
})

test('a column header sorts in ascending, then in descending order', () => {
  expect([flip(undefined, 'name'), flip('name', 'name'), flip('-name', 'name'), flip('name', 'changed')]).toEqual([
    'name',
    '-name',
    'name',
    'changed',
  ])
})

test('the search field reports its value after a delay, and follows the URL', () => {
  vi.useFakeTimers()
  try {
    const onChange = vi.fn()
    const { rerender } = render(<Search label="Search" value="" onChange={onChange} />)
    const field = screen.getByRole('searchbox')
    fireEvent.change(field, { target: { value: 'a' } })
    fireEvent.change(field, { target: { value: 'ab' } })
    expect(onChange).not.toHaveBeenCalled()
    act(() => void vi.advanceTimersByTime(200))
    expect(onChange.mock.calls).toEqual([['ab']])
    fireEvent.change(field, { target: { value: 'abc' } })
    rerender(<Search label="Search" value="ab" onChange={onChange} />)
    expect(field).toHaveValue('abc') // what was typed meanwhile is not lost
    rerender(<Search label="Search" value="other" onChange={onChange} />)
    expect(field).toHaveValue('other')
  } finally {
    vi.useRealTimers()
  }
})
