import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, test } from 'vitest'
import { showApp } from '../test/app'
import { aStack } from '../test/rows'

const list = (body: object = {}) => ({ body: { items: [aStack()], total: 1, ...body } })
const facet = (field: string, values: [string, number][], more = 0) =>
  list({ facets: [{ field, values: values.map(([value, count]) => ({ value, count })), more }] })

test('a filter shows the values that the server counts, and is in the URL', async () => {
  const { asked, router } = showApp('/stacks?ready=False&sort=-changed&group=namespace', {
    '/api/v1/stacks': list(),
    '/api/v1/stacks?ready=False&facet=label&limit=1': facet(
      'label',
      [
        ['team=data', 1234],
        ['team=web', 5],
      ],
      17,
    ),
    '/api/v1/stacks?ready=False&label=team%3Dweb&facet=label&limit=1': facet('label', [['team=web', 5]]),
  })
  const user = userEvent.setup()
  await user.click(await screen.findByRole('button', { name: 'Label' }))
  const menu = await screen.findByRole('dialog', { name: 'Label' })
  expect((await within(menu).findByText('team=data')).parentElement).toHaveTextContent('team=data1,234')
  expect(menu).toHaveTextContent('17 more values: type one to add it')
  // Nothing is counted before it is asked for.
  expect(asked.filter((a) => a.path.includes('facet='))).toHaveLength(1)
  await user.click(within(menu).getByRole('checkbox', { name: /team=web/ }))
  await waitFor(() => expect(router.state.location.searchStr).toContain('label=team%3Dweb'))
  const field = within(menu).getByRole('textbox', { name: 'Find in Label' })
  await user.type(field, 'env')
  expect(within(menu).queryByRole('button', { name: 'Add' })).toBeNull() // no key=value yet
  await user.type(field, '=prod{Enter}')
  await waitFor(() => expect(router.state.location.searchStr).toContain('label=env%3Dprod'))
})

test('Stacks are grouped by a label, and a group is collapsed', async () => {
  const groups = (rows: number) => [
    { value: 'data', count: 2, notReady: 1, rows },
    { value: '', count: 1, rows: 1 },
  ]
  const stacks = ['s1', 's2', 's3'].map((name) => aStack({ name, uid: name }))
  const { asked } = showApp('/stacks?group=label:team', {
    '/api/v1/stacks': { body: { items: stacks, total: 3, groups: groups(2) } },
  })
  const user = userEvent.setup()
  const head = await screen.findByRole('button', { name: /^team: ?data\s*2\s*1 not ready/ })
  expect(asked.some((a) => a.path === '/api/v1/stacks?limit=100&group=label%3Ateam')).toBe(true)
  expect(screen.getByRole('button', { name: 'without team 1' })).toHaveAttribute('aria-expanded', 'true')
  const names = () => screen.getAllByRole('link', { name: /^shop\// }).map((l) => l.textContent)
  expect(names()).toEqual(['shop/s1', 'shop/s2', 'shop/s3'])
  await user.click(head)
  expect(head).toHaveAttribute('aria-expanded', 'false')
  expect(names()).toEqual(['shop/s3'])
  await user.click(head)
  expect(names()).toEqual(['shop/s1', 'shop/s2', 'shop/s3'])
})
