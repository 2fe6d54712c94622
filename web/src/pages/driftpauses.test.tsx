import { screen, within } from '@testing-library/react'
import { describe, expect, test } from 'vitest'
import type { DriftPause } from '../api/client'
import { showApp } from '../test/app'
import { aStack } from '../test/rows'

const row: DriftPause = {
  namespace: 'shop',
  name: 'mass-drift',
  uid: 'u',
  created: '2026-01-01T00:00:00Z',
  ready: 'False',
  reason: 'MassDrift',
  message: '12 of 40 Stacks that were checked began to drift within an hour',
  since: '2026-01-01T00:00:00Z',
  drifted: 12,
  checked: 40,
}

const object = {
  metadata: { name: 'mass-drift', namespace: 'shop', uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: {},
  status: { since: row.since, drifted: 12, checked: 40, stacks: ['dns', 'net'] },
}

const spec = { source: { inline: {} }, engine: { name: 'OpenTofu', version: '1.11' }, runner: {}, timeout: '1h' }

describe('DriftPauses', () => {
  test('are listed with the Stacks that drifted', async () => {
    showApp('/driftpauses', { '/api/v1/driftpauses': { body: { items: [row], total: 1 } } })
    const shown = await screen.findByRole('row', { name: /mass-drift/ })
    expect(shown).toHaveTextContent('12 of 40 Stacks')
    expect(within(shown).getByRole('link')).toHaveAttribute('href', '/driftpauses/shop/mass-drift')
  })

  test.each([
    [true, 1],
    [false, 0],
  ])('can be resumed by a user whose roles allow it: %s', async (resume, buttons) => {
    showApp('/driftpauses/shop/mass-drift', {
      '/api/v1/namespaces/shop/driftpauses/mass-drift': { body: { row, object } },
      '/api/v1/namespaces/shop/driftpauses/mass-drift/access': { body: { actions: { resume } } },
    })
    expect(await screen.findByText('and 10 more')).toBeInTheDocument()
    expect(screen.getByRole('link', { name: 'net' })).toHaveAttribute('href', '/stacks/shop/net')
    if (buttons > 0) expect(await screen.findByRole('button', { name: 'Resume' })).toBeInTheDocument()
    else expect(screen.queryByRole('button', { name: 'Resume' })).toBeNull()
  })

  test('are not in the navigation, and the overview has those that pause', async () => {
    showApp('/', { '/api/v1/driftpauses': { body: { items: [row], total: 1 } } })
    expect(await screen.findByRole('heading', { name: 'Corrections of drift paused' })).toBeInTheDocument()
    expect(screen.getByRole('link', { name: 'shop' })).toHaveAttribute('href', '/driftpauses/shop/mass-drift')
    expect(screen.getAllByRole('link', { name: 'Notifications' })).not.toHaveLength(0)
    expect(screen.queryByRole('link', { name: 'Drift pauses' })).toBeNull()
  })

  test.each([
    ['Apply', 1],
    ['Report', 0],
  ])('are linked from a drifted Stack with onDrift %s', async (onDrift, links) => {
    const metadata = { name: 'net', namespace: 'shop', uid: 'stack-net', creationTimestamp: '2026-01-01T00:00:00Z' }
    const status = { drift: { checkedAt: '2026-01-01T00:00:00Z', since: '2026-01-01T00:00:00Z', change: 1 } }
    const detail = {
      row: aStack({ name: 'net', drifted: true }),
      object: { metadata, spec: { ...spec, drift: { onDrift } }, status },
    }
    const { asked } = showApp('/stacks/shop/net', {
      '/api/v1/namespaces/shop/stacks/net': { body: detail },
      '/api/v1/driftpauses': { body: { items: [row], total: 1 } },
    })
    expect(await screen.findByText(/to restore the declared configuration/)).toBeInTheDocument()
    if (links > 0)
      expect(await screen.findByRole('link', { name: 'paused' })).toHaveAttribute(
        'href',
        '/driftpauses/shop/mass-drift',
      )
    else expect(asked.filter((a) => a.path.startsWith('/api/v1/driftpauses'))).toEqual([])
  })
})
