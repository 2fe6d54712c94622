import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, test } from 'vitest'
import { showApp } from '../test/app'
import { aStack, aStackSet } from '../test/rows'

const at = '/api/v1/namespaces/shop/stacksets/platform'
const metadata = { name: 'platform', namespace: 'shop', uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' }
const spec = {
  mode: 'Create',
  repository: { name: 'infra' },
  generators: [{ directories: { include: ['envs/{env}/{name}'] } }],
  template: { metadata: { name: '${params.name}' }, spec: {} },
  prune: 'Delete',
}
const set = (of = {}, { status = {}, ...more } = {}) => ({
  body: { row: aStackSet(of), object: { metadata, spec: { ...spec, ...more }, status } },
})

describe('StackSets', () => {
  test('are listed with their Stacks, and filtered by the address', async () => {
    const { asked } = showApp('/stacksets?namespace=shop&mode=Create', {
      '/api/v1/stacksets': {
        body: {
          items: [aStackSet({ ready: 'Unknown', reason: 'RollingOut', changing: 5, failed: 2, outdated: 30, gone: 1 })],
          total: 1,
        },
      },
    })
    const row = await screen.findByRole('row', { name: /platform/ })
    expect(row).toHaveTextContent(/Rolling out.*2 failed.*3 changing.*30 outdated.*1 gone.*shop\/infra/)
    expect(within(row).getByRole('link', { name: 'shop/platform' })).toHaveAttribute('href', '/stacksets/shop/platform')
    const list = asked.find((a) => a.path.startsWith('/api/v1/stacksets?limit'))
    expect(list?.path).toMatch(/namespace=shop.*mode=Create/)
  })

  test('have a page with their Stacks by state, which links to the filtered lists', async () => {
    showApp('/stacksets/shop/platform', {
      [at]: set(
        {
          ready: 'False',
          reason: 'RolloutPaused',
          message: '3 Stacks failed',
          applied: 5,
          changing: 5,
          failed: 3,
          outdated: 30,
        },
        {
          rollout: {
            order: [{ matchLabels: { env: 'dev' } }, { matchExpressions: [{ key: 'env', operator: 'Exists' }] }],
          },
          status: {
            groups: [
              { name: 'env=dev', generated: 1500, applied: 5, failed: 3 },
              { name: 'env', generated: 20, applied: 0, failed: 0 },
              { name: 'others', generated: 1, applied: 1, failed: 0 },
            ],
          },
        } as object,
      ),
      '/api/v1/stacks': {
        body: {
          items: [
            aStack({ name: 'prod-net', ready: 'False', reason: 'PlanFailed', message: 'no such region' }),
            aStack({ namespace: 'crm', name: 'web', uid: 'other', ready: 'False', reason: 'PlanFailed' }),
          ],
          total: 1,
        },
      },
    })
    const states = await screen.findByRole('list', { name: 'Stacks by state' })
    const href = (name: string) =>
      decodeURIComponent(within(states).getByRole('link', { name }).getAttribute('href') ?? '')
    expect(states).toHaveTextContent(/40Generated.*5Applied.*5Changing.*3Failed.*30Outdated.*0Gone/)
    expect(href('Failing ones')).toBe('/stacks?stackset=shop/platform&failing=true')
    expect(href('Ready ones')).toBe('/stacks?stackset=shop/platform&ready=True')
    expect(within(states).queryByRole('link', { name: 'Suspended ones' })).toBeNull() // there is none
    expect(screen.getByText('3 Stacks failed')).toBeInTheDocument()
    expect(screen.getByText(/Correct the template or/)).toBeInTheDocument()
    expect(await screen.findByRole('list', { name: 'Stacks that are not ready' })).toHaveTextContent(
      /prod-net.*Plan failed.*no such region/,
    )
    expect(screen.getByRole('link', { name: 'crm/web' })).toHaveAttribute('href', '/stacks/crm/web')
    const groups = screen.getAllByRole('listitem').filter((item) => /\d of [\d,]+ applied/.test(item.textContent))
    expect(groups.map((item) => item.textContent)).toEqual([
      'env=dev5 of 1,500 applied, 3 failed',
      expect.stringMatching(/"Exists".*0 of 20 applied$/) as string,
      'all other Stacks1 of 1 applied',
    ])
    expect(screen.getByRole('link', { name: 'env=dev' })).toBeInTheDocument()
    expect(screen.getByText(/"Exists"/).closest('a')).toBeNull() // the list of Stacks has no such filter
  })

  test('show the deletions that wait, with the exact command', async () => {
    const digest = 'd'.repeat(40)
    showApp('/stacksets/shop/platform', {
      [at]: set(
        { ready: 'False', reason: 'AwaitingDeletionConfirmation', gone: 25, awaitingDeletions: 25 },
        { status: { deletions: { digest, count: 25, names: ['prod-net', 'crm/prod-dns'] } } },
      ),
    })
    expect(await screen.findByText(`cairn confirm-deletions platform -n shop --digest=${digest}`)).toBeInTheDocument()
    const list = screen.getByRole('list', { name: 'Stacks to delete' })
    expect(within(list).getByRole('link', { name: 'prod-net' })).toHaveAttribute('href', '/stacks/shop/prod-net')
    expect(within(list).getByRole('link', { name: 'crm/prod-dns' })).toHaveAttribute('href', '/stacks/crm/prod-dns')
    expect(list).toHaveTextContent('and 23 more')
  })

  test('show a preview with the samples as text', async () => {
    showApp('/stacksets/shop/platform', {
      [at]: set(
        { mode: 'Preview', reason: 'Previewed', applied: 0, generated: 2 },
        {
          status: {
            preview: {
              create: ['dev-net', 'prod-net'],
              samples: [{ metadata: { name: 'dev-net' }, spec: { apply: 'Manual', variables: ['\u202ereversed'] } }],
            },
          },
        },
      ),
    })
    expect(await screen.findByText('dev-net, prod-net')).toBeInTheDocument()
    expect(screen.getByText('2 Stacks would exist')).toBeInTheDocument()
    expect(screen.getByRole('list', { name: 'Samples' })).toHaveTextContent(
      /name: dev-net.*apply: Manual.*\\u202ereversed/,
    )
    expect(screen.getByText(/Nothing is written/)).toBeInTheDocument()
  })

  test.each([
    ['platform', '/stacksets/shop/platform'],
    ['infra/teams', '/stacksets/infra/teams'], // of another namespace
  ])('are linked from their Stacks, and g n leads to them: %s', async (stackSet, href) => {
    const { router } = showApp('/stacks/shop/web', {
      '/api/v1/namespaces/shop/stacks/web': {
        body: {
          row: aStack({ stackSet }),
          object: {
            metadata: { ...metadata, name: 'web' },
            spec: {
              apply: 'Manual',
              deletionPolicy: 'Destroy',
              engine: { name: 'OpenTofu' },
              source: { inline: {} },
              runHistoryLimit: 10,
              retry: {},
              runner: {},
              timeout: '1h',
            },
          },
        },
      },
    })
    expect(await screen.findByRole('link', { name: stackSet })).toHaveAttribute('href', href)
    await userEvent.setup().keyboard('gn')
    await waitFor(() => expect(router.state.location.pathname).toBe('/stacksets'))
  })
})
