import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, test } from 'vitest'
import { problem, showApp } from '../test/app'
import { aPullRequest, aRun, aStack } from '../test/rows'

const metadata = { name: 'web', namespace: 'shop', uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' }
const spec = {
  apply: 'Manual',
  deletionPolicy: 'Destroy',
  engine: { name: 'OpenTofu' },
  source: { inline: {} },
  runHistoryLimit: 10,
  retry: {},
  runner: {},
  timeout: '1h',
}
const at = '/api/v1/namespaces/shop/stacks/web'
const may = (...actions: string[]) => ({ body: { actions: Object.fromEntries(actions.map((a) => [a, true])) } })
const stack = (of = {}, object = {}) => ({ body: { row: aStack(of), object: { metadata, spec, ...object } } })
const runs = (...items: object[]) => ({ body: { items, total: items.length } })

describe('a user without a session', () => {
  test('is redirected to the sign-in and back', async () => {
    let known = false
    const token = 'header.payload.signature'
    const { router, asked } = showApp('/stacks?q=eu', {
      '/api/v1/me': () => (known ? { body: { name: 'jane' } } : problem(401, 'sign in')),
      '/api/v1/signin': {
        body: { methods: [{ type: 'OIDC', name: 'Keycloak', url: '/signin/oidc' }, { type: 'Token' }] },
      },
      'POST /api/v1/session': () => {
        known = true
        return { status: 204 }
      },
    })
    const user = userEvent.setup()
    const field = await screen.findByLabelText('Kubernetes token')
    expect(router.state.location.search).toEqual({ to: '/stacks?q=eu' })
    expect(screen.getByRole('link', { name: 'Sign in with Keycloak' })).toHaveAttribute(
      'href',
      '/signin/oidc?to=%2Fstacks%3Fq%3Deu',
    )
    expect(field).toHaveAttribute('type', 'password')
    await user.type(field, token)
    await user.click(screen.getByRole('button', { name: 'Sign in' }))
    await waitFor(() => expect(router.state.location.href).toBe('/stacks?q=eu'))
    expect(asked.find((a) => a.method === 'POST')?.body).toBe(JSON.stringify({ token }))
    expect(
      JSON.stringify({ ...localStorage, ...sessionStorage }) + document.body.innerHTML + router.state.location.href,
    ).not.toContain(token)
  })

  test('sees why the sign-in failed', async () => {
    showApp('/signin?error=Call+this+number', {
      '/api/v1/signin': { body: { methods: [{ type: 'Token' }], failure: 'LinkExpired' } },
      'POST /api/v1/session': problem(401, 'Kubernetes does not know this token'),
    })
    expect(await screen.findByRole('alert')).toHaveTextContent(/cairn dev link prints a new one/)
    expect(screen.queryByText('Call this number')).not.toBeInTheDocument()
    const user = userEvent.setup()
    await user.type(await screen.findByLabelText('Kubernetes token'), 'old')
    await user.click(screen.getByRole('button', { name: 'Sign in' }))
    expect(await screen.findByText('Kubernetes does not know this token')).toBeInTheDocument()
  })

  test('is not redirected to another site', async () => {
    showApp('/signin?to=https%3A%2F%2Fevil.example', {
      '/api/v1/signin': {
        body: {
          methods: [
            { type: 'OIDC', name: 'Good', url: '/signin/oidc' },
            { type: 'OIDC', name: 'Bad', url: 'javascript:alert(1)' },
          ],
        },
      },
    })
    expect(await screen.findByRole('link', { name: 'Sign in with Good' })).toHaveAttribute(
      'href',
      '/signin/oidc?to=%2F',
    )
    expect(screen.queryByRole('link', { name: 'Sign in with Bad' })).toBeNull()
  })

  test('is redirected to the sign-in from any page when the session expires', async () => {
    let known = true
    const { router, context } = showApp('/stacks', {
      '/api/v1/stacks': () => (known ? { body: { items: [aStack()], total: 1 } } : problem(401, 'sign in')),
    })
    await screen.findByText('web')
    known = false
    await context.client.invalidateQueries({ queryKey: ['stacks', 'list'] })
    await waitFor(() => expect(router.state.location.pathname).toBe('/signin'))
    expect(router.state.location.search).toEqual({ to: '/stacks' })
  })
})

describe('a commit', () => {
  const commit = 'c0ffee0'.repeat(5) + 'c0ffe'
  const row = (name: string) => screen.findByRole('row', { name: new RegExp(name) })

  test('shows the newest Run of each Stack, and whether the Stack is at it', async () => {
    const { asked } = showApp(`/commits/${commit}`, {
      '/api/v1/runs': runs(
        aRun({ name: 'db-2', stack: 'db', phase: 'AwaitingApproval' }),
        aRun({ name: 'db-1', stack: 'db', phase: 'Failed' }),
        aRun({ name: 'web-9', stack: 'web', phase: 'Succeeded' }),
      ),
      '/api/v1/stacks': { body: { items: [aStack({ name: 'db' }), aStack({ name: 'new' })], total: 2 } },
    })
    expect(await row('db')).toHaveTextContent(/db-2/)
    expect(await row('db')).not.toHaveTextContent(/db-1|At another revision/)
    expect(await row('web')).toHaveTextContent(/web-9.*At another revision/)
    expect(await row('new')).not.toHaveTextContent('At another revision') // no Run of it is left
    expect(screen.getByText('1 awaiting approval, 1 succeeded')).toBeInTheDocument()
    const lists = asked.filter((a) => /^\/api\/v1\/(runs|stacks)\?.*commit=/.test(a.path))
    expect(lists).toHaveLength(2)
    for (const { path } of lists) expect(path).toContain(`commit=${commit}`)
  })

  test('that changed no Stack says so', async () => {
    showApp(`/commits/${commit}`, { '/api/v1/runs': runs(), '/api/v1/stacks': runs() })
    expect(await screen.findByText('No Stacks of this commit')).toBeInTheDocument()
  })
})

describe('a user who signs out', () => {
  const signOut = async () => {
    const user = userEvent.setup()
    await user.click(await screen.findByRole('button', { name: 'You are jane' }))
    await user.click(await screen.findByRole('menuitem', { name: 'Sign out' }))
  }

  test('leaves no cached data', async () => {
    const { router, context } = showApp('/stacks', { 'DELETE /api/v1/session': { status: 204 } })
    await signOut()
    await waitFor(() => expect(router.state.location.pathname).toBe('/signin'))
    await waitFor(() => expect(context.client.getQueryData(['me'])).toBeUndefined())
  })

  test('sees a message if the session could not be ended', async () => {
    const { router } = showApp('/stacks', { 'DELETE /api/v1/session': problem(503, 'ask again') })
    await signOut()
    expect(await screen.findByText('You are still signed in')).toBeInTheDocument()
    expect(screen.getByText('ask again')).toBeInTheDocument()
    expect(router.state.location.pathname).toBe('/stacks')
  })
})

describe('a Stack', () => {
  test('has buttons for the permitted actions of its status', async () => {
    showApp('/stacks/shop/web', {
      [at]: stack(),
      [`${at}/access`]: may('plan', 'destroy', 'retry', 'resume'),
      '/api/v1/runs': runs(aRun()),
    })
    expect(await screen.findByRole('button', { name: 'Plan' })).toBeInTheDocument()
    expect(screen.getByRole('button', { name: 'Destroy' })).toBeInTheDocument()
    for (const name of ['Apply', 'Retry', 'Suspend', 'Resume'])
      expect(screen.queryByRole('button', { name })).toBeNull()
  })

  test('names its VariableSets and the values that come from them', async () => {
    const variableSets = [{ name: 'all' }, { name: 'prod', variables: ['region', 'zone'], env: ['TOKEN'] }]
    showApp('/stacks/shop/web', { [at]: stack({}, { status: { variableSets } }) })
    expect(await screen.findByText(/of VariableSet prod/)).toHaveTextContent('of VariableSet prod: region, zone, TOKEN')
    expect(screen.getByText('of VariableSet all')).toBeInTheDocument()
  })

  test('links to the Pipeline whose release it has', async () => {
    const release = { pipeline: 'delivery', uid: 'u', stage: 'production', commit: '1f3c', promotion: 2 }
    showApp('/stacks/shop/web', { [at]: stack({}, { status: { release } }) })
    const link = await screen.findByRole('link', { name: 'delivery' })
    expect(link).toHaveAttribute('href', '/pipelines/shop/delivery')
    expect(link.parentElement).toHaveTextContent('stage production of delivery')
  })

  test('shows which drift is ignored, and why', async () => {
    const differences = [
      { address: 'aws_autoscaling_group.web', action: 'update', ignored: 'set by the autoscaler' },
      { address: 'aws_instance.a', action: 'update' },
    ]
    showApp('/stacks/shop/web', { [at]: stack({}, { status: { drift: { ignored: 1, differences } } }) })
    const summary = await screen.findByText(/1 difference is ignored/)
    expect(summary.parentElement).toHaveTextContent('aws_autoscaling_group.web: set by the autoscaler')
    expect(screen.queryByText('aws_instance.a')).toBeNull()
  })

  test('names its StackPolicies with their windows and policies', async () => {
    const stackPolicies = [
      { name: 'freeze', windows: 1 },
      { name: 'prod', windows: 2, policies: ['rules'] },
    ]
    showApp('/stacks/shop/web', { [at]: stack({}, { status: { stackPolicies } }) })
    expect(await screen.findByText(/of StackPolicy freeze/)).toHaveTextContent('of StackPolicy freeze: 1 window')
    expect(screen.getByText(/of StackPolicy prod/)).toHaveTextContent('of StackPolicy prod: 2 windows, rules')
  })

  test('is destroyed only after its name is typed', async () => {
    const { asked } = showApp('/stacks/shop/web', {
      [at]: stack(),
      [`${at}/access`]: may('destroy'),
      [`POST ${at}/destroy`]: { body: {} },
    })
    const user = userEvent.setup()
    await user.click(await screen.findByRole('button', { name: 'Destroy' }))
    const dialog = await screen.findByRole('dialog')
    const sure = within(dialog).getByRole('button', { name: 'Destroy everything' })
    expect(sure).toBeDisabled()
    const field = within(dialog).getByRole('textbox')
    await user.type(field, 'we{Enter}')
    expect(sure).toBeDisabled()
    expect(asked.filter((a) => a.method === 'POST')).toEqual([])
    await user.type(field, 'b')
    await user.click(sure)
    await waitFor(() => expect(asked.filter((a) => a.method === 'POST').map((a) => a.path)).toEqual([`${at}/destroy`]))
    await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull())
  })

  test.each([
    [{ apply: 'Manual' }, /waits for an approval\./, /waits for an approval\./],
    [{ apply: 'Automatic' }, /applied immediately/, /No approval is required/],
    [{ apply: 'Automatic', preventSelfApproval: true }, /waits for an approval\./, /waits for an approval\./],
    [
      { apply: 'Automatic', requireApprovalFor: ['Delete'] },
      /waits for an approval if it has changes of these kinds: Delete\./,
      /waits for an approval\./,
    ],
    [
      { apply: 'Automatic', requireApprovalFor: ['Create', 'Update'] },
      /waits for an approval if it has changes of these kinds: Create, Update\./,
      /No approval is required/,
    ],
    [{ apply: 'Never' }, /not applied while spec\.apply is Never/, /not applied while spec\.apply is Never/],
  ])('with %j says whether a retry and a destroy wait for an approval', async (rules, retry, destroy) => {
    showApp('/stacks/shop/web', {
      [at]: stack(
        { apply: rules.apply as 'Manual', retry: { operation: 'Apply', run: 'web-1' } },
        { spec: { ...spec, ...rules } },
      ),
      [`${at}/access`]: may('apply', 'retry', 'destroy'),
    })
    const user = userEvent.setup()
    for (const [name, says] of [
      ['Retry', retry],
      ['Destroy', destroy],
    ] as const) {
      await user.click(await screen.findByRole('button', { name }))
      expect(await screen.findByRole('dialog')).toHaveTextContent(says)
      await user.click(within(screen.getByRole('dialog')).getByRole('button', { name: 'Back' }))
      await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull())
    }
  })

  test('shows why an action failed, and keeps the dialog open', async () => {
    showApp('/stacks/shop/web', {
      [at]: stack(),
      [`${at}/access`]: may('plan'),
      [`POST ${at}/plan`]: problem(403, 'a policy refuses it'),
    })
    const user = userEvent.setup()
    await user.click(await screen.findByRole('button', { name: 'Plan' }))
    await user.click(within(await screen.findByRole('dialog')).getByRole('button', { name: 'Plan' }))
    expect(await within(await screen.findByRole('dialog')).findByText('a policy refuses it')).toBeInTheDocument()
  })

  test('whose plan waits links to it', async () => {
    showApp('/stacks/shop/web', {
      [at]: stack({ ready: 'False', reason: 'AwaitingApproval' }),
      '/api/v1/runs': runs(aRun({ name: 'web-2', phase: 'AwaitingApproval' })),
    })
    expect(await screen.findByRole('link', { name: 'Read the plan of web-2' })).toHaveAttribute(
      'href',
      '/runs/shop/web-2',
    )
  })

  test('lists no Runs of an earlier Stack of its name', async () => {
    const { asked } = showApp('/stacks/shop/web', { [at]: stack() })
    await screen.findByText('No Runs yet')
    const lists = asked
      .map((a) => a.path)
      .filter((path) => path.startsWith('/api/v1/runs?') && path.includes('stack=web'))
    expect(lists).toEqual(['/api/v1/runs?namespace=shop&stack=web&stackUID=stack-web&limit=50'])
  })

  test('shows no data of the Stack before, however slow the response is', async () => {
    const { router } = showApp('/stacks/shop/web', {
      [at]: stack(),
      '/api/v1/runs?namespace=shop&stack=web&stackUID=stack-web&limit=50': runs(
        aRun({ name: 'web-2', phase: 'AwaitingApproval' }),
      ),
      [at.replace('web', 'net')]: stack({ name: 'net' }),
      '/api/v1/runs?namespace=shop&stack=net&stackUID=stack-net&limit=50': () => new Promise<never>(() => undefined),
    })
    await screen.findByRole('link', { name: 'Read the plan of web-2' })
    const frame = screen.getByRole('main')
    await router.navigate({ to: '/stacks/$namespace/$name', params: { namespace: 'shop', name: 'net' } })
    await screen.findByRole('heading', { name: 'net' })
    await screen.findByText('Auto-apply')
    expect(screen.queryByText(/web-2/)).toBeNull()
    expect(screen.getByRole('main')).toBe(frame) // it is not rendered again
  })

  test('closes a dialog of the Stack before', async () => {
    const net = at.replace('web', 'net')
    const { router, asked } = showApp('/stacks/shop/web', {
      [at]: stack(),
      [`${at}/access`]: may('apply'),
      [net]: stack({ name: 'net' }),
      [`${net}/access`]: may('apply'),
    })
    await screen.findByRole('button', { name: 'Apply' })
    await router.navigate({ to: '/stacks/$namespace/$name', params: { namespace: 'shop', name: 'net' } })
    await screen.findByRole('heading', { name: 'net' })
    await userEvent.setup().click(await screen.findByRole('button', { name: 'Apply' }))
    await screen.findByRole('dialog', { name: 'Apply shop/net?' })
    router.history.back()
    await waitFor(() => expect(router.state.location.pathname).toBe('/stacks/shop/web'))
    await waitFor(() => expect(screen.queryByText('Apply shop/net?')).toBeNull())
    expect(screen.queryByRole('dialog')).toBeNull()
    expect(asked.filter((a) => a.method === 'POST')).toEqual([])
  })

  test('shows outputs as text, and of sensitive ones only the name', async () => {
    showApp('/stacks/shop/web?tab=outputs', {
      [at]: stack({}, { status: { outputs: { url: '<b>x</b>', ports: [80, 443] } } }),
      '/api/v1/namespaces/shop/states/web': {
        body: { row: {}, object: { metadata, status: { outputs: { url: 'f1', password: 'f2' } } } },
      },
    })
    expect(await screen.findByText('<b>x</b>')).toBeInTheDocument()
    const password = (await screen.findByText('password')).parentElement!
    expect(password).toHaveTextContent('sensitive')
    expect(password).not.toHaveTextContent('f2')
  })

  test('reads its state once for each request of the user', async () => {
    const of = '/api/v1/namespaces/shop/states/web'
    const { asked, context } = showApp('/stacks/shop/web?tab=resources', {
      [at]: stack(),
      [of]: { body: { row: { version: 3, resources: 1 }, object: { metadata, status: {} } } },
      [`${of}/access`]: may('pull'),
      [`${of}/versions/3`]: { body: { version: 4, resources: [] } },
    })
    await userEvent.setup().click(await screen.findByRole('button', { name: 'Read the state' }))
    await screen.findByRole('list', { name: 'Resources' })
    // Two changes of its lock.
    for (let i = 0; i < 2; i++) await context.client.invalidateQueries({ queryKey: ['states', 'shop', 'web'] })
    expect(asked.filter((a) => a.path === `${of}/versions/3`)).toHaveLength(1)
  })

  test('that is not found is reported', async () => {
    showApp('/stacks/shop/web', { [at]: problem(404, 'there is no web in stacks of namespace shop') })
    expect(await screen.findByText('there is no web in stacks of namespace shop')).toBeInTheDocument()
  })

  test('with an invalid name is not requested', async () => {
    const { asked } = showApp('/stacks/shop/%2e%2e%2fme', {})
    expect(await screen.findByText(/is not a valid name/)).toBeInTheDocument()
    expect(asked.filter((a) => a.path.startsWith('/api/v1/namespaces/'))).toEqual([])
  })
})

