// Checks the accessibility of every view, light and dark, on a desktop, a laptop and a phone. SCREENS=1, which `make browser` sets except in CI, also writes screenshots to docs/screens.
import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { useAxe, violations } from './axe.mjs'
import { asAdmin, newPage, noErrors, getCairn, to } from './base.mjs'
import { createFleet } from './fleet.mjs'
import { views } from './viewlist.mjs'

const screens = process.env.SCREENS && new URL('../../docs/screens/', import.meta.url).pathname

const viewports = { desktop: { width: 1440, height: 900 }, laptop: { width: 1024, height: 768 }, phone: { width: 390, height: 844 } }

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
  const options = { viewport: viewports.desktop, reducedMotion: 'reduce' }
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
    test(`${view.path} is accessible`, () => checkView(user, { ...view, path: view.path.replace('COMMIT', fleet.commit) }))
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
  const found = []
  for (const [device, viewport] of Object.entries(viewports)) {
    await page.setViewportSize(viewport)
    const inColors = await violations(page, async (colors) => {
      const taken = { desktop: colors === 'light' || dark, phone: colors === 'light' && phone }[device]
      if (screens && screen && taken) await picture(page, screen + (colors === 'dark' ? '-dark' : '') + (device === 'phone' ? '-phone' : ''))
    })
    found.push(...inColors.map((text) => `${device}, ${text}`))
  }
  await page.setViewportSize(viewports.desktop)
  assert.deepEqual(found, [])
}

const picture = (page, name) => page.screenshot({ path: `${screens}${name}.png`, animations: 'disabled', caret: 'hide' })
