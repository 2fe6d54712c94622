import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, test } from 'vitest'
import { problem, showApp } from '../test/app'
import { aRun } from '../test/rows'

const digest = (name: string) => `sha256:${name.padEnd(64, '0')}`
const runs = ['web-7', 'net-3', 'dns-1']

/** A Run that waits for an approval, or is done. */
function detail(name: string, phase = 'AwaitingApproval') {
  const plan = { digest: digest(name), changes: true, add: 2, change: 0, destroy: 1, replace: 0, import: 0, forget: 0 }
  return {
    body: {
      row: aRun({ name, phase }),
      object: {
        metadata: { name, namespace: 'shop' },
        spec: { stack: { name: name.split('-')[0] }, operation: 'Apply', cause: { type: 'Spec' } },
        status: { phase, plan, conditions: [{ type: 'Succeeded', status: 'Unknown', reason: phase }] },
      },
    },
  }
}

test('Runs are approved by the digests that were shown, and those that fail can be tried again', async () => {
  const at = (name: string) => `/api/v1/namespaces/shop/runs/${name}`
  let fails = true
  const { asked } = showApp('/runs', {
    '/api/v1/runs': { body: { items: runs.map((name) => aRun({ name, phase: 'AwaitingApproval' })), total: 3 } },
    [at('web-7')]: detail('web-7'),
    [at('net-3')]: detail('net-3'),
    [at('dns-1')]: detail('dns-1', 'Applying'),
    ...Object.fromEntries(runs.map((name) => [`${at(name)}/access`, { body: { actions: { approve: true } } }])),
    [`POST ${at('web-7')}/approve`]: { body: {} },
    [`POST ${at('net-3')}/approve`]: () => (fails ? problem(409, 'Run net-3 has another plan now') : { body: {} }),
  })
  const user = userEvent.setup()
  const sent = () => asked.filter((a) => a.method === 'POST').map((a) => [a.path, a.body])
  await user.click(await screen.findByRole('checkbox', { name: 'Select shop/web-7' }))
  expect(screen.getByRole('group', { name: 'Selected rows' })).toHaveTextContent('1 selected')
  await user.keyboard('{Shift>}')
  await user.click(screen.getByRole('checkbox', { name: 'Select shop/dns-1' }))
  await user.keyboard('{/Shift}')
  expect(screen.getByRole('group', { name: 'Selected rows' })).toHaveTextContent('3 selected')
  await user.click(screen.getByRole('button', { name: 'Approve…' }))

  const dialog = await screen.findByRole('dialog')
  await within(dialog).findByText('4 to add, 2 to destroy')
  const requests = within(dialog).getByRole('region', { name: 'Requests' })
  for (const name of ['web-7', 'net-3'])
    expect(requests).toHaveTextContent(`shop/${name}${name}: 2 to add, 1 to destroy, plan ${digest(name).slice(7, 47)}`)
  expect(dialog).toHaveTextContent('at 6 addresses')
  expect(within(dialog).getByRole('region', { name: 'Left out' })).toHaveTextContent(
    'shop/dns-1Run dns-1 does not wait for an approval: Applying.',
  )
  expect(sent()).toEqual([])
  await user.click(within(dialog).getByRole('button', { name: 'Approve and apply 2 plans' }))
  await within(dialog).findByText('Run net-3 has another plan now')
  expect(dialog).toHaveTextContent('1 of 2 approved, 1 failed.')
  expect(sent()).toEqual([
    [`${at('web-7')}/approve`, JSON.stringify({ planDigest: digest('web-7') })],
    [`${at('net-3')}/approve`, JSON.stringify({ planDigest: digest('net-3') })],
  ])
  fails = false
  await user.click(within(dialog).getByRole('button', { name: 'Try the 1 again' }))
  await waitFor(() => expect(dialog).toHaveTextContent('2 of 2 approved.'))
  expect(sent()).toHaveLength(3)
  await user.click(within(dialog).getByRole('button', { name: 'Done' }))
  await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull())
  expect(screen.queryByRole('group', { name: 'Selected rows' })).toBeNull()
})
