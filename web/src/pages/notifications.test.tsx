import { screen, within } from '@testing-library/react'
import { describe, expect, test } from 'vitest'
import type { Notification } from '../api/client'
import { showApp } from '../test/app'

const row: Notification = {
  namespace: 'shop',
  name: 'chat',
  uid: 'u',
  created: '2026-01-01T00:00:00Z',
  ready: 'False',
  reason: 'DeliveryFailed',
  message: 'the destination responds with 404 Not Found',
  destination: 'Slack',
  selector: 'team=payments',
  events: ['Failed', 'DriftFound'],
  reported: 1,
  suspended: false,
  deleted: false,
}

describe('Notifications', () => {
  test('are listed with what they are about, and why they are not delivered', async () => {
    showApp('/notifications', { '/api/v1/notifications': { body: { items: [row], total: 1 } } })
    const shown = await screen.findByRole('row', { name: /chat/ })
    expect(shown).toHaveTextContent(/404 Not Found.*Slack.*Failed, Drift found of Stacks with team=payments/)
    expect(within(shown).getByRole('link')).toHaveAttribute('href', '/notifications/shop/chat')
  })

  test('have a page with their messages', async () => {
    showApp('/notifications/shop/chat', {
      '/api/v1/namespaces/shop/notifications/chat': {
        body: {
          row,
          object: {
            metadata: { name: 'chat', namespace: 'shop', uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' },
            spec: { destination: { type: 'Slack', secret: { name: 'chat' } } },
            status: {
              pending: { id: '2', event: 'Failed', since: '2026-01-01T00:00:00Z' },
              reported: [{ stack: 'prod/net', uid: 'n', event: 'Failed', key: 'k', pending: true }],
              deliveries: [
                { id: '1', event: 'Recovered', stacks: 2, time: '2026-01-01T00:00:00Z', failure: 'too long' },
              ],
            },
          },
        },
      },
    })
    expect(await screen.findByText('not sent: too long')).toBeInTheDocument()
    expect(screen.getByText('2 Stacks')).toBeInTheDocument()
    expect(screen.getByRole('link', { name: 'prod/net' })).toHaveAttribute('href', '/stacks/prod/net')
    expect(screen.getAllByText('is being sent')).toHaveLength(2)
  })
})