test('a Repository with more Stacks than are listed links to all of them', async () => {
  const repository = { ...metadata, name: 'infra' }
  showApp('/repositories/shop/infra', {
    '/api/v1/namespaces/shop/repositories/infra': {
      body: {
        row: { ...repository, url: 'https://git.example.com', ready: 'True' },
        object: { metadata: repository, spec: {} },
      },
    },
    // Repositories of other namespaces have the same name.
    '/api/v1/stacks': { body: { items: [aStack({ repository: 'blog/infra' })], total: 501, next: 'more' } },
  })
  expect(await screen.findByRole('link', { name: /^All 501 Stacks/ })).toHaveAttribute(
    'href',
    '/stacks?repository=infra',
  )
  expect(screen.queryByText(/No Stacks found/)).toBeNull()
})

describe('a Run', () => {
  const of = '/api/v1/namespaces/shop/runs/web-7'
  const digest = 'sha256:' + 'a'.repeat(64)
  const run = (phase: string, reason = phase) => ({
    body: {
      row: aRun({ name: 'web-7', phase }),
      object: {
        metadata: { ...metadata, name: 'web-7' },
        spec: { stack: { name: 'web' }, operation: 'Apply', cause: { type: 'Spec' }, inputsDigest: digest },
        status: {
          phase,
          conditions: [{ type: 'Succeeded', status: 'Unknown', reason, message: `It is ${phase}.` }],
          plan: { digest, changes: true, add: 3, change: 0, destroy: 0, replace: 0, import: 0, forget: 0 },
        },
      },
    },
  })
  const waits = run('AwaitingApproval')

  test('that no longer waits reports that to the user who approves it', async () => {
    let now = waits
    const { asked } = showApp('/runs/shop/web-7', { [of]: () => now, [`${of}/access`]: may('approve') })
    const user = userEvent.setup()
    await user.click(await screen.findByRole('button', { name: 'Approve…' }))
    const sure = within(await screen.findByRole('dialog')).getByRole('button', { name: 'Approve and apply' })
    now = run('Superseded')
    await user.click(sure)
    expect(await screen.findByText('The Run is Superseded now and does not wait for an approval.')).toBeInTheDocument()
    expect(asked.filter((a) => a.method === 'POST')).toEqual([])
    await user.click(within(screen.getByRole('dialog')).getByRole('button', { name: 'Back' }))
    await waitFor(() => expect(screen.queryByRole('group', { name: 'What can be done' })).toBeNull())
  })

  test('that no longer waits keeps the text that is being typed', async () => {
    let now = waits
    const { context } = showApp('/runs/shop/web-7', { [of]: () => now, [`${of}/access`]: may('approve', 'reject') })
    const user = userEvent.setup()
    await user.click(await screen.findByRole('button', { name: 'Reject' }))
    await user.type(within(await screen.findByRole('dialog')).getByRole('textbox'), 'not on a Friday')
    now = run('Superseded')
    await context.client.invalidateQueries({ queryKey: ['runs', 'shop', 'web-7'] })
    await screen.findByText('It is Superseded.')
    expect(within(screen.getByRole('dialog')).getByRole('textbox')).toHaveValue('not on a Friday')
  })

  test('reports that it cannot be fetched any more, beside what it was', async () => {
    let now: object = waits
    const { context } = showApp('/runs/shop/web-7', { [of]: () => now })
    await screen.findByText('Waits for the approval of a user.')
    now = problem(404, 'there is no Run web-7 in namespace shop')
    await context.client.invalidateQueries({ queryKey: ['runs', 'shop', 'web-7'] })
    expect(await screen.findByText('there is no Run web-7 in namespace shop')).toBeInTheDocument()
    now = waits
    await userEvent.setup().click(screen.getByRole('button', { name: 'Try again' }))
    await waitFor(() => expect(screen.queryByRole('alert')).toBeNull())
  })

  test('that is created again has its own log', async () => {
    let now = run('Succeeded', 'Applied')
    const { asked, context } = showApp('/runs/shop/web-7?tab=log', {
      [of]: () => now,
      [`${of}/logs`]: problem(404, 'no log'),
    })
    await screen.findByText('no log')
    const again = run('Planning')
    now = {
      body: {
        ...again.body,
        object: { ...again.body.object, metadata: { ...metadata, name: 'web-7', uid: 'another' } },
      },
    }
    await context.client.invalidateQueries({ queryKey: ['runs', 'shop', 'web-7'] })
    await waitFor(() =>
      expect(asked.filter((a) => a.path.startsWith(`${of}/logs`)).map((a) => a.path)).toEqual([
        `${of}/logs?follow=true&offset=0`,
        `${of}/logs?follow=true&offset=0`,
      ]),
    )
  })

  test('shows why an action failed also after its dialog is closed', async () => {
    let reject = () => undefined as void
    showApp('/runs/shop/web-7', {
      [of]: waits,
      [`${of}/access`]: may('approve'),
      [`POST ${of}/approve`]: () => new Promise((done) => (reject = () => done(problem(503, 'ask again')))),
    })
    const user = userEvent.setup()
    await user.click(await screen.findByRole('button', { name: 'Approve…' }))
    await user.click(within(await screen.findByRole('dialog')).getByRole('button', { name: 'Approve and apply' }))
    await user.keyboard('{Escape}')
    await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull())
    reject()
    expect(await within(await screen.findByRole('dialog')).findByText('ask again')).toBeInTheDocument()
  })
})

