// The review of a plan that destroys, at three widths: what is destroyed and replaced comes first, and an approval confirms it by sight. Then
// the apply of a plan, resource by resource.
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { useAxe, violations } from './axe.mjs'
import { asAdmin, noErrors, waitForText, getCairn, to } from './base.mjs'
import { stack } from './cairn.mjs'

const items = 25
const code = ({ count, version }) => `
  resource "terraform_data" "item" {
    count = ${count}
    input = "item \${count.index}"
  }
  resource "terraform_data" "added" {
    count = ${version}
  }
  module "inner" {
    source  = "./inner"
    release = ${version}
  }
`
const inner = `
  variable "release" { type = number }
  resource "terraform_data" "server" { triggers_replace = [var.release] }
`
const review = (of, spec) => {
  const all = stack('review', code(of), spec)
  all.spec.source.inline['inner/main.tf'] = inner
  return all
}

const widths = [1440, 1024, 390]

// An apply whose resource slow lasts until the file exists.
const waits = (file) => `
  resource "terraform_data" "fast" {
    count = 3
  }
  resource "terraform_data" "slow" {
    depends_on = [terraform_data.fast]
    provisioner "local-exec" {
      command = "until [ -e ${file} ]; do sleep 0.1; done"
    }
  }
  resource "terraform_data" "last" {
    depends_on = [terraform_data.slow]
  }
`

describe('the review of a plan', () => {
  let cairn, user, folder
  before(async () => {
    cairn = getCairn()
    user = await asAdmin({ reducedMotion: 'reduce' })
    folder = await mkdtemp(join(tmpdir(), 'cairn-review-'))
    await useAxe(user)
    await cairn.apply(review({ count: items, version: 1 }, { apply: 'Automatic' }), stack('progress', waits(join(folder, 'file')), { apply: 'Manual' }))
    await cairn.until('run/review-1', 'jsonpath={.status.phase}=Succeeded')
    await cairn.apply(review({ count: 1, version: 2 }, { apply: 'Manual' }))
    await cairn.until('run/review-2', 'jsonpath={.status.phase}=AwaitingApproval')
  }, { timeout: 180_000 })
  after(async () => {
    await rm(folder, { recursive: true, force: true })
    await noErrors()
  })
  const fits = async () => assert.equal(await user.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth), false)

  for (const width of widths) {
    test(`starts with what is destroyed and replaced, at a width of ${width}`, async () => {
      await user.setViewportSize({ width, height: 900 })
      await to(user, '/runs/default/review-2')
      const region = user.getByRole('region', { name: 'Changes' })
      const rows = region.getByRole('button')
      await rows.filter({ hasText: 'item[2]' }).waitFor()
      const [first, second] = (await rows.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ').trim())
      assert.match(first, /^Destroyed and replaced/)
      assert.match(second, /item\[1\]/)
      assert.equal(await rows.nth(1).getAttribute('aria-expanded'), 'true')
      await waitForText(region, '"item 1"')
      assert.deepEqual(await violations(user), [])

      // Rows are measured when they are visible, so the end moves until all of them were.
      await user.waitForFunction(() => {
        const box = document.querySelector('[aria-label=Changes]')
        box.scrollTop = box.scrollHeight
        return box.innerText.includes('added[1]')
      })
      const order = (await rows.allInnerTexts()).map((text) => /item\[\d+\]|server|Root module|added/.exec(text)?.[0]).filter(Boolean)
      assert.deepEqual(order.slice(-4), [`item[${items - 1}]`, 'server', 'Root module', 'added'])
      await fits()

      await user.getByRole('button', { name: 'Approve…' }).click()
      const list = user.getByRole('dialog').getByRole('list', { name: 'Destroyed and replaced' })
      const addresses = (await list.getByRole('listitem').allInnerTexts()).map((text) => /item\[\d+\]|server/.exec(text)?.[0])
      assert.deepEqual(addresses, Array.from({ length: 20 }, (_, i) => `item[${i + 1}]`))
      await waitForText(user.getByRole('dialog'), `and ${items - 20} more`)
      assert.deepEqual(await violations(user), [])
      await user.keyboard.press('Escape')
    })
  }

  test('is followed by an apply that shows each resource while it runs, and by a duration without the wait', async () => {
    await to(user, '/runs/default/progress-1')
    await user.getByRole('button', { name: 'Approve…' }).click()
    await user.getByRole('button', { name: 'Approve and apply' }).click()
    await user.getByRole('tab', { name: 'Apply', exact: true, selected: true }).waitFor()
    await waitForText(user, '3 of 5 done, 1 in progress')
    const region = user.getByRole('region', { name: 'Resources of the apply' })
    const row = (name) => region.getByRole('listitem').filter({ hasText: name })
    await waitForText(row('slow'), /in progress \d+s/)
    await waitForText(row('last'), 'pending')
    await waitForText(row('fast[2]'), /done \d/)
    for (const width of widths) {
      await user.setViewportSize({ width, height: 900 })
      await fits()
      assert.deepEqual(await violations(user), [])
    }
    await writeFile(join(folder, 'file'), '')
    await waitForText(user, '5 of 5 done')
    await waitForText(user, 'Succeeded', { exact: true })
    await waitForText(user.getByRole('status'), '5 added')
    await waitForText(user.getByRole('main'), /, waited .* for an approval/)
    assert.equal(await user.getByRole('main').getByText(/Applying|in progress|pending/).count(), 0)
    await user.setViewportSize({ width: widths[0], height: 900 })
    await to(user, '/runs?q=progress')
    await user.getByTitle(/^waited .* for an approval$/).filter({ visible: true }).first().waitFor({ state: 'attached' })
  })

  test('scrolls 5,000 changes at 50 frames a second or more', async (t) => {
    const page = await asAdmin()
    const attributes = Array.from({ length: 8 }, (_, i) => ({ path: `attribute_${i}`, before: `${i}`.repeat(40) }))
    const changes = Array.from({ length: 5_000 }, (_, i) => ({ address: `module.m${i % 50}.a.b[${i}]`, module: `module.m${i % 50}`, action: i < 2_500 ? 'delete' : 'create', attributes }))
    await page.route('**/runs/review-2/plan', (route) => route.fulfill({ json: { changes } }))
    await to(page, '/runs/default/review-2')
    const region = page.getByRole('region', { name: 'Changes' })
    await waitForText(page, '5,000 in all')
    const devtools = await page.context().newCDPSession(page)
    await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
    const work = async () => 1_000 * (await devtools.send('Performance.getMetrics')).metrics.find((m) => m.name === 'TaskDuration').value
    const before = await work()
    const frames = 150
    // 120 pixels a frame: 6,000 a second at 50 frames a second.
    await region.evaluate(
      (box, frames) =>
        new Promise((resolve) => {
          const step = (left) => {
            box.scrollTop += 120
            if (left > 0) requestAnimationFrame(() => step(left - 1))
            else resolve()
          }
          requestAnimationFrame(() => step(frames - 1))
        }),
      frames,
    )
    const each = (await work()) - before
    const scrolled = await region.evaluate((box) => box.scrollTop)
    t.diagnostic(`${(each / frames).toFixed(1)} ms of CPU time for a frame`)
    assert.equal(scrolled, 120 * frames)
    assert.ok(each / frames < 20, `${each / frames} ms of CPU time for a frame`)
    await page.context().close()
  })
})
