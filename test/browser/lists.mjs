// Lists of many Stacks: filters with numbers from the server, groups, and actions on several rows.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { useAxe, violations } from './axe.mjs'
import { asAdmin, noErrors, getCairn, to } from './base.mjs'
import { stack } from './cairn.mjs'

const namespace = 'lists'
const inTeam = (name, team, code, spec) => ({
  ...stack(name, code, spec),
  metadata: { name, namespace, labels: { team, 'app.kubernetes.io/managed-by': 'Helm' } },
})
const resource = 'resource "terraform_data" "one" {}'
const broken = 'resource "terraform_data" "one" { input = local.none }'
const widths = [
  ['desktop', { viewport: { width: 1440, height: 900 } }],
  ['tablet', { viewport: { width: 1024, height: 768 } }],
  ['phone', { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }],
]

describe('lists', () => {
  before(async () => {
    const { apply, until } = getCairn()
    await apply(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
      ...['a', 'b', 'c'].map((name) => inTeam(`wait-${name}`, name === 'c' ? 'web' : 'data', resource, { apply: 'Manual' })),
      inTeam('broken', 'web', broken, { apply: 'Automatic', retry: { limit: 0 } }),
    )
    await Promise.all([
      ...['a', 'b', 'c'].map((name) => until(`run/wait-${name}-1`, 'jsonpath={.status.phase}=AwaitingApproval', namespace)),
      until('run/broken-1', 'jsonpath={.status.phase}=Failed', namespace),
    ])
  }, { timeout: 180_000 })
  after(noErrors)

  const open = async (options, path) => {
    const page = await asAdmin({ reducedMotion: 'reduce', ...options })
    await useAxe(page)
    await to(page, path)
    return page
  }
  const names = (page) =>
    page.getByRole('table').getByRole('link', { name: /^lists\// }).allTextContents()
  const box = (page, name) => page.getByRole('checkbox', { name: `Select lists/${name}`, exact: true })

  for (const [width, options] of widths)
    test(`filters, groups and the summary of an action fit a ${width}`, async () => {
      const page = await open(options, '/stacks?namespace=lists&group=label:team')
      await page.getByRole('button', { name: /team: data\s*2\s*2 not ready/ }).waitFor()
      assert.deepEqual(await names(page), ['lists/wait-a', 'lists/wait-b', 'lists/broken', 'lists/wait-c'])
      await page.getByRole('button', { name: /^Label/ }).click()
      const menu = page.getByRole('dialog', { name: 'Label' })
      await menu.getByRole('checkbox', { name: /team=data\s*2/ }).waitFor()
      assert.equal(await menu.getByText('managed-by').count(), 0)
      assert.deepEqual(await violations(page), [])
      await page.keyboard.press('Escape')
      await box(page, 'wait-a').click()
      await box(page, 'broken').click({ modifiers: ['Shift'] })
      await page.getByText('3 selected').waitFor()
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
      assert.equal(wide, 0, 'the page scrolls horizontally')
      await page.getByRole('button', { name: 'Approve…' }).click()
      const dialog = page.getByRole('dialog', { name: 'Approve plans' })
      await dialog.getByText('Exactly these 2 plans are applied: 2 to add, at 2 addresses.').waitFor()
      await dialog.getByText('No Run of the Stack waits for an approval.').waitFor()
      assert.deepEqual(await violations(page), [])
      const { x, width: w } = await dialog.boundingBox()
      assert.ok(x >= 0 && x + w <= options.viewport.width)
    })

  test('a group is collapsed, and a filter is in the address', async () => {
    const page = await open({}, '/stacks?namespace=lists')
    await page.getByRole('button', { name: 'Group' }).click()
    await page.getByRole('radio', { name: /^team/ }).click()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: /^team: data/ }).click()
    assert.deepEqual(await names(page), ['lists/broken', 'lists/wait-c'])
    await page.getByRole('button', { name: 'Label' }).click()
    await page.getByRole('checkbox', { name: /^team=web/ }).click()
    await page.waitForURL(/label=team%3Dweb/)
    await page.getByRole('button', { name: /^team: data/ }).waitFor({ state: 'detached' })
    await page.getByRole('searchbox').fill('team=web broken')
    await page.getByText('1 row', { exact: true }).waitFor()
  })

  test('two plans are approved at once, and what failed is retried', async () => {
    const page = await open({}, '/stacks?namespace=lists')
    await page.getByRole('checkbox', { name: 'Select all Stacks' }).click()
    await page.getByText('4 selected').waitFor()
    await box(page, 'wait-c').click()
    await page.getByRole('button', { name: 'Approve…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Approve and apply 2 plans' }).click()
    await dialog.getByText('2 of 2 approved.').waitFor()
    await dialog.getByRole('button', { name: 'Done' }).click()
    const { until } = getCairn()
    await Promise.all(['a', 'b'].map((name) => until(`run/wait-${name}-1`, 'jsonpath={.status.phase}=Succeeded', namespace)))
    await to(page, '/runs?namespace=lists')
    await box(page, 'broken-1').click()
    await box(page, 'wait-c-1').click()
    await page.getByRole('button', { name: 'Retry…' }).click()
    await dialog.getByRole('region', { name: 'Left out' }).getByText(/neither failed/).waitFor()
    await dialog.getByText(/applied immediately/).waitFor()
    await dialog.getByRole('button', { name: 'Retry 1 Stack' }).click()
    await dialog.getByText('1 of 1 requested.').waitFor()
    await dialog.getByRole('button', { name: 'Done' }).click()
    await until('run/broken-2', 'jsonpath={.spec.cause.type}=Manual', namespace)
  })
})