describe('a State', () => {
  const of = '/api/v1/namespaces/shop/states/web'
  const state = (status: object, uid = 'u') => ({
    body: { row: { uid }, object: { metadata: { ...metadata, uid }, status } },
  })

  test('reports that it cannot be fetched any more, beside what it was', async () => {
    let now: object = state({ version: 7, serial: 9 })
    const { context } = showApp('/states/shop/web', { [of]: () => now })
    await screen.findByText('7, serial 9')
    now = problem(403, 'jane may not get states')
    await context.client.invalidateQueries({ queryKey: ['states', 'shop', 'web'] })
    expect(await screen.findByText('jane may not get states')).toBeInTheDocument()
    expect(screen.getByText('7, serial 9')).toBeInTheDocument()
  })

  test('that is created again has its own versions', async () => {
    const has = (name: string) => ({
      body: {
        version: 4,
        resources: [{ mode: 'managed', type: 'null', name, provider: 'p', instances: [{ attributes: {} }] }],
      },
    })
    let now = state({ version: 1 })
    let first = has('old')
    const { context } = showApp('/states/shop/web?tab=resources', {
      [of]: () => now,
      [`${of}/versions/1`]: () => first,
    })
    await screen.findByText('null.old')
    now = state({ version: 1 }, 'another')
    first = has('new')
    await context.client.invalidateQueries({ queryKey: ['states', 'shop', 'web'] })
    expect(await screen.findByText('null.new')).toBeInTheDocument()
    expect(screen.queryByText('null.old')).toBeNull()
  })

  test('that a user has locked names the user as Kubernetes knows them', async () => {
    const lock = { id: '1', by: 'alice@example.com', who: 'root@laptop', since: metadata.creationTimestamp }
    showApp('/states/shop/web', { [of]: state({ version: 1, lock }), [`${of}/access`]: may('unlock') })
    expect(await screen.findByText(/^Locked by/)).toHaveTextContent(/alice@example\.com \(root@laptop\), since/)
    await userEvent.setup().click(await screen.findByRole('button', { name: 'Unlock…' }))
    const dialog = await screen.findByRole('dialog')
    expect(dialog).toHaveTextContent(/Ask alice@example\.com whether the engine still runs/)
    expect(dialog).not.toHaveTextContent(/pod/)
  })

  test('that a user has locked names the user in the list', async () => {
    const lock = { id: '1', by: 'alice@example.com', who: 'root@laptop', since: metadata.creationTimestamp }
    const row = { namespace: 'shop', name: 'web', uid: 'u', version: 1, size: 1, resources: 1, lock }
    showApp('/states', { '/api/v1/states': { body: { items: [row], total: 1 } } })
    expect(await screen.findByText('Locked by alice@example.com')).toBeInTheDocument()
  })

  test('that another user locks meanwhile is not unlocked by a confirmation for the first lock', async () => {
    const locked = (id: string) => state({ version: 1, lock: { id, who: id, since: metadata.creationTimestamp } })
    let now = locked('first')
    const { asked, context } = showApp('/states/shop/web', { [of]: () => now, [`${of}/access`]: may('unlock') })
    const user = userEvent.setup()
    const ask = async () => {
      await user.click(await screen.findByRole('button', { name: 'Unlock…' }))
      await user.type(within(await screen.findByRole('dialog')).getByRole('textbox'), 'web')
    }
    await ask()
    now = locked('second')
    await context.client.invalidateQueries({ queryKey: ['states', 'shop', 'web'] })
    await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull())
    await ask()
    await user.click(within(screen.getByRole('dialog')).getByRole('button', { name: 'Unlock' }))
    await waitFor(() =>
      expect(asked.filter((a) => a.method === 'POST').map((a) => a.body)).toEqual([JSON.stringify({ id: 'second' })]),
    )
  })
})

