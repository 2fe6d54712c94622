import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, test, vi } from 'vitest'
import { problem, showApp } from '../test/app'

const resource = (of: object) => ({
  namespace: 'shop',
  stack: 'web',
  address: 'aws_vpc.main',
  type: 'aws_vpc',
  provider: 'registry.opentofu.org/hashicorp/aws',
  ...of,
})

/** Without a layout no row is visible. */
function layOut() {
  vi.spyOn(HTMLElement.prototype, 'offsetHeight', 'get').mockReturnValue(600)
  vi.spyOn(HTMLElement.prototype, 'offsetWidth', 'get').mockReturnValue(900)
}

test('resources are listed with a link to their state', async () => {
  layOut()
  const { asked } = showApp('/resources?type=aws_vpc&namespace=shop&sort=-type', {
    '/api/v1/resources': {
      body: {
        items: [resource({}), resource({ address: 'module.m.aws_vpc.b[\u202e]', deposed: '0a1b', tainted: true })],
        total: 2,
        missing: { encrypted: 2, cut: 0 },
      },
    },
  })
  const link = await screen.findByRole('link', { name: 'aws_vpc.main' })
  expect(link).toHaveAttribute('href', '/states/shop/web?tab=resources&q=aws_vpc.main')
  expect(screen.getAllByText('hashicorp/aws')).toHaveLength(2)
  expect(screen.getByText('deposed 0a1b')).toBeInTheDocument()
  expect(document.body.textContent).not.toContain('\u202e')
  expect(screen.getByText('States encrypted by the engine: their resources are not known: 2')).toBeInTheDocument()
  expect(screen.queryByText(/in part/)).toBeNull()
  expect(asked.map((a) => a.path)).toContain('/api/v1/resources?limit=100&namespace=shop&type=aws_vpc&sort=-type')
})

test('resources are fetched again while the server reads indexes', async () => {
  layOut()
  let reading = true
  showApp('/resources', {
    '/api/v1/resources': () => ({
      body: reading
        ? { items: [], total: 0, missing: { pending: 3 } }
        : { items: [resource({})], total: 1, missing: {} },
    }),
  })
  expect(await screen.findByText(/not read yet.*: 3$/)).toBeInTheDocument()
  reading = false
  await waitFor(() => expect(screen.getByRole('link', { name: 'aws_vpc.main' })).toBeInTheDocument(), {
    timeout: 5_000,
  })
  expect(screen.queryByText(/not read yet/)).toBeNull()
})

test('a user who cannot pull states sees why, and a click on a head sorts', async () => {
  let denied = true
  const { asked } = showApp('/resources', {
    '/api/v1/resources': () => (denied ? problem(403, 'jane may not pull states') : { body: { items: [], total: 0 } }),
  })
  expect(await screen.findByText('jane may not pull states')).toBeInTheDocument()
  denied = false
  await userEvent.click(screen.getByRole('button', { name: /retry|again/i }))
  await userEvent.click(await screen.findByRole('button', { name: 'Address' }))
  await waitFor(() => expect(asked.at(-1)?.path).toBe('/api/v1/resources?limit=100&sort=address'))
})
