// The page as a person uses it, in a real browser, against a real Cairn with real runs.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { asAdmin, fresh, noComplaints, seen, theCairn, to } from './base.mjs'
import { stack } from './cairn.mjs'

describe('a person, with the page', () => {
  let cairn, person
  before(async () => {
    cairn = theCairn()
    person = await asAdmin()
  }, { timeout: 120_000 })
  after(noComplaints)

  test('who is not signed in is asked to, and a link is for one time', async () => {
    const stranger = await fresh({ fails: [/\/api\/v1\//] })
    await to(stranger, '/stacks')
    await stranger.waitForURL(/\/signin/)
    await stranger.goto(cairn.link)
    await stranger.waitForURL(/\/signin\?.*error=/)
    await stranger.getByRole('alert').first().waitFor()
    await stranger.context().close()
  })

  test('a person watches a Run, reads its plan, approves it and sees it applied', async () => {
    const code = `
      resource "terraform_data" "disk" {
        input = "<script>alert(1)</script>"
        provisioner "local-exec" { command = "echo made by the apply" }
      }
      output "disk" { value = terraform_data.disk.output }`
    // The list is open before there is anything in it.
    await to(person, '/runs')
    await cairn.apply(stack('reviewed', code, { apply: 'Manual' }))
    await person.getByRole('link', { name: 'reviewed-1' }).first().click()
    await seen(person, 'Awaiting approval')

    const row = person.getByRole('button', { name: /terraform_data\.disk/ })
    await row.click()
    await seen(person, '"<script>alert(1)</script>"')
    await person.getByRole('tab', { name: 'Text', exact: true }).click()
    await seen(person, 'terraform_data.disk will be created')

    await person.getByRole('tab', { name: 'Log', exact: true }).click()
    await seen(person, '── plan ──')

    await person.getByRole('button', { name: 'Approve…' }).click()
    const dialog = person.getByRole('dialog')
    assert.match(await dialog.innerText(), /1 to add/)
    await dialog.getByRole('button', { name: 'Approve and apply' }).click()
    // Live: nobody asks for the page again.
    await seen(person, 'Succeeded', { exact: true })
    await seen(person, 'made by the apply')
    await seen(person, /Apply complete!/)

    await to(person, '/states/default/reviewed?tab=resources')
    await person.getByRole('button', { name: 'terraform_data.disk' }).waitFor()
  })

  test('the graph is drawn, and says the same as a list', async () => {
    await cairn.apply(stack('after', 'resource "terraform_data" "b" {}', { apply: 'Automatic', dependsOn: [{ name: 'reviewed' }] }))
    await to(person, '/graph')
    await person.locator('.react-flow__node', { hasText: 'after' }).waitFor()
    await seen(person, 'waits for reviewed')
  })
})
