// Every view, light and dark: who uses it without eyes or without a mouse finds nothing in the way. SCREENS=1 also keeps pictures
// of them, in docs/screens.
import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { useAxe, violations } from './axe.mjs'
import { asAdmin, fresh, noComplaints, theCairn, to } from './base.mjs'
import { makeFleet } from './fleet.mjs'

const screens = process.env.SCREENS && new URL('../../docs/screens/', import.meta.url).pathname

// Where it is, what it shows when it is there, and the name of its picture; `dark` and `phone` have one of their own.
const views = [
  { path: '/', shows: 'What needs you', screen: 'overview', dark: true, phone: true },
  { path: '/stacks', shows: 'monitoring', screen: 'stacks' },
  { path: '/stacks/prod/database', shows: 'database-2', screen: 'stack' },
  { path: '/stacks/prod/network?tab=resources', shows: 'Read the state' },
  { path: '/stacks/prod/network?tab=outputs', shows: '10.0.0.0/24' },
  { path: '/stacks/prod/network?tab=dependencies', shows: 'Wait for it' },
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
  { path: '/graph', shows: 'waits for network', screen: 'graph' },
]

// What asks before it acts.
const dialogs = [
  { path: '/runs/prod/database-2', button: 'Approve…', screen: 'run-approve' },
  { path: '/runs/prod/database-2', button: 'Reject' },
  { path: '/runs/prod/database-2', button: 'Cancel' },
  { path: '/runs/prod/alerts-1', button: 'Retry' },
  { path: '/stacks/prod/network', button: 'Suspend' },
  { path: '/stacks/prod/network', button: 'Destroy' },
]

describe('every view', () => {
  let fleet, person
  const options = { viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' }
  before(async () => {
    fleet = await makeFleet(theCairn())
    person = await asAdmin(options)
    await useAxe(person)
    if (screens) await mkdir(screens, { recursive: true })
  }, { timeout: 300_000 })
  after(async () => {
    await fleet?.stop()
    await noComplaints()
  })

  for (const view of views) {
    test(`${view.path} can be used by everybody`, () => look(person, view))
  }

  for (const { path, button, screen } of dialogs) {
    test(`what ${button} of ${path} asks can be used by everybody`, async () => {
      await to(person, path)
      await person.getByRole('button', { name: button, exact: true }).click()
      const dialog = person.getByRole('dialog')
      await dialog.waitFor()
      const found = await violations(person, (colors) => (screens && screen && colors === 'light' ? picture(person, screen) : undefined))
      await person.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
      assert.deepEqual(found, [])
    })
  }

  test('/signin can be used by everybody', async () => {
    const stranger = await fresh({ ...options, fails: [/\/api\/v1\//] })
    await useAxe(stranger)
    await look(stranger, { path: '/signin', shows: 'A token of Kubernetes', screen: 'signin' })
    await stranger.context().close()
  })
})

async function look(page, { path, shows, screen, dark, phone }) {
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
