// Shared by the tests: one Cairn, one browser, users, and checks that apply to every page.
import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { chromium } from 'playwright-core'
import { startCairn } from './cairn.mjs'

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'
// Long enough for a busy machine.
const timeout = 60_000

const pageErrors = []
let cairn, browser, admin

/** Starts one Cairn and one browser for all tests, and signs in the administrator. */
export function useCairn() {
  before(async () => {
    cairn = await startCairn()
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
    const page = await newPage()
    await page.goto(cairn.link)
    await page.getByRole('link', { name: 'Stacks' }).first().waitFor()
    admin = await page.context().storageState()
    await page.context().close()
  }, { timeout: 300_000 })
  after(async () => {
    await browser?.close()
    await cairn?.stop()
  })
}

/** Closes all pages. It fails if one had an error or a request to another host. */
export async function noErrors() {
  await Promise.all(browser.contexts().map((context) => context.close()))
  assert.deepEqual(pageErrors.splice(0), [])
}

/** Returns the running Cairn. */
export const getCairn = () => cairn

/**
 * Opens a page in a new browser context, and records its errors and requests to other hosts. `fails` are the paths of requests that the
 * test expects to fail; the browser's console errors about these are ignored.
 */
export async function newPage({ fails = [], ...options } = {}) {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 900 }, ...options })
  context.setDefaultTimeout(timeout)
  context.on('page', (page) => {
    page.on('pageerror', (error) => pageErrors.push(`exception: ${error.message}`))
    page.on('console', (message) => {
      if (message.type() !== 'error') return
      const { url } = message.location()
      const expected = /^Failed to load resource/.test(message.text()) && fails.some((path) => path.test(url))
      if (!expected) pageErrors.push(`on ${page.url()} the console has an error: ${message.text()} (${url})`)
    })
    page.on('request', (request) => {
      const url = new URL(request.url())
      if (url.protocol !== 'blob:' && url.origin !== cairn.origin) pageErrors.push(`a request to ${url.origin}`)
    })
    page.on('dialog', (dialog) => {
      pageErrors.push(`a dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
  })
  return context.newPage()
}

/** Opens a page as the administrator. */
export const asAdmin = (options) => newPage({ storageState: admin, ...options })

/**
 * Opens a page as a user with cairn-view only, in all namespaces or in one, who signs in by the form with a Kubernetes token.
 */
export async function asViewer(name, { namespace, ...options } = {}) {
  const token = await viewerToken(name, namespace)
  const page = await newPage(options)
  await to(page, '/signin?to=/stacks')
  await page.getByLabel('Kubernetes token').fill(token)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(cairn.origin + '/stacks')
  return page
}

/** Creates a ServiceAccount with cairn-view only, in all namespaces or in one, and returns a token of it. */
async function viewerToken(name, only) {
  const namespace = 'default'
  await cairn.apply(
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: only ? 'RoleBinding' : 'ClusterRoleBinding',
      metadata: only ? { name, namespace: only } : { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cairn-view' },
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
    },
  )
  // RBAC takes effect asynchronously; until then the web UI would show a denial.
  const allowed = () =>
    cairn.kubectl('auth', 'can-i', 'list', 'stacks.cairn.dev', `--as=system:serviceaccount:${namespace}:${name}`, `--namespace=${only ?? namespace}`).then(
      () => true,
      () => false,
    )
  while (!(await allowed()));
  return (await cairn.kubectl('create', 'token', name, '--namespace', namespace)).trim()
}

/** Opens a path of the web UI. */
export const to = (page, path) => page.goto(cairn.origin + path)

/** Waits until a page shows a text. */
export const waitForText = (page, text, options) => page.getByText(text, options).first().waitFor()