describe('pull requests', () => {
  const of = '/api/v1/namespaces/shop/pullrequests/infra-7'
  const plan = { digest: 'd', changes: true, add: 2, change: 1, destroy: 3, replace: 0, import: 0, forget: 0 }
  const ready = {
    type: 'Ready',
    status: 'False',
    reason: 'PlansFailed',
    message: '1 of 3 plans failed',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  }
  const pull = (row = {}, status = {}) => {
    const shown = aPullRequest(row)
    return {
      body: {
        row: shown,
        object: {
          metadata: { ...metadata, name: 'infra-7' },
          spec: {
            repository: { name: 'infra' },
            number: 7,
            state: 'Open',
            base: 'main',
            head: { branch: 'wider', commit: shown.commit },
          },
          status: { phase: shown.phase, head: shown.commit, conditions: [ready], ...status },
        },
      },
    }
  }

  test('are listed with their phases, and filtered by the address', async () => {
    const { asked } = showApp('/pullrequests?phase=Planned&repository=infra&author=gitea:a:b&stack=shop/net&q=subnet', {
      '/api/v1/pullrequests': runs(
        aPullRequest(),
        aPullRequest({
          name: 'infra-8',
          number: 8,
          title: 'Drop it',
          ready: 'False',
          reason: 'PlansFailed',
          affected: 5,
          planned: 1,
          failed: 1,
          pending: 2,
          fork: true,
        }),
        aPullRequest({ name: 'infra-9', number: 9, title: 'Wait', phase: 'AwaitingCommand', ready: 'False' }),
      ),
    })
    const table = await screen.findByRole('table', { name: 'Pull requests' })
    expect(within(table).getByRole('link', { name: '#7 Widen the subnet' })).toHaveAttribute(
      'href',
      '/pullrequests/shop/infra-7',
    )
    const row = (name: RegExp) => within(table).getByRole('row', { name })
    expect(row(/#7/)).toHaveTextContent('Planned')
    expect(row(/#7/)).toHaveTextContent('1 planned')
    expect(row(/#8/)).toHaveTextContent('Plans failed')
    expect(row(/#8/)).toHaveTextContent('Fork')
    expect(row(/#8/)).toHaveTextContent('1 planned, 1 failed, 2 pending, 1 skipped')
    expect(row(/#9/)).toHaveTextContent('Awaiting command')
    const list = new URL(asked.find((a) => a.path.startsWith('/api/v1/pullrequests'))!.path, 'http://localhost')
    expect(Object.fromEntries(list.searchParams)).toEqual({
      limit: '100',
      phase: 'Planned',
      repository: 'infra',
      author: 'gitea:a:b',
      stack: 'shop/net',
      q: 'subnet',
    })
    expect(document.title).toBe('Pull requests · Cairn')
  })

  test('have a page with the plans of the affected Stacks', async () => {
    showApp('/pullrequests/shop/infra-7', {
      [of]: pull(
        { affected: 4, ready: 'False', reason: 'PlansFailed' },
        {
          stacks: [
            { namespace: 'shop', name: 'net', run: 'net-pr7', phase: 'Succeeded', plan },
            { namespace: 'blog', name: 'web', run: 'web-pr7', phase: 'Failed', message: 'no such file' },
            { namespace: 'shop', name: 'old', run: 'old-pr7', phase: 'Planning', deletedDirectory: 'envs/old' },
            { namespace: 'shop', name: 'db', run: 'db-pr7', phase: 'Succeeded', plan, new: true },
          ],
          skipped: ['shop/extra'],
          commands: {
            answer: 'All affected Stacks are planned again.',
            allowedBy: 'alice',
            allowedHead: 'a'.repeat(40),
          },
          delivered: { failure: '503 Service Unavailable' },
        },
      ),
    })
    await screen.findByRole('heading', { level: 1, name: 'Widen the subnet #7' })
    expect(screen.getByRole('link', { name: '#7' })).toHaveAttribute(
      'href',
      'https://git.example.com/acme/infra/pulls/7',
    )
    expect(screen.getByText(/1 of 3 plans failed/)).toHaveTextContent('Plans failed: 1 of 3 plans failed')
    expect(screen.getByText('main wider')).toHaveTextContent('main ←from wider')
    const table = screen.getByRole('table', { name: 'Affected Stacks' })
    expect(within(table).getByRole('link', { name: 'shop/net' })).toHaveAttribute('href', '/stacks/shop/net')
    expect(within(table).getByRole('link', { name: 'Plan of shop/net' })).toHaveAttribute('href', '/runs/shop/net-pr7')
    expect(within(table).getByRole('link', { name: 'Plan of blog/web' })).toHaveAttribute('href', '/runs/blog/web-pr7')
    const row = (name: RegExp) => within(table).getByRole('row', { name })
    expect(row(/shop\/net/)).toHaveTextContent('2 to add')
    expect(row(/shop\/net/)).toHaveTextContent('3 to destroy')
    expect(row(/blog\/web/)).toHaveTextContent('no such file')
    expect(row(/shop\/old/)).toHaveTextContent('deletes the directory envs/old')
    expect(row(/shop\/db/)).toHaveTextContent('New')
    expect(row(/shop\/db/)).toHaveTextContent('begins with an empty state')
    expect(within(table).queryByRole('link', { name: 'shop/db' })).not.toBeInTheDocument()
    expect(within(table).getByRole('link', { name: 'Plan of shop/db' })).toHaveAttribute('href', '/runs/shop/db-pr7')
    expect(screen.getByText('shop/extra')).toBeInTheDocument()
    expect(screen.getByText(/All affected Stacks are planned again/)).toBeInTheDocument()
    expect(screen.getByText('by alice')).toBeInTheDocument()
    expect(screen.getByRole('alert')).toHaveTextContent('503 Service Unavailable')
    expect(document.title).toBe('infra-7 · Pull requests · Cairn')
  })

  test('have what the merge will do, what it did, and what no plan shows', async () => {
    const hostile = '<img src=x onerror=alert(1)>\u202e'
    const { container } = showApp('/pullrequests/shop/infra-7', {
      [of]: pull(
        { affected: 3, state: 'Merged', phase: 'ApplyFailed' },
        {
          stacks: [
            {
              namespace: 'shop',
              name: 'net',
              phase: 'Succeeded',
              plan,
              onMerge: { action: 'Apply' },
              approval: {
                by: 'gitea:git.example.com:bob',
                from: 'Reviews',
                at: '2026-01-01T00:00:00Z',
                head: 'h',
                planDigest: 'd',
                fingerprint: 'f',
              },
            },
            {
              namespace: 'prod',
              name: 'net',
              phase: 'Succeeded',
              plan,
              onMerge: { action: 'AwaitApproval', rules: ['Apply'], message: `spec.apply is Manual ${hostile}` },
              approval: {
                by: hostile,
                at: '2026-01-01T00:00:00Z',
                head: 'h',
                planDigest: 'd',
                fingerprint: 'f',
                void: 'another head',
              },
            },
            { namespace: 'shop', name: 'old', phase: 'Planning' },
            {
              namespace: 'shop',
              name: 'later',
              deferred: true,
              message: `planned after blog/dns is applied ${hostile}`,
            },
          ],
          dependents: [
            { namespace: 'shop', name: 'cluster', message: `planned after blog/dns is applied (${hostile})` },
          ],
          moreDependents: 7,
          apply: {
            stacks: [
              { namespace: 'prod', name: 'net', phase: 'Failed', run: 'net-12', reason: 'RunFailed', message: hostile },
              { namespace: 'shop', name: 'net', phase: 'Applied', run: 'net-13', plan },
            ],
            moreStacks: 4,
          },
          unplanned: { directories: ['envs/new'], manifests: [`stacks/${hostile}`], moreManifests: 2 },
        },
      ),
    })
    await screen.findByRole('heading', { name: 'After the merge (6)' })
    const before = screen.getByRole('table', { name: 'Affected Stacks' })
    const rowOf = (table: HTMLElement, name: RegExp) => within(table).getByRole('row', { name })
    expect(rowOf(before, /shop\/net/)).toHaveTextContent('Applies at once')
    expect(rowOf(before, /shop\/net/)).toHaveTextContent('Approved by a review of gitea:git.example.com:bob')
    expect(rowOf(before, /prod\/net/)).toHaveTextContent('Waits for an approval: spec.apply is Manual <img')
    expect(rowOf(before, /prod\/net/)).toHaveTextContent(/The approval by <img.* is void: another head/)
    expect(rowOf(before, /shop\/later/)).toHaveTextContent('Deferred')
    expect(rowOf(before, /shop\/later/)).toHaveTextContent('planned after blog/dns is applied <img')
    expect(screen.getByRole('heading', { name: 'Other Stacks after the merge (8)' })).toBeInTheDocument()
    expect(screen.getByRole('link', { name: 'shop/cluster' })).toHaveAttribute('href', '/stacks/shop/cluster')
    expect(screen.getByText('7 more are not listed.')).toBeInTheDocument()
    const after = screen.getByRole('table', { name: 'After the merge' })
    expect(rowOf(after, /prod\/net/)).toHaveTextContent('Run failed')
    expect(within(after).getByRole('link', { name: 'Run of shop/net after the merge' })).toHaveAttribute(
      'href',
      '/runs/shop/net-13',
    )
    expect(screen.getByText('4 more are not listed.')).toBeInTheDocument()
    expect(screen.getByText('envs/new')).toBeInTheDocument()
    expect(screen.getByText('and 2 more')).toBeInTheDocument()
    expect(container.querySelector('img')).toBeNull()
    expect(container.textContent).not.toContain('\u202e')
  })

  test('list what the merge changes in StackSets', async () => {
    const hostile = '</li><img src=x onerror=alert(1)>\u202e'
    const { container } = showApp('/pullrequests/shop/infra-7', {
      [of]: pull(
        { affected: 0 },
        {
          stackSets: [
            { namespace: 'shop', name: 'broken', reason: 'RenderingFailed', message: `no such key: ${hostile}` },
            {
              namespace: 'shop',
              name: 'platform',
              prune: 'Keep',
              go: 1,
              change: 1,
              appear: 21,
              stacks: [
                { effect: 'Go', name: 'dev-old', directory: 'envs/dev/old' },
                { effect: 'Change', name: 'dev-net', directory: 'envs/net', fields: ['spec.source.git.path'] },
                { effect: 'Appear', name: 'dev-db', directory: hostile },
              ],
            },
          ],
          moreStackSets: 2,
        },
      ),
    })
    await screen.findByRole('heading', { name: 'StackSets (4)' })
    expect(screen.getByRole('link', { name: 'shop/platform' })).toHaveAttribute('href', '/stacksets/shop/platform')
    expect(screen.getByText('Rendering failed')).toBeInTheDocument()
    expect(screen.getByText(/no such key: <\/li><img/)).toBeInTheDocument()
    expect(screen.getByText('1 would go, 1 would change, 21 would appear')).toBeInTheDocument()
    expect(screen.getByText(/its resources and its State stay/)).toBeInTheDocument()
    expect(screen.getByText('spec.source.git.path')).toBeInTheDocument()
    expect(screen.getByText('and 20 more')).toBeInTheDocument()
    expect(screen.getByText('2 more are not listed.')).toBeInTheDocument()
    expect(container.querySelector('img')).toBeNull()
    expect(container.textContent).not.toContain('\u202e')
  })

  test('show conflicts, and that the status is about an older commit', async () => {
    showApp('/pullrequests/shop/infra-7', {
      [of]: pull(
        { phase: 'Conflict', affected: 0 },
        { head: 'b'.repeat(40), merge: { head: 'b', base: 'c', conflicts: ['net/main.tf'] } },
      ),
    })
    expect(await screen.findByText('net/main.tf')).toBeInTheDocument()
    expect(screen.getByText(/This is about commit bbbbbbb; the newest is aaaaaaa/)).toBeInTheDocument()
    expect(screen.getByText('No Stack is planned')).toBeInTheDocument()
  })

  test('show text of their authors as text, and no link but of http and https', async () => {
    const hostile = '<img src=x onerror=alert(1)>\u202egpj.exe'
    const { container } = showApp('/pullrequests/shop/infra-7', {
      [of]: pull(
        { title: hostile, author: hostile, branch: hostile, url: 'javascript:alert(1)' },
        {
          conditions: [{ ...ready, message: hostile }],
          stacks: [{ namespace: 'shop', name: 'net', message: hostile, deletedDirectory: hostile }],
          commands: { answer: hostile },
          delivered: { failure: hostile },
          merge: { head: 'a', base: 'b', conflicts: [hostile] },
        },
      ),
    })
    await screen.findByRole('heading', { level: 1, name: '<img src=x onerror=alert(1)>\\u202egpj.exe #7' })
    expect(container.querySelector('img')).toBeNull()
    expect(container.textContent).not.toContain('\u202e')
    for (const link of container.querySelectorAll('a')) expect(link.getAttribute('href')).toMatch(/^[/#]/)
  })

  test('that plan a Stack are on its page', async () => {
    showApp('/stacks/shop/web', {
      [at]: stack(
        { repository: 'shop/infra' },
        { spec: { ...spec, source: { git: { repository: { name: 'infra' } } } } },
      ),
      '/api/v1/pullrequests?stack=shop%2Fweb&state=Open&limit=5': runs(aPullRequest()),
    })
    const table = await screen.findByRole('table', { name: 'Pull requests that plan web' })
    expect(within(table).getByRole('link', { name: '#7 Widen the subnet' })).toBeInTheDocument()
  })

  test('of a Repository are on its page, with the reason why its list is not known', async () => {
    showApp('/repositories/shop/infra', {
      '/api/v1/namespaces/shop/repositories/infra': {
        body: {
          row: { ...metadata, name: 'infra', url: 'https://git.example.com/acme/infra.git', ready: 'True' },
          object: {
            metadata: { ...metadata, name: 'infra' },
            spec: { url: 'https://git.example.com/acme/infra.git', pullRequests: { provider: 'Gitea' } },
            status: {
              conditions: [
                { ...ready, type: 'PullRequests', reason: 'CredentialsNotFound', message: 'no Secret infra-pulls' },
              ],
            },
          },
        },
      },
      '/api/v1/pullrequests?namespace=shop&repository=infra&state=Open&limit=50': runs(aPullRequest()),
    })
    const table = await screen.findByRole('table', { name: 'Pull requests of infra' })
    expect(within(table).getByRole('link', { name: '#7 Widen the subnet' })).toBeInTheDocument()
    expect(screen.getByText(/no Secret infra-pulls/)).toHaveTextContent('Credentials not found')
  })

  test('of a Repository that cannot be fetched any more are shown with the reason', async () => {
    const of = '/api/v1/namespaces/shop/repositories/infra'
    const url = 'https://git.example.com/acme/infra.git'
    let now: object = {
      body: {
        row: { ...metadata, name: 'infra', url, ready: 'True' },
        object: { metadata: { ...metadata, name: 'infra' }, spec: { url } },
      },
    }
    const { context } = showApp('/repositories/shop/infra', { [of]: () => now })
    await screen.findByText(url)
    now = problem(404, 'there is no Repository infra in namespace shop')
    await context.client.invalidateQueries({ queryKey: ['repositories', 'shop', 'infra'] })
    expect(await screen.findByText('there is no Repository infra in namespace shop')).toBeInTheDocument()
  })

  test('are linked from their Runs, and g q leads to them', async () => {
    const { router } = showApp('/runs/shop/net-pr7', {
      '/api/v1/namespaces/shop/runs/net-pr7': {
        body: {
          row: aRun({ name: 'net-pr7', phase: 'Succeeded' }),
          object: {
            metadata: { ...metadata, name: 'net-pr7' },
            spec: {
              stack: { name: 'net' },
              operation: 'Plan',
              cause: { type: 'PullRequest' },
              inputsDigest: 'sha256:' + 'a'.repeat(64),
              pullRequest: { namespace: 'code', name: 'infra-7', uid: 'u', newStack: true },
            },
            status: { phase: 'Succeeded' },
          },
        },
      },
    })
    expect(await screen.findByRole('link', { name: 'code/infra-7' })).toHaveAttribute(
      'href',
      '/pullrequests/code/infra-7',
    )
    expect(screen.getByText(/New Stack net/)).toBeInTheDocument()
    expect(screen.queryByRole('link', { name: /Stack net/ })).toBeNull() // it does not exist
    await userEvent.setup().keyboard('gq')
    await waitFor(() => expect(router.state.location.pathname).toBe('/pullrequests'))
  })

  test('follow changes', async () => {
    let now = pull({ phase: 'Merging', ready: 'Unknown' })
    const { context } = showApp('/pullrequests/shop/infra-7', { [of]: () => now })
    expect(await screen.findByText('Merging')).toBeInTheDocument()
    now = pull()
    await context.client.invalidateQueries({ queryKey: ['pullrequests', 'shop', 'infra-7'] })
    expect(await screen.findByText('Planned')).toBeInTheDocument()
  })
})

describe('the overview', () => {
  test('shows what waits for a user', async () => {
    showApp('/', {
      '/api/v1/runs?phase=AwaitingApproval&sort=created&limit=5': runs(
        aRun({ name: 'web-9', phase: 'AwaitingApproval' }),
      ),
      '/api/v1/stacks?drifted=true&sort=-changed&limit=5': runs(
        aStack({ name: 'net', drifted: true, reason: 'Drifted' }),
      ),
      '/api/v1/activity': {
        body: { step: '4h', steps: [{ from: '2026-01-01T00:00:00Z', succeeded: 3, failed: 1, others: 0 }] },
      },
    })
    expect(await screen.findByRole('link', { name: 'shop/web-9' })).toHaveAttribute('href', '/runs/shop/web-9')
    expect(screen.getByRole('link', { name: 'shop/net' })).toHaveAttribute('href', '/stacks/shop/net')
    expect(screen.queryByText('Failing')).toBeNull()
    expect(await screen.findByText('3 succeeded')).toBeInTheDocument()
  })

  test('shows the Stacks that the server lists as failing', async () => {
    showApp('/', {
      '/api/v1/stacks?failing=true&sort=-changed&limit=5': runs(
        aStack({ name: 'net', ready: 'False', failing: true, reason: 'TemplateInvalid' }),
      ),
    })
    expect(await screen.findByText('Failing')).toBeInTheDocument()
    expect(screen.getByRole('link', { name: 'shop/net' })).toHaveAttribute('href', '/stacks/shop/net')
  })

  test('shows that nothing waits', async () => {
    showApp('/', {})
    expect(await screen.findByText(/Nothing: no plan awaits approval/)).toBeInTheDocument()
  })
})

test('the dialog of a rollback says what follows: a plan, which is not applied unless drift is', async () => {
  const at = '/api/v1/namespaces/shop/states/web'
  const version = (version: number) => ({ version, serial: version, at: '2026-01-01T00:00:00Z', sha256: '0', size: 1 })
  showApp('/states/shop/web', {
    [at]: { body: { row: {}, object: { metadata, status: { version: 2, versions: [version(1), version(2)] } } } },
    [`${at}/access`]: may('rollback'),
  })
  await userEvent.setup().click(await screen.findByRole('button', { name: 'Roll back…' }))
  const dialog = await screen.findByRole('dialog')
  expect(dialog).toHaveTextContent('Cairn then plans the Stack')
  expect(dialog).toHaveTextContent('only if spec.apply is Automatic and spec.drift.onDrift is Apply')
  // A suspended Stack is not planned, and its plan cannot be reviewed.
  expect(dialog).not.toHaveTextContent('suspend')
})
