import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { render, screen } from '@testing-library/react'
import { beforeEach, expect, it, vi } from 'vitest'
import type { RunObject } from '../../api/kinds'
import { ApplyTab } from './ApplyTab'

beforeEach(() => {
  // Without a layout no row is visible.
  vi.spyOn(HTMLElement.prototype, 'offsetHeight', 'get').mockImplementation(function (this: HTMLElement) {
    return this.getAttribute('role') === 'region' ? 600 : 30
  })
  vi.spyOn(HTMLElement.prototype, 'offsetWidth', 'get').mockReturnValue(900)
})

const changes = ['a.b', 'a.c', 'a.d["\u202e"]'].map((address) => ({ address, action: 'create' }))
const operations = [
  ['a.b', 'Started'],
  ['a.c', 'Started'],
  ['a.b', 'Succeeded'],
].map(([address, state], i) => JSON.stringify({ at: `2026-01-01T00:00:0${i}Z`, address, action: 'create', state }))
const text = operations.join('\n') + '\n'

/** A server that has the plan and the operations, and returns the paths of the requests. */
function serve(end: boolean, planStatus = 200): string[] {
  const paths: string[] = []
  vi.stubGlobal('fetch', (path: string) => {
    paths.push(path)
    if (!path.includes('/logs?')) return Promise.resolve(Response.json({ changes }, { status: planStatus }))
    const body = new ReadableStream<Uint8Array>({
      start(stream) {
        const encoder = new TextEncoder()
        stream.enqueue(encoder.encode(`id: ${text.length}\nevent: log\ndata: ${JSON.stringify({ text })}\n\n`))
        if (end) stream.enqueue(encoder.encode('event: end\ndata: {}\n\n'))
      },
    })
    return Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } }))
  })
  return paths
}

const attempts = [
  { number: 1, phase: 'Plan' },
  { number: 2, phase: 'Apply' },
]
const show = (more: object[] = attempts, plan: object = {}) =>
  render(
    <QueryClientProvider client={new QueryClient()}>
      <ApplyTab
        run={
          {
            metadata: { name: 'net-7', namespace: 'shop' },
            status: { plan: { digest: 'sha256:a', ...plan }, attempts: more },
          } as RunObject
        }
      />
    </QueryClientProvider>,
  )
const rows = () => screen.getAllByRole('listitem').map((row) => row.textContent)

it('an apply shows each resource of its plan while it runs', async () => {
  const paths = serve(false)
  show()
  await screen.findByText('1 of 3 done, 1 in progress')
  expect(screen.getByRole('progressbar')).toHaveAttribute('value', '1')
  expect(rows()).toEqual([
    expect.stringMatching(/a\.cin progress \d/),
    expect.stringContaining('a.d["\\u202e"]pending'),
    expect.stringContaining('a.bdone 2s'),
  ])
  expect(paths).toContain('/api/v1/namespaces/shop/runs/net-7/logs?attempt=2&of=operations&follow=true&offset=0')
})

it('an apply whose runner was lost shows what is unknown', async () => {
  serve(true)
  const failure = { class: 'PodLost', message: '' }
  show([attempts[0]!, { ...attempts[1], finishedAt: '2026-01-01T00:01:00Z', failure }])
  await screen.findByText('1 of 3 done, 1 unknown')
  expect(rows().slice(0, 2)).toEqual([
    expect.stringContaining('a.cunknown'),
    expect.stringContaining('a.d["\\u202e"]not started'),
  ])
})

it('an apply shows the reported resources if its plan is not stored, or another one follows', async () => {
  serve(false, 404)
  const { unmount } = show()
  await screen.findByText('1 of 2 done, 1 in progress')
  unmount()
  const paths = serve(false)
  show([...attempts, { number: 3, phase: 'Plan' }])
  await screen.findByText('1 of 2 done, 1 in progress')
  expect(paths.some((path) => path.endsWith('/plan'))).toBe(false)
})

it('a Run without an apply shows none', () => {
  show(attempts.slice(0, 1))
  expect(screen.getByText('Nothing was applied.')).toBeInTheDocument()
})
