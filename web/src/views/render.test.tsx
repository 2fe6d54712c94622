import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { render, screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { readFileSync } from 'node:fs'
import type { ReactNode } from 'react'
import { useState } from 'react'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import type { Detail } from '../api/kinds'
import { Feed } from './logs/feed'
import { LogView } from './logs/LogView'
import type { Range } from './logs/range'
import { noFilter } from './plan/filter'
import { PlanView } from './plan/PlanView'
import type { View } from './plan/types'
import { ActionBar } from './run/ActionBar'
import type { Possible } from './run/actions'
import { Findings } from './run/Findings'

beforeEach(() => {
  // Without a layout no row is visible.
  vi.spyOn(HTMLElement.prototype, 'offsetHeight', 'get').mockImplementation(function (this: HTMLElement) {
    return this.getAttribute('role') === 'region' ? 600 : 30
  })
  vi.spyOn(HTMLElement.prototype, 'offsetWidth', 'get').mockReturnValue(900)
})

const recorded = (name: string) => JSON.parse(readFileSync(`src/views/testdata/${name}.json`, 'utf8')) as View

function Plan({ view, review }: { view: View; review?: boolean }) {
  const [filter, setFilter] = useState(noFilter)
  return <PlanView review={review} view={view} filter={filter} onFilter={setFilter} />
}

describe('policy results', () => {
  const plan = { digest: 'sha256:1', changes: true, add: 1, change: 0, destroy: 0, replace: 0, import: 0, forget: 0 }
  it('include RequireApproval between deny and warn', () => {
    const policy = {
      checked: 2,
      denied: 0,
      approvalRequired: 2,
      warned: 0,
      findings: [{ policy: 'rules/cost.rego', action: 'RequireApproval' as const, message: 'it is dear' }],
    }
    const { container } = render(<Findings plan={{ ...plan, policy }} />)
    expect(container).toHaveTextContent('2 policies: 2 require approval')
    expect(container).toHaveTextContent('Approval required' + 'it is dear' + 'rules/cost.rego')
    expect(container).toHaveTextContent('and 1 more')
    expect(container).not.toHaveTextContent('none has anything to say')
  })
})

describe('the differences of two states', () => {
  const difference: View = {
    changes: [
      { address: 't.gone', action: 'delete', attributes: [] },
      { address: 't.a[2]', action: 'create', attributes: [] },
      { address: 't.a[10]', action: 'create', attributes: [] },
      { address: 'module.m.t.b', previous: 't.b', action: 'move', module: 'module.m', attributes: [] },
    ],
  }
  it('are in groups with counts, and name where a resource was before', async () => {
    render(<PlanView view={difference} filter={noFilter} onFilter={vi.fn()} past />)
    const rows = within(screen.getByRole('region', { name: 'Changes' })).getAllByRole('button')
    expect(rows.map((row) => row.textContent)).toEqual([
      expect.stringMatching(/^removed-1 removed$/),
      expect.stringMatching(/^-removedt\.gone$/),
      expect.stringMatching(/^added\+2 added$/),
      expect.stringMatching(/t\.a\[2\]$/),
      expect.stringMatching(/t\.a\[10\]$/),
      expect.stringMatching(/^moved>1 moved$/),
      expect.stringMatching(/module\.m\.t\.b moved from t\.b/),
    ])
    await userEvent.click(rows[2]!)
    expect(screen.queryByText('t.a[2]')).toBeNull()
    expect(screen.getByRole('button', { name: /removed 1/ })).toBeInTheDocument()
  })
})

describe('a plan', () => {
  it('shows what forces a replacement, collapsed and expanded', async () => {
    render(<Plan view={recorded('replace')} />)
    const row = screen.getByRole('button', { name: /terraform_data\.first/ })
    expect(row).toHaveTextContent('forced by triggers_replace[1]')
    expect(row).toHaveAttribute('aria-expanded', 'false')
    await userEvent.click(row)
    expect(row).toHaveAttribute('aria-expanded', 'true')
    expect(screen.getByText('forces replacement')).toBeInTheDocument()
    expect(screen.getByText('because it cannot be changed in place')).toBeInTheDocument()
  })
  it('of a Run begins with what it replaces, unfolded, which can be folded', async () => {
    render(<Plan review view={recorded('replace')} />)
    expect(screen.getAllByRole('button', { expanded: true })[0]).toHaveTextContent('Destroyed and replaced')
    const row = screen.getByRole('button', { name: /terraform_data\.first/ })
    expect(row).toHaveAttribute('aria-expanded', 'true')
    await userEvent.click(row)
    expect(row).toHaveAttribute('aria-expanded', 'false')
    await userEvent.click(row)
    await userEvent.click(screen.getByRole('button', { name: 'Fold all' }))
    expect(row).toHaveAttribute('aria-expanded', 'false')
    await userEvent.click(screen.getByRole('button', { name: 'Unfold all' }))
    expect(row).toHaveAttribute('aria-expanded', 'true')
  })
  it('hides sensitive values', async () => {
    const { container } = render(<Plan view={recorded('sensitive')} />)
    await userEvent.click(screen.getByRole('button', { name: 'Unfold all' }))
    expect(screen.getAllByText('(sensitive)').length).toBeGreaterThan(0)
    expect(container.textContent).not.toContain('(sensitive value)')
  })
  it('shows control characters as escapes', async () => {
    const address = 'a.b["<script>alert(1)</script>\u202e"]'
    const view: View = { changes: [...(recorded('hostile').changes ?? []), { address, action: 'create' }] }
    const { container } = render(<Plan view={view} />)
    await userEvent.click(screen.getByRole('button', { name: 'Unfold all' }))
    expect(screen.getByText('a.b["<script>alert(1)</script>\\u202e"]')).toBeInTheDocument()
    expect(container.querySelector('script')).toBeNull()
    // eslint-disable-next-line no-control-regex -- escapes are tested
    expect(container.textContent).not.toMatch(/[\x00-\x1f\u200b\u202a-\u202e\u2066-\u2069]/)
  })
  it('is filtered by action and address', async () => {
    render(<Plan view={recorded('moved')} />)
    await userEvent.click(screen.getByRole('button', { name: /move 2/ }))
    expect(screen.queryByText('terraform_data.changes')).not.toBeInTheDocument()
    expect(screen.getByRole('status')).toHaveTextContent('2 of 3')
    await userEvent.type(screen.getByRole('searchbox', { name: /address;/ }), 'nowhere')
    await userEvent.click(await screen.findByRole('button', { name: 'Show all' }))
    expect(screen.getByText('terraform_data.changes')).toBeInTheDocument()
  })
  it('of 10,000 changes renders the visible ones', () => {
    const changes = Array.from({ length: 10_000 }, (_, i) => ({ address: `a.b[${i}]`, action: 'create' as const }))
    render(<Plan view={{ changes }} />)
    expect(screen.getByText('10,000 in all')).toBeInTheDocument()
    expect(screen.getAllByRole('button', { name: /a\.b/ }).length).toBeLessThan(100)
  })
})

const digest = 'sha256:' + 'a'.repeat(64)
const other = 'sha256:' + 'b'.repeat(64)

function detail(plan: string, phase = 'AwaitingApproval'): Detail<'runs'> {
  const object = {
    metadata: { name: 'net-7', namespace: 'shop', uid: 'u', creationTimestamp: '' },
    spec: { stack: { name: 'net' }, operation: 'Apply', cause: { type: 'Spec' }, inputsDigest: digest },
    status: {
      phase,
      plan: { digest: plan, changes: true, add: 3, change: 0, destroy: 1, replace: 0, import: 0, forget: 0 },
    },
  }
  return { row: {}, object } as unknown as Detail<'runs'>
}

/** A server that has a Run, and records the requests. */
function serve(now: Detail<'runs'>, refusal?: string) {
  const requests: { path: string; body: unknown }[] = []
  vi.stubGlobal('fetch', (path: string, init: RequestInit) => {
    if (init.method === 'GET') return Promise.resolve(Response.json(now))
    requests.push({ path, body: JSON.parse(init.body as string) })
    if (!refusal) return Promise.resolve(Response.json({}))
    const headers = { 'content-type': 'application/problem+json' }
    return Promise.resolve(
      new Response(JSON.stringify({ title: 'Conflict', status: 409, detail: refusal }), { status: 409, headers }),
    )
  })
  return requests
}

const around = (child: ReactNode) => <QueryClientProvider client={new QueryClient()}>{child}</QueryClientProvider>
const bar = (run: Detail<'runs'>, shown: string, possible: Possible[]) =>
  render(around(<ActionBar detail={run} possible={possible} shown={shown} />))
const approve = async () => {
  await userEvent.click(screen.getByRole('button', { name: 'Approve…' }))
  const dialog = await screen.findByRole('dialog')
  await userEvent.click(within(dialog).getByRole('button', { name: 'Approve and apply' }))
  return dialog
}

describe('actions of a Run', () => {
  it('approve the plan that is shown, after a confirmation with its counts and what it destroys', async () => {
    const requests = serve(detail(digest))
    const run = detail(digest)
    const plan = run.object.status.plan!
    plan.resources = [
      { address: 'a.b["\u202e"]', action: 'delete' },
      { address: 'a.c', action: 'create' },
    ]
    bar(run, digest, [{ action: 'approve' }])
    await userEvent.click(screen.getByRole('button', { name: 'Approve…' }))
    const dialog = await screen.findByRole('dialog')
    expect(dialog).toHaveTextContent('3 to add, 1 to destroy')
    expect(dialog).toHaveTextContent('1 resource is destroyed:')
    const list = within(dialog).getByRole('list', { name: 'Destroyed and replaced' })
    expect(
      within(list)
        .getAllByRole('listitem')
        .map((r) => r.textContent),
    ).toEqual(['-destroya.b["\\u202e"]'])
    expect(dialog).toHaveTextContent(digest)
    expect(requests).toEqual([])
    await userEvent.click(within(dialog).getByRole('button', { name: 'Approve and apply' }))
    await waitFor(() =>
      expect(requests).toEqual([{ path: '/api/v1/namespaces/shop/runs/net-7/approve', body: { planDigest: digest } }]),
    )
  })
  it('do not approve after the Run has another plan', async () => {
    const requests = serve(detail(other))
    bar(detail(digest), digest, [{ action: 'approve' }])
    expect(await approve()).toHaveTextContent('The Run has another plan now. Read it before you approve it.')
    expect(requests).toEqual([])
  })
  it('close the question when another plan is shown, and name the namespace', async () => {
    const actions: Possible[] = [{ action: 'approve' }, { action: 'reject' }]
    for (const [button, title] of [
      ['Approve…', 'Approve the plan of Run shop/net-7?'],
      ['Reject', 'Reject the plan of Run shop/net-7?'],
    ] as const) {
      const requests = serve(detail(other))
      const { rerender, unmount } = bar(detail(digest), digest, actions)
      await userEvent.click(screen.getByRole('button', { name: button }))
      await screen.findByRole('dialog', { name: title })
      rerender(around(<ActionBar detail={detail(other)} possible={actions} shown={other} />))
      await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull())
      expect(requests).toEqual([])
      unmount()
    }
  })
  it('do not approve another plan than the one that is shown', () => {
    bar(detail(other), digest, [{ action: 'approve' }])
    expect(screen.getByRole('button', { name: 'Approve…' })).toBeDisabled()
  })
  it('show the message of the server when it rejects them', async () => {
    serve(detail(digest), 'this Run is Superseded and does not wait for an approval')
    bar(detail(digest), digest, [{ action: 'approve' }])
    const dialog = await approve()
    expect(await within(dialog).findByRole('alert')).toHaveTextContent(
      'this Run is Superseded and does not wait for an approval',
    )
  })
  it('reject with a reason', async () => {
    const requests = serve(detail(digest))
    bar(detail(digest), digest, [{ action: 'reject' }])
    await userEvent.click(screen.getByRole('button', { name: 'Reject' }))
    const dialog = await screen.findByRole('dialog')
    await userEvent.type(within(dialog).getByRole('textbox'), 'not on a Friday')
    await userEvent.click(within(dialog).getByRole('button', { name: 'Reject' }))
    await waitFor(() =>
      expect(requests).toEqual([
        {
          path: '/api/v1/namespaces/shop/runs/net-7/reject',
          body: { message: 'not on a Friday', planDigest: digest },
        },
      ]),
    )
  })
  it('reject the plan that is shown, and no other', async () => {
    const requests = serve(detail(other))
    const { container } = bar(detail(other), digest, [{ action: 'reject' }])
    expect(container).not.toHaveTextContent('3 to add')
    await userEvent.click(screen.getByRole('button', { name: 'Reject' }))
    await userEvent.click(within(await screen.findByRole('dialog')).getByRole('button', { name: 'Reject' }))
    await waitFor(() => expect(requests.map((t) => t.body)).toEqual([{ planDigest: digest }]))
  })
  it('render nothing without an action', () => {
    const { container } = bar(detail(digest), digest, [])
    expect(container).toBeEmptyDOMElement()
  })
})

