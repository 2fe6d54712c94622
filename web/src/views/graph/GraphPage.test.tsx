import { fireEvent, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, test, vi } from 'vitest'
import { showApp } from '../../test/app'
import { aStack } from '../../test/rows'

// jsdom has no workers, and lays nothing out.
vi.mock('./elk', () => ({
  layout: (ids: string[]) => Promise.resolve(new Map(ids.map((id, i) => [id, { x: 0, y: i * 60 }]))),
}))
vi.stubGlobal(
  'ResizeObserver',
  class {
    observe = () => undefined
    unobserve = () => undefined
    disconnect = () => undefined
  },
)
vi.stubGlobal(
  'DOMMatrixReadOnly',
  class {
    m22 = 1
  },
)

Object.assign(SVGElement.prototype, { getBBox: () => ({ x: 0, y: 0, width: 0, height: 0 }) })

const net = aStack({ name: 'net', labels: ['team=base'] })
const web = aStack({
  uses: ['net', 'gone'],
  usedOutputs: [{ stack: 'net', output: 'id', variable: 'vpc' }],
  labels: ['team=shop'],
})
const mail = aStack({ name: 'mail', namespace: 'post', labels: ['team=shop'] })
const show = (at: string) => {
  const items = [net, web, mail]
  return showApp(at, {
    '/api/v1/stacks?limit=1': { body: { items: [net], total: items.length } },
    '/api/v1/stacks?limit=500': { body: { items, total: items.length } },
  })
}
const listed = async () => {
  const list = await screen.findByRole('list', { name: /^Stacks by layer/ })
  return within(list)
    .getAllByRole('listitem')
    .map((li) => li.textContent)
}
const node = (name: RegExp) => screen.findByRole('button', { name })

test('the list has the Stacks by layer with their outputs', async () => {
  show('/graph?view=list')
  expect(await listed()).toEqual([
    'Layer 1 (2)goneNot foundrequired by webFocus',
    'netAppliedrequired by webFocus',
    'Layer 2 (1)webApplieddepends on net (id → var.vpc), gone (order only)Focus',
    'No dependencies (1)mailAppliedhas no dependenciesFocus',
  ])
  expect(screen.queryByRole('group', { name: /^Stacks and their dependencies/ })).not.toBeInTheDocument()
})

test('a node has its dependencies in its name, and is focused with the keyboard', async () => {
  const { router } = show('/graph')
  const user = userEvent.setup()
  const web = await node(/^web shop · Applied, depends on net \(id → var.vpc\), gone \(order only\)$/)
  expect(await node(/^gone shop · Not found, required by web$/)).toBeInTheDocument()
  web.focus()
  await user.keyboard('{Enter}')
  await waitFor(() => expect(router.state.location.search).toEqual({ focus: 'shop/web' }))
})

test('a group has the numbers of its Stacks, and is expanded by the address', async () => {
  const { router } = show('/graph?alone=true&group=label:team')
  const user = userEvent.setup()
  fireEvent.click(await node(/^shop \(2\) 2 ready, expands$/))
  await waitFor(() => expect(router.state.location.search).toMatchObject({ open: 'shop' }))
  expect(await node(/^mail post · Applied/)).toBeInTheDocument()
  await user.click(screen.getByRole('button', { name: 'Collapse shop' }))
  expect(await node(/^shop \(2\)/)).toBeInTheDocument()
})

test('a search lists what matches and highlights it', async () => {
  show('/graph?q=gone')
  expect(await listed()).toEqual(['Layer 1 (1)goneNot foundrequired by webFocus'])
  expect(screen.getByText('3 drawn, 1 listed, 1 highlighted')).toBeInTheDocument()
})
