// Users with different permissions, each with their own session.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { asAdmin, asViewer, noErrors, waitForText, getCairn, to } from './base.mjs'
import { stack } from './cairn.mjs'

describe('users with different permissions', () => {
  let cairn, admin, viewer
  before(async () => {
    cairn = getCairn()
    admin = await asAdmin()
    viewer = await asViewer('vera', { fails: [/\/approve$/] })
    await cairn.apply(
      stack('shared', 'resource "terraform_data" "a" {}', { apply: 'Manual' }),
      stack('paused', 'resource "terraform_data" "b" {}', { apply: 'Automatic' }),
    )
  }, { timeout: 120_000 })
  after(noErrors)

  const acts = /^(Approve|Reject|Cancel|Retry|Plan|Apply|Suspend|Resume|Destroy)/

  test('a user with cairn-view reads the plan that waits, and has no actions', async () => {
    await to(viewer, '/runs/default/shared-1')
    await waitForText(viewer, 'Awaiting approval')
    await viewer.getByRole('button', { name: /terraform_data\.a/ }).waitFor()
    // The administrator has the buttons.
    await to(admin, '/runs/default/shared-1')
    await admin.getByRole('button', { name: 'Approve…' }).waitFor()
    // The page has received the permissions of the user.
    await viewer.waitForFunction(() => performance.getEntriesByName(location.origin + '/api/v1/namespaces/default/runs/shared-1/access').length > 0)
    assert.equal(await viewer.getByRole('button', { name: acts }).count(), 0)

    const { status, problem } = await viewer.evaluate(async () => {
      const run = '/api/v1/namespaces/default/runs/shared-1'
      const planDigest = (await (await fetch(run)).json()).object.status.plan.digest
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(run + '/approve', { method: 'POST', headers, body: JSON.stringify({ planDigest }) })
      return { status: answer.status, problem: await answer.json() }
    })
    assert.equal(status, 403)
    assert.equal(problem.status, 403)
    assert.match(problem.detail, /approve/)
    const phase = await cairn.kubectl('get', 'run', 'shared-1', '--namespace=default', '-o', 'jsonpath={.status.phase}{.spec.approval}')
    assert.equal(phase, 'AwaitingApproval')
  })

  test('one user sees within a second what another one does', async (t) => {
    await Promise.all([admin, viewer].map((page) => to(page, '/stacks/default/paused')))
    await Promise.all([admin, viewer].map((page) => waitForText(page, 'Applied', { exact: true })))
    assert.equal(await viewer.getByRole('button', { name: acts }).count(), 0)
    const shown = viewer.getByText('Suspended', { exact: true }).first()
    const took = []
    for (const [action, state] of [['Suspend', 'visible'], ['Resume', 'detached'], ['Suspend', 'visible']]) {
      await admin.getByRole('button', { name: action, exact: true }).click()
      const answered = admin.waitForResponse((r) => r.url().endsWith('/' + action.toLowerCase())).then(() => performance.now())
      const changed = shown.waitFor({ state }).then(() => performance.now())
      await admin.getByRole('dialog').getByRole('button', { name: action }).click()
      took.push(Math.round((await changed) - (await answered)))
      await admin.getByRole('dialog').waitFor({ state: 'detached' })
    }
    t.diagnostic(`shown to the other user after ${took.join(', ')} ms`)
    assert.ok(Math.min(...took) < 1_000, `the other user saw it after ${took} ms`)
  })

  test('a change with kubectl is on the screen within half a second', async (t) => {
    await to(viewer, '/stacks/default/paused')
    const shown = viewer.getByText('Suspended', { exact: true }).first()
    await shown.waitFor()
    const took = []
    for (const [suspend, state] of [[false, 'detached'], [true, 'visible'], [false, 'detached'], [true, 'visible'], [false, 'detached']]) {
      const began = performance.now()
      const changed = shown.waitFor({ state }).then(() => performance.now())
      await cairn.kubectl('patch', 'stack/paused', '--namespace=default', '--type=merge', `--patch=${JSON.stringify({ spec: { suspend } })}`)
      took.push(Math.round((await changed) - began))
    }
    t.diagnostic(`shown ${took.join(', ')} ms after kubectl was started`)
    assert.ok(Math.min(...took) < 500, `the user saw it after ${took} ms`)
  })

  test('a rejection is shown with its reason, and the buttons disappear', async () => {
    await Promise.all([admin, viewer].map((page) => to(page, '/runs/default/shared-1')))
    // The same user in a second tab.
    const other = await admin.context().newPage()
    await to(other, '/runs/default/shared-1')
    await other.getByRole('button', { name: 'Reject' }).waitFor()
    await admin.getByRole('button', { name: 'Reject' }).click()
    const dialog = admin.getByRole('dialog')
    await dialog.getByRole('textbox').fill('not on a Friday')
    await dialog.getByRole('button', { name: 'Reject' }).click()
    await Promise.all([other, viewer].map((page) => waitForText(page, /not on a Friday/)))
    assert.equal(await other.getByRole('button', { name: 'Approve…' }).count(), 0)
    await other.close()
  })
})