function Log({ text, picked }: { text: string; picked?: (r: Range) => void }) {
  const [feed] = useState(
    () =>
      new Feed((f) => {
        f.store.clear()
        f.add(text)
        f.become({ kind: 'ended' })
        return () => undefined
      }),
  )
  return (
    <LogView
      feed={feed}
      label="Log"
      download="/log"
      filename="net-7.log"
      range={undefined}
      onRange={(r) => picked?.(r)}
    />
  )
}

describe('a log', () => {
  it('shows markup and control characters as text', async () => {
    const { container } = render(
      <Log text={'<script>alert(1)</script>\n\x1b[31mred\x1b[0m \x1b]8;;https://evil.example\x07link\n\u202ebidi\n'} />,
    )
    expect(await screen.findByText('<script>alert(1)</script>')).toBeInTheDocument()
    expect(screen.getByText('red')).toHaveClass('text-bad')
    expect(screen.getByText('\\u202ebidi')).toBeInTheDocument()
    expect(container.querySelector('script')).toBeNull()
    expect([...container.querySelectorAll('a')].filter((a) => a.href.includes('evil'))).toEqual([])
  })
  it('truncates a long line, and shows more of it', async () => {
    render(<Log text={'x'.repeat(10_000_000) + '\n'} />)
    await userEvent.click(await screen.findByRole('button', { name: '9,998,000 more characters: show more' }))
    expect(screen.getByText(/^x{20000}$/)).toBeInTheDocument()
  })
  it('has a search and links to lines', async () => {
    const picked = vi.fn()
    render(<Log text={'one\nerror 1\nthree\nERROR 2\n'} picked={picked} />)
    await userEvent.type(screen.getByRole('searchbox', { name: 'Search in the log' }), 'error')
    expect(await screen.findByText('1 of 2')).toBeInTheDocument()
    await userEvent.click(screen.getByRole('button', { name: 'Next match' }))
    expect(screen.getByText('2 of 2')).toBeInTheDocument()
    expect(screen.getAllByText(/error/i, { selector: 'mark' })).toHaveLength(2)
    await userEvent.click(await screen.findByRole('link', { name: 'Link to line 3' }))
    expect(picked).toHaveBeenCalledWith({ from: 3, to: 3 })
  })
  it('of many lines renders the visible ones', async () => {
    render(<Log text={Array.from({ length: 50_000 }, (_, i) => `line ${i}\n`).join('')} />)
    expect(await screen.findByText(/50,000 lines/)).toBeInTheDocument()
    expect(screen.getAllByRole('link', { name: /Link to line/ }).length).toBeLessThan(100)
  })
})
