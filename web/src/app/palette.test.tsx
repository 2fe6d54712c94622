import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, test } from 'vitest'
import { showApp } from '../test/app'
import { aStack } from '../test/rows'

const metadata = { name: 'web', namespace: 'shop', uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' }
const spec = { apply: 'Manual', engine: { name: 'OpenTofu' }, source: { inline: {} }, retry: {}, runner: {} }
const at = '/api/v1/namespaces/shop/stacks/web'
const answers = {
  [at]: { body: { row: aStack(), object: { metadata, spec } } },
  [`${at}/access`]: { body: { actions: { plan: true } } },
  '/api/v1/stacks?q=lake&limit=6': { body: { items: [aStack({ namespace: 'data', name: 'lake' })], total: 1 } },
}

async function showStack(search = '') {
  const app = showApp(`/stacks/shop/web${search}`, answers)
  await screen.findByRole('button', { name: 'Plan' })
  return { ...app, user: userEvent.setup() }
}

test('the palette finds objects on the server and opens them', async () => {
  const { router, user } = await showStack()
  await user.keyboard('{Control>}k{/Control}')
  await user.type(await screen.findByRole('combobox'), 'lake')
  await screen.findByRole('option', { name: 'data/lake' })
  await user.keyboard('{Enter}')
  await waitFor(() => expect(router.state.location.pathname).toBe('/stacks/data/lake'))
  expect(screen.queryByRole('combobox')).toBeNull()
})

test('the palette has the pages, and the actions of the page that the user may perform', async () => {
  const { user } = await showStack()
  await user.keyboard('{Control>}k{/Control}')
  const field = await screen.findByRole('combobox')
  expect(within(screen.getByRole('group', { name: 'On this page' })).getAllByRole('option')).toHaveLength(1)
  expect(screen.getByRole('option', { name: /Repositories/ })).toBeInTheDocument()
  await user.type(field, 'plan')
  await user.keyboard('{Enter}')
  expect(await screen.findByRole('dialog', { name: 'Plan shop/web?' })).toBeInTheDocument()
})

test('the second of two keys is no key of its own', async () => {
  const { router, user } = await showStack()
  await user.keyboard('gp')
  await waitFor(() => expect(router.state.location.pathname).toBe('/repositories'))
  expect(screen.queryByRole('dialog')).toBeNull()
})

test('a key opens the dialog of an action, and brackets change the tab', async () => {
  const { router, user } = await showStack('?tab=events')
  await user.keyboard(']')
  await waitFor(() => expect(router.state.location.search).toEqual({ tab: 'spec' }))
  await user.keyboard('[[')
  await waitFor(() => expect(router.state.location.search).toEqual({ tab: 'events' }))
  await user.keyboard('p')
  expect(await screen.findByRole('dialog', { name: 'Plan shop/web?' })).toBeInTheDocument()
})

/** Presses a key where a browser sends it while nothing has the focus, such as while the palette loads. */
const press = (key: string) => document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))

test('no key that is typed into the palette reaches the page behind it, also while the palette loads', async () => {
  const { user } = await showStack()
  await user.keyboard('{Control>}k{/Control}')
  press('p')
  await user.type(await screen.findByRole('combobox'), 'p')
  expect(screen.getAllByRole('dialog')).toEqual([screen.getByRole('dialog', { name: 'Command palette' })])
  await user.keyboard('{Escape}')
  await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull())
  await user.keyboard('p')
  expect(await screen.findByRole('dialog', { name: 'Plan shop/web?' })).toBeInTheDocument()
})

test('no key reaches the page behind a dialog, wherever the focus is', async () => {
  const { router, user } = await showStack()
  await user.keyboard('p')
  await screen.findByRole('dialog', { name: 'Plan shop/web?' })
  for (const key of ['?', 'g', 's']) press(key)
  expect(screen.getAllByRole('dialog')).toHaveLength(1)
  expect(router.state.location.pathname).toBe('/stacks/shop/web')
})
