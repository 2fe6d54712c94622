// The web UI as a user uses it, in a real browser, with a real Cairn and real runs.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { asAdmin, noErrors, waitForText, getCairn, to } from './base.mjs'
import { stack } from './cairn.mjs'

describe('a user', () => {
  let cairn, user
  before(async () => {
    cairn = getCairn()
    user = await asAdmin()
  }, { timeout: 120_000 })
  after(noErrors)

  test('watches a Run, reads its plan, approves it and sees it applied', async () => {
    const code = `
      resource "terraform_data" "disk" {
        input = "<script>alert(1)</script>"
        provisioner "local-exec" { command = "echo created by the apply" }
      }
      output "disk" { value = terraform_data.disk.output }`
    // The list is open before the Run exists.
    await to(user, '/runs')
    await cairn.apply(stack('reviewed', code, { apply: 'Manual' }))
    await user.getByRole('link', { name: 'reviewed-1' }).first().click()
    await waitForText(user, 'Awaiting approval')

    const row = user.getByRole('button', { name: /terraform_data\.disk/ })
    await row.click()
    await waitForText(user, '"<script>alert(1)</script>"')
    await user.getByRole('tab', { name: 'Raw plan', exact: true }).click()
    await waitForText(user, 'terraform_data.disk will be created')

    await user.getByRole('tab', { name: 'Log', exact: true }).click()
    await waitForText(user, '── plan ──')

    await user.getByRole('button', { name: 'Approve…' }).click()
    const dialog = user.getByRole('dialog')
    assert.match(await dialog.innerText(), /1 to add/)
    await dialog.getByRole('button', { name: 'Approve and apply' }).click()
    // The page updates without a reload.
    await waitForText(user, 'Succeeded', { exact: true })
    await waitForText(user, 'created by the apply')
    await waitForText(user, /Apply complete!/)

    await to(user, '/states/default/reviewed?tab=resources')
    await user.getByRole('button', { name: 'terraform_data.disk' }).waitFor()
  })

  test('opens a failed Run at the step that failed, and cancels one above its log', async () => {
    const fails = `
      resource "terraform_data" "rule" {
        provisioner "local-exec" { command = "echo no such metric >&2; exit 1" }
      }`
    await cairn.apply(stack('failing', fails, { apply: 'Automatic', retry: { limit: 0 } }))
    await cairn.until('run/failing-1', 'jsonpath={.status.phase}=Failed')
    await to(user, '/runs/default/failing-1')
    await user.getByRole('tab', { name: 'Log', exact: true, selected: true }).waitFor()
    await waitForText(user.getByRole('region', { name: 'Log' }), /no such metric/)
    assert.equal(await user.getByRole('group', { name: 'Approval' }).count(), 0)

    const slow = `
      resource "terraform_data" "slow" {
        provisioner "local-exec" { command = "sleep 60" }
      }`
    await cairn.apply(stack('canceled', slow, { apply: 'Automatic' }))
    await cairn.until('run/canceled-1', 'jsonpath={.status.phase}=Applying')
    await to(user, '/runs/default/canceled-1')
    assert.equal(await user.getByRole('group', { name: 'Approval' }).count(), 0)
    await user.locator('main header').getByRole('button', { name: 'Cancel' }).click()
    await user.getByRole('dialog').getByRole('button', { name: 'Cancel the Run' }).click()
    await waitForText(user, 'Canceled', { exact: true })
  })

  test('sees the dependencies as a graph and as a list', async () => {
    await cairn.apply(stack('after', 'resource "terraform_data" "b" {}', { apply: 'Automatic', dependsOn: [{ name: 'reviewed' }] }))
    await to(user, '/graph')
    await user.locator('.react-flow__node', { hasText: 'after' }).waitFor()
    await waitForText(user, 'depends on reviewed')
  })
})
