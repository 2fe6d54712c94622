// The resources in all states, and what changed between two versions of a state: at three widths, light and dark.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { useAxe, violations } from './axe.mjs'
import { asAdmin, asViewer, noErrors, getCairn, to } from './base.mjs'
import { stack } from './cairn.mjs'

const secret = 'horse-battery-staple'
const first = `
  resource "terraform_data" "gone" {
    input = "old"
  }
  resource "terraform_data" "item" {
    count = 11
    input = "small"
  }
  resource "terraform_data" "before" {
    input = "moved"
  }
  resource "terraform_data" "hidden" {
    input = sensitive("${secret}-1")
  }
`
const second = `
  resource "terraform_data" "added" {
    input = "new"
  }
  resource "terraform_data" "item" {
    count = 11
    input = contains([2, 10], count.index) ? "large" : "small"
  }
  resource "terraform_data" "after" {
    input = "moved and changed"
  }
  resource "terraform_data" "hidden" {
    input = sensitive("${secret}-2")
  }
  moved {
    from = terraform_data.before
    to   = terraform_data.after
  }
`
const widths = [
  { width: 1440, height: 900 },
  { width: 1024, height: 768 },
  { width: 390, height: 844 },
]

describe('the resources of states', () => {
  let cairn, user, diff
  before(async () => {
    cairn = getCairn()
    user = await asAdmin({ reducedMotion: 'reduce' })
    await useAxe(user)
    for (const [n, code] of [first, second].entries()) {
      await cairn.apply(stack('inventory', code, { apply: 'Automatic' }))
      await cairn.until(`run/inventory-${n + 1}`, 'jsonpath={.status.phase}=Succeeded')
    }
    const { versions } = JSON.parse(await cairn.kubectl('get', 'state', 'inventory', '--namespace=default', '-o', 'json')).status
    const last = (run) => versions.findLast((v) => v.run === run).version
    diff = `/states/default/inventory?tab=diff&from=${last('inventory-1')}&to=${last('inventory-2')}`
  }, { timeout: 180_000 })
  after(noErrors)

  /** Opens a path at each width and checks that it fits and is accessible, light and dark. `ready` waits until it is shown. */
  const atAllWidths = async (path, ready) => {
    for (const size of widths) {
      await user.setViewportSize(size)
      await to(user, path)
      await ready()
      assert.deepEqual(await violations(user), [], `${path} at ${size.width}`)
      const wide = await user.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
      assert.equal(wide, 0, `${path} is wider than ${size.width}`)
    }
    await user.setViewportSize(widths[0])
  }

  test('a comparison has groups, moves and no secrets', async () => {
    const changes = user.getByRole('region', { name: 'Changes' })
    await atAllWidths(diff, () => changes.getByText('terraform_data.after').waitFor())
    const rows = await changes.getByRole('button').evaluateAll((all) => all.map((e) => e.innerText.replaceAll(/\s+/g, ' ').trim()))
    const of = (text) => rows.findIndex((row) => row.includes(text))
    assert.deepEqual(
      ['1 removed', 'data.gone', '3 changed', 'data.hidden', 'item[2]', 'item[10]', '1 added', 'data.added', '1 moved', 'data.after']
        .map(of)
        .map((at, i, all) => at >= 0 && at > (all[i - 1] ?? -1)),
      Array(10).fill(true),
      rows.join('\n'),
    )
    assert.match(rows[of('data.after')], /terraform_data\.after moved from terraform_data\.before/)
    await user.getByRole('button', { name: 'Unfold all' }).click()
    await changes.getByText('(sensitive)').first().waitFor()
    await changes.getByText('"moved and changed"').first().waitFor()
    assert.ok(!(await user.content()).includes(secret))
  })

  test('the list is filtered, sorted, and links to the state', async () => {
    const table = user.getByRole('table', { name: 'Resources' })
    await atAllWidths('/resources?stack=inventory', () => table.getByRole('link', { name: 'terraform_data.item[10]' }).waitFor())
    const links = () => table.getByRole('link').allInnerTexts()
    await user.getByRole('searchbox', { name: 'Search resources' }).fill('item')
    await user.getByText('11 rows').waitFor()
    assert.deepEqual(await links(), Array.from({ length: 11 }, (_, i) => `terraform_data.item[${i}]`))
    await user.getByRole('columnheader', { name: 'Address' }).getByRole('button').click()
    await user.getByRole('columnheader', { name: 'Address' }).getByRole('button').click()
    await table.getByRole('row').nth(1).getByRole('link', { name: 'terraform_data.item[10]' }).waitFor()
    await user.getByRole('button', { name: 'Type', exact: true }).first().click()
    await user.getByRole('checkbox', { name: 'terraform_data' }).check()
    await user.waitForURL(/type=terraform_data/)
    await user.keyboard.press('Escape')
    await table.getByRole('link', { name: 'terraform_data.item[10]' }).click()
    await user.getByRole('button', { name: 'terraform_data.item[10]' }).waitFor()
    assert.match(user.url(), /\/states\/default\/inventory\?tab=resources/)
  })

  test('a user who cannot pull states does not see them', async () => {
    const viewer = await asViewer('ines', { fails: [/\/api\/v1\/resources/] })
    await to(viewer, '/resources')
    await viewer.getByText(/may not pull states/).first().waitFor()
    assert.ok(!(await viewer.content()).includes('terraform_data'))
  })
})
