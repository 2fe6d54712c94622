// Checks the accessibility of every view, light and dark. SCREENS=1, which `make browser` sets except in CI, also writes screenshots to docs/screens.
import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { useAxe, violations } from './axe.mjs'
import { asAdmin, newPage, noErrors, getCairn, to } from './base.mjs'
import { createFleet } from './fleet.mjs'

const screens = process.env.SCREENS && new URL('../../docs/screens/', import.meta.url).pathname

// The path of a view, a text that it shows when it is loaded, and the name of its screenshot; with `dark` and `phone` there are more.
const views = [
  { path: '/', shows: 'Needs attention', screen: 'overview', dark: true, phone: true },
  { path: '/stacks', shows: 'monitoring', screen: 'stacks' },
  { path: '/stacks/prod/database', shows: 'database-2', screen: 'stack' },
  { path: '/stacks/prod/network?tab=resources', shows: 'Read the state' },
  { path: '/stacks/prod/network?tab=outputs', shows: '10.0.0.0/24' },
  { path: '/stacks/prod/network?tab=dependencies', shows: 'Required by' },
  { path: '/stacks/prod/network?tab=events', shows: 'Events' },
  { path: '/stacks/prod/network?tab=spec', shows: /envs\/prod\/network/ },
  { path: '/runs', shows: 'alerts-1', screen: 'runs' },
  { path: '/runs/prod/database-2', shows: 'terraform_data.disk', screen: 'run-plan', dark: true, phone: true },
  { path: '/runs/prod/database-2?tab=text', shows: /will be replaced/ },
  { path: '/runs/prod/database-2?tab=graph', shows: 'terraform_data.disk' },
  { path: '/runs/prod/database-2?tab=events', shows: 'Events' },
  { path: '/runs/prod/database-1?tab=log&step=apply', shows: /Creation complete/, screen: 'run-log' },
  { path: '/runs/prod/alerts-1?tab=log', shows: /no such metric/ },
  { path: '/states', shows: 'database', screen: 'states' },
  { path: '/states/prod/database?tab=versions', shows: 'database-1', screen: 'state' },
  { path: '/states/prod/database?tab=resources', shows: /user\["shop"\]/ },
  { path: '/repositories', shows: 'infra', screen: 'repositories' },
  { path: '/repositories/prod/infra', shows: 'infra', screen: 'repository' },
  { path: '/pullrequests', shows: '#12', screen: 'pull-requests' },
  { path: '/pullrequests/prod/platform-12', shows: 'envs/prod/dns', screen: 'pull-request', dark: true, phone: true },
  { path: '/graph', shows: 'depends on network', screen: 'graph' },
]

// Actions with a confirmation.
const dialogs = [
  { path: '/runs/prod/database-2', button: 'Approve…', screen: 'run-approve' },
  { path: '/runs/prod/database-2', button: 'Reject' },
  { path: '/runs/prod/database-2', button: 'Cancel' },
  { path: '/runs/prod/alerts-1', button: 'Retry' },
  { path: '/stacks/prod/network', button: 'Suspend' },
  { path: '/stacks/prod/network', button: 'Destroy' },
]

describe('every view', () => {
  let fleet, user
  const options = { viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' }
  before(async () => {
    fleet = await createFleet(getCairn())
    user = await asAdmin(options)
    await useAxe(user)
    if (screens) await mkdir(screens, { recursive: true })
  }, { timeout: 300_000 })
  after(async () => {
    await fleet?.stop()
    await noErrors()
  })

  for (const view of views) {
    test(`${view.path} is accessible`, () => checkView(user, view))
  }

  for (const { path, button, screen } of dialogs) {
    test(`the confirmation of ${button} in ${path} is accessible`, async () => {
      await to(user, path)
      await user.getByRole('button', { name: button, exact: true }).click()
      const dialog = user.getByRole('dialog')
      await dialog.waitFor()
      const found = await violations(user, (colors) => (screens && screen && colors === 'light' ? picture(user, screen) : undefined))
      await user.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
      assert.deepEqual(found, [])
    })
  }

  test('/signin is accessible', async () => {
    const anonymous = await newPage({ ...options, fails: [/\/api\/v1\//] })
    await useAxe(anonymous)
    await checkView(anonymous, { path: '/signin', shows: 'Kubernetes token', screen: 'signin' })
    await anonymous.context().close()
  })
})

async function checkView(page, { path, shows, screen, dark, phone }) {
  await to(page, path)
  const main = page.getByRole('main')
  await main.getByText(shows).filter({ visible: true }).first().waitFor()
  await page.waitForFunction(() => !document.querySelector('main .animate-pulse'))
  const found = await violations(page, async (colors) => {
    if (screens && screen && (colors === 'light' || dark)) await picture(page, colors === 'light' ? screen : `${screen}-dark`)
  })
  if (screens && phone) {
    const was = page.viewportSize()
    await page.setViewportSize({ width: 390, height: 844 })
    await picture(page, `${screen}-phone`)
    await page.setViewportSize(was)
  }
  assert.deepEqual(found, [])
}

const picture = (page, name) => page.screenshot({ path: `${screens}${name}.png`, animations: 'disabled', caret: 'hide' })
