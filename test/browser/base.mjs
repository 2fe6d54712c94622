// What the tests share: a Cairn, a browser, people in it, and what the page may not do.
import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { chromium } from 'playwright-core'
import { startCairn } from './cairn.mjs'

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'
// What is waited for comes within a second or so; this is for a machine that has much else to do.
const timeout = 60_000

const complaints = []
let cairn, browser, admin

/** Starts one Cairn and one browser for all tests, and signs the administrator in. */
export function useCairn() {
  before(async () => {
    cairn = await startCairn()
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
    const page = await fresh()
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

/** Closes all pages. It fails when one of them complained, or asked another host. */
export async function noComplaints() {
  await Promise.all(browser.contexts().map((context) => context.close()))
  assert.deepEqual(complaints.splice(0), [])
}

/** Gives the Cairn that runs. */
export const theCairn = () => cairn

/**
 * Opens a browser of its own. Whatever it complains about, and each request to another host, is kept. `fails` are the paths whose
 * requests the test makes fail; the browser's own word about these is no complaint.
 */
export async function fresh({ fails = [], ...options } = {}) {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 900 }, ...options })
  context.setDefaultTimeout(timeout)
  context.on('page', (page) => {
    page.on('pageerror', (error) => complaints.push(`thrown: ${error.message}`))
    page.on('console', (message) => {
      if (message.type() !== 'error') return
      const { url } = message.location()
      const expected = /^Failed to load resource/.test(message.text()) && fails.some((path) => path.test(url))
      if (!expected) complaints.push(`on ${page.url()} the console has: ${message.text()} (${url})`)
    })
    page.on('request', (request) => {
      const url = new URL(request.url())
      if (url.protocol !== 'blob:' && url.origin !== cairn.origin) complaints.push(`a request to ${url.origin}`)
    })
    page.on('dialog', (dialog) => {
      complaints.push(`a dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
  })
  return context.newPage()
}

/** Opens a browser in which the administrator is signed in. */
export const asAdmin = (options) => fresh({ storageState: admin, ...options })

/** Opens a browser, and signs somebody who may only look in there, by the form with a token of Kubernetes. */
export async function asViewer(name, options) {
  const token = await viewerToken(name)
  const page = await fresh(options)
  await to(page, '/signin?to=/stacks')
  await page.getByLabel('A token of Kubernetes').fill(token)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(cairn.origin + '/stacks')
  return page
}

/** Makes an account that may only look, and gives a token of it. */
async function viewerToken(name) {
  const namespace = 'default'
  await cairn.apply(
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cairn-view' },
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
    },
  )
  // The API server hears of roles in the background; until then the page would be told that nothing may be seen.
  const may = () =>
    cairn.kubectl('auth', 'can-i', 'list', 'stacks.cairn.dev', `--as=system:serviceaccount:${namespace}:${name}`).then(
      () => true,
      () => false,
    )
  while (!(await may()));
  return (await cairn.kubectl('create', 'token', name, '--namespace', namespace)).trim()
}

/** Opens a path of the page. */
export const to = (page, path) => page.goto(cairn.origin + path)

/** Waits until a page shows a text. */
export const seen = (page, text, options) => page.getByText(text, options).first().waitFor()
