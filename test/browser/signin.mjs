// Users who sign in by a link, and users whose session ends while they type.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { useAxe, violations } from './axe.mjs'
import { getCairn, newPage, noErrors, to, waitForText } from './base.mjs'
import { stack } from './cairn.mjs'

const widths = [1440, 1024, 390]

describe('the sign-in', () => {
  let cairn, user
  before(async () => {
    cairn = getCairn()
    await cairn.apply(stack('typed', 'resource "terraform_data" "a" {}', { apply: 'Manual' }))
    await cairn.until('run/typed-1', 'jsonpath={.status.phase}=AwaitingApproval')
  }, { timeout: 180_000 })
  after(noErrors)

  test('a link that was used says how to get a new one, which works', async () => {
    user = await newPage({ fails: [/\/api\/v1\//] })
    await useAxe(user)
    const link = await cairn.newLink()
    await user.goto(link)
    await waitForText(user, 'Needs attention')
    const other = await newPage({ fails: [/\/api\/v1\//] })
    await useAxe(other)
    await to(other, '/stacks')
    await other.waitForURL('**/signin?to=*')
    await other.goto(link)
    await other.getByRole('alert').getByText('cairn dev link').waitFor()
    for (const width of widths) {
      await other.setViewportSize({ width, height: 900 })
      assert.deepEqual(await violations(other), [], `at ${width}`)
    }
    await other.goto(await cairn.newLink())
    await waitForText(other, 'Needs attention')
  })

  test('a session that ends keeps what was typed', async () => {
    const path = '/runs/default/typed-1'
    await to(user, path)
    await user.getByRole('button', { name: 'Reject', exact: true }).click()
    await user.getByLabel('Reason').fill('The disk is too small')
    await user.context().clearCookies()
    await user.getByRole('dialog').getByRole('button', { name: 'Reject' }).click()
    await user.waitForURL(`**/signin?to=${encodeURIComponent(path)}*`)
    // The link leads to where the user was.
    await user.goto(`${await cairn.newLink()}&to=${encodeURIComponent(path)}`)
    await user.getByRole('button', { name: 'Reject', exact: true }).click()
    assert.equal(await user.getByLabel('Reason').inputValue(), 'The disk is too small')
    await user.getByRole('dialog').getByRole('button', { name: 'Reject' }).click()
    await user.getByRole('dialog').waitFor({ state: 'hidden' }) // the page may have the reason before the server has answered
    await waitForText(user, /The disk is too small/)
    await to(user, '/runs/default/typed-1')
    assert.deepEqual(await user.evaluate(() => Object.keys(sessionStorage).filter((key) => key.startsWith('draft'))), [])
  })
})
