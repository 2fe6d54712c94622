// The main workflow on a phone: a user finds, reads and approves a plan.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { useAxe, violations } from './axe.mjs'
import { asAdmin, noErrors, waitForText, getCairn, to } from './base.mjs'
import { stack } from './cairn.mjs'

const long = 'a-module-with-a-name-that-is-longer-than-a-phone-is-wide'
const code = `
  resource "terraform_data" "${long.replaceAll('-', '_')}" {
    for_each = toset(["eu-central-1", "us-east-1"])
    input    = { name = each.key, description = "${'word'.repeat(60)}" }
  }
  output "endpoint" { value = "https://${'long-'.repeat(40)}.example.com" }
`

describe('a phone', () => {
  let user
  before(async () => {
    const cairn = getCairn()
    user = await asAdmin({ viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2, reducedMotion: 'reduce' })
    await useAxe(user)
    await cairn.apply(stack('pocket', code, { apply: 'Manual' }))
    await cairn.until('run/pocket-1', 'jsonpath={.status.phase}=AwaitingApproval')
  }, { timeout: 180_000 })
  after(noErrors)

  /** Fails if the page scrolls horizontally, or a button is outside of the viewport. */
  const fits = async (what) => {
    const found = await user.evaluate(() => {
      const width = document.documentElement.clientWidth
      const wide = [document.documentElement, document.body, document.querySelector('main')].filter((e) => e && e.scrollWidth > e.clientWidth)
      // A user can scroll to elements in a scrollable box.
      const inBox = (e) => e.parentElement?.closest('[role=region], [role=tablist], .overflow-x-auto, .react-flow, .sr-only') !== null
      const beside = [...document.querySelectorAll('main button, nav a, header button, [role=dialog] button')].filter((e) => {
        const { left, right, width: w } = e.getBoundingClientRect()
        return w > 0 && !inBox(e) && (left < 0 || right > width + 0.5)
      })
      return { width, wide: wide.map((e) => `${e.tagName}: ${e.scrollWidth}`), beside: beside.map((e) => e.outerHTML.slice(0, 200)) }
    })
    assert.deepEqual(found, { width: 390, wide: [], beside: [] }, what)
  }
  const navigation = () => user.getByRole('navigation', { name: 'Pages' }).filter({ visible: true })

  for (const [path, shows] of [
    ['/', 'Needs attention'],
    ['/stacks', 'pocket'],
    ['/stacks/default/pocket', 'Read the plan of pocket-1'],
    ['/stacks/default/pocket?tab=spec', 'apiVersion'],
    ['/stacksets', 'StackSets'],
    ['/runs', 'pocket-1'],
    ['/runs/default/pocket-1', 'eu-central-1'],
    ['/runs/default/pocket-1?tab=text', 'will be created'],
    ['/runs/default/pocket-1?tab=log', /Plan: 2 to add/],
    ['/states', 'States'],
    ['/repositories', 'Repositories'],
    ['/pullrequests', 'Pull requests'],
    ['/notifications', 'Notifications'],
    ['/driftpauses', 'Drift pauses'],
    ['/pipelines', 'Pipelines'],
    ['/graph', /\d+ listed/],
  ]) {
    test(`${path} fits the width of a phone`, async () => {
      await to(user, path)
      await waitForText(user.getByRole('main'), shows)
      await user.waitForFunction(() => !document.querySelector('main .animate-pulse'))
      await fits(path)
    })
  }

  test('a user finds, reads and approves a plan that waits', async () => {
    await to(user, '/')
    await waitForText(user, 'Needs attention')
    // The overview has only the first of those that wait.
    await navigation().getByRole('link', { name: /^Runs/ }).tap()
    await user.waitForURL('**/runs')
    await user.getByRole('main').getByRole('link', { name: /pocket-1/ }).first().tap()
    const change = user.getByRole('button', { name: /eu-central-1/ })
    await change.tap()
    await waitForText(user, '"eu-central-1"')
    await fits('an expanded change')
    assert.deepEqual(await violations(user), [])

    // The button is visible at any scroll position.
    const approve = user.getByRole('button', { name: 'Approve…' })
    for (const part of [0, 1]) {
      await user.getByRole('main').evaluate((main, part) => main.scrollTo(0, main.scrollHeight * part), part)
      const { y, height } = await approve.boundingBox()
      assert.ok(y > 0 && y + height < 844, `the button is at ${y}`)
    }
    await approve.tap()
    const dialog = user.getByRole('dialog')
    await dialog.getByText('2 to add').waitFor()
    await fits('the confirmation')
    const box = await dialog.boundingBox()
    assert.ok(box.x >= 0 && box.x + box.width <= 390 && box.y >= 0 && box.y + box.height <= 844, JSON.stringify(box))
    assert.deepEqual(await violations(user), [])
    await dialog.getByRole('button', { name: 'Approve and apply' }).tap()
    await waitForText(user, 'Succeeded', { exact: true })
    await fits('a Run that is applied')

    await to(user, '/stacks/default/pocket?tab=outputs')
    await waitForText(user, /^https:\/\/long-/)
    await fits('outputs')
    await to(user, '/states/default/pocket')
    await waitForText(user, 'current')
    await fits('a state')
  })
})
