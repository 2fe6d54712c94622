import { screen, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, test } from 'vitest'
import type { Pipeline } from '../api/client'
import { showApp } from '../test/app'

const one = '1f3c9a2000000000000000000000000000000000'
const two = '2e4d8b1000000000000000000000000000000000'

const row: Pipeline = {
  namespace: 'shop',
  name: 'shop',
  uid: 'u',
  created: '2026-01-01T00:00:00Z',
  ready: 'False',
  reason: 'AwaitingPromotion',
  message: 'stage production can get release 2e4d8b100000: cairn promote shop production',
  repository: 'infra',
  stages: [
    { name: 'dev', state: 'Complete', release: two },
    { name: 'production', state: 'Progressing', release: one, next: two },
  ],
  deleted: false,
}

const stacks = { matchLabels: { env: 'x' } }
const object = {
  metadata: { name: 'shop', namespace: 'shop', uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: {
    repository: { name: 'infra' },
    releases: 'Latest',
    stages: [
      { name: 'dev', promote: 'Automatic', stacks },
      { name: 'production', promote: 'Manual', stacks },
    ],
  },
  status: {
    stages: [
      { name: 'dev', state: 'Complete', release: two, since: row.created, stacks: 1, affected: 1, applied: 1 },
      {
        name: 'production',
        state: 'Progressing',
        release: one,
        next: two,
        since: row.created,
        stacks: 3,
        affected: 3,
        applied: 1,
        hold: { by: 'bob', at: row.created },
      },
    ],
    releases: [
      {
        commit: two,
        author: 'Ann',
        subject: 'Add a queue',
        createdAt: row.created,
        stacks: 4,
        stages: [{ name: 'dev', promotedAt: row.created, completedAt: row.created }],
      },
      {
        commit: one,
        createdAt: row.created,
        stacks: 4,
        stages: [
          { name: 'dev', promotedAt: row.created, completedAt: row.created },
          { name: 'production', promotedAt: row.created, promotedBy: 'alice' },
        ],
      },
    ],
  },
}

const path = '/api/v1/namespaces/shop/pipelines/shop'
const shown = (promote: boolean) =>
  showApp('/pipelines/shop/shop', {
    [path]: { body: { row, object } },
    [`${path}/access`]: { body: { actions: { promote } } },
    [`POST ${path}/promote`]: { body: { row, object } },
  })

describe('Pipelines', () => {
  test('are listed with their stages', async () => {
    showApp('/pipelines', { '/api/v1/pipelines': { body: { items: [row], total: 1 } } })
    const line = await screen.findByRole('row', { name: /AwaitingPromotion|Awaiting promotion/ })
    expect(line).toHaveTextContent('dev 2e4d8b1')
    expect(line).toHaveTextContent('production 1f3c9a2')
    expect(within(line).getByRole('link')).toHaveAttribute('href', '/pipelines/shop/shop')
  })

  test('have stages as columns and releases as rows', async () => {
    shown(true)
    const table = await screen.findByRole('table', { name: 'Releases' })
    expect(
      within(table)
        .getAllByRole('columnheader')
        .map((h) => h.textContent),
    ).toEqual(['Release', 'dev', 'production'])
    const [, newest, before] = within(table).getAllByRole('row')
    expect(newest).toHaveTextContent('Add a queue')
    expect(newest).toHaveTextContent('Complete')
    expect(within(before!).getAllByRole('cell')[2]).toHaveTextContent('Progressingby alice')
    expect(screen.getByText(/1 of 3 Stacks applied/)).toBeInTheDocument()
    expect(screen.getByText(/held by bob/)).toBeInTheDocument()
  })

  test('promote what a stage can get', async () => {
    const { asked } = shown(true)
    await userEvent.click(await screen.findByRole('button', { name: 'Promote' }))
    const dialog = await screen.findByRole('dialog', { name: 'Promote 2e4d8b1 to production?' })
    await userEvent.click(within(dialog).getByRole('button', { name: 'Promote' }))
    const sent = asked.filter((a) => a.method === 'POST')
    expect(sent).toEqual([
      { method: 'POST', path: `${path}/promote`, body: JSON.stringify({ stage: 'production', release: two }) },
    ])
  })

  test('show which permission is missing', async () => {
    shown(false)
    expect(await screen.findByText(/You need the verbs patch and promote on pipelines/)).toBeInTheDocument()
    const button = screen.getByRole('button', { name: 'Promote' })
    expect(button).toBeDisabled()
    expect(button).toHaveAttribute('title', 'You need the verbs patch and promote on pipelines')
  })
})
