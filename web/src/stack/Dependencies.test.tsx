import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, test } from 'vitest'
import { problem, showApp } from '../test/app'
import { aStack } from '../test/rows'

const metadata = { name: 'web', namespace: 'shop', uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' }
const spec = { apply: 'Manual', deletionPolicy: 'Destroy', engine: { name: 'OpenTofu' }, source: { inline: {} } }
const web = aStack({
  uses: ['net', 'gone'],
  usedOutputs: [{ stack: 'net', output: 'vpc_id', variable: 'vpc' }],
})
const mail = aStack({ name: 'mail', uses: ['web'], usedOutputs: [{ stack: 'web', output: 'url', variable: 'url' }] })
const show = (stacks: object) =>
  showApp('/stacks/shop/web?tab=dependencies', {
    '/api/v1/namespaces/shop/stacks/web': { body: { row: web, object: { metadata, spec } } },
    '/api/v1/stacks?namespace=shop&limit=500': stacks,
  })
const rowsOf = async (title: string) => {
  const section = (await screen.findByRole('heading', { name: title })).closest('section')!
  return within(section)
    .queryAllByRole('listitem')
    .map((li) => li.textContent)
}

test('the dependencies of a Stack have their outputs, and what is not found', async () => {
  show({ body: { items: [web, aStack({ name: 'net' }), mail], total: 3 } })
  expect(await rowsOf('Depends on')).toEqual([
    'netAppliedall is as declaredvpc_id → var.vpc',
    'goneNot foundorder only',
  ])
  expect(await rowsOf('Required by')).toEqual(['mailAppliedall is as declaredurl'])
  expect(await rowsOf('Before a destroy')).toEqual(['mail'])
  expect(screen.getByRole('link', { name: 'net' })).toBeInTheDocument()
  expect(screen.queryByRole('link', { name: 'gone' })).not.toBeInTheDocument()
})

test('a dependency of another namespace has its namespace, and is not listed as not found', async () => {
  const far = { ...web, uses: ['infra/net'], usedOutputs: [{ stack: 'infra/net', output: 'id', variable: 'vpc' }] }
  showApp('/stacks/shop/web?tab=dependencies', {
    '/api/v1/namespaces/shop/stacks/web': { body: { row: far, object: { metadata, spec } } },
    '/api/v1/stacks?namespace=shop&limit=500': { body: { items: [far], total: 1 } },
  })
  expect(await rowsOf('Depends on')).toEqual(['infra/netid → var.vpc'])
})

test('a destroy waits for the Stacks that depend on it, and its confirmation names them in order', async () => {
  const { context } = showApp('/stacks/shop/web', {
    '/api/v1/namespaces/shop/stacks/web': { body: { row: web, object: { metadata, spec } } },
    '/api/v1/namespaces/shop/stacks/web/access': { body: { actions: { destroy: true } } },
    '/api/v1/stacks?namespace=shop&limit=500': () => ({ body: { items: stacks, total: stacks.length } }),
  })
  let stacks = [web, mail, aStack({ name: 'list', uses: ['mail'], deleted: true })]
  const user = userEvent.setup()
  await user.click(await screen.findByRole('button', { name: 'Destroy' }))
  const dialog = within(await screen.findByRole('dialog'))
  const order = await dialog.findByRole('list', { name: 'Destroyed first' })
  expect([...order.children].map((li) => li.textContent)).toEqual(['list, which is being deleted', 'mail'])
  expect(dialog.getByText(/Nothing is destroyed before the 2 Stacks that depend on it/)).toBeInTheDocument()

  stacks = [web, { ...mail, destroyed: true }]
  await context.client.invalidateQueries()
  await waitFor(() => expect(dialog.queryByRole('list', { name: 'Destroyed first' })).not.toBeInTheDocument())
})

test('a user who cannot list Stacks sees the names that the Stack has, whether or not they exist', async () => {
  show(problem(403, 'you cannot list stacks'))
  expect(await rowsOf('Depends on')).toEqual(['netvpc_id → var.vpc', 'goneorder only'])
  expect(await rowsOf('Required by')).toEqual([])
  expect(screen.getByText(/You cannot list the Stacks of this namespace/)).toBeInTheDocument()
})
