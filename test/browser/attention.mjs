// What the overview lists as in need of attention, counts that agree everywhere, and a user of one namespace.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { useAxe, violations } from './axe.mjs'
import { asAdmin, asViewer, getCairn, noErrors, to, waitForText } from './base.mjs'
import { stack } from './cairn.mjs'

const widths = [1440, 1024, 390]
const resource = (name, lines) => `
  resource "terraform_data" "${name}" {
    ${lines}
  }
`
// An import that also changes, a replacement, a deletion and an addition.
const before1 = resource('replaced', 'triggers_replace = 1') + resource('deleted', 'input = 1')
const after1 = `
  import {
    to = terraform_data.imported
    id = "an-id"
  }
` + resource('imported', 'input = 2') + resource('replaced', 'triggers_replace = 2') + resource('added', 'input = 1')

describe('what needs attention', () => {
  let cairn, user
  before(async () => {
    cairn = getCairn()
    user = await asAdmin({ reducedMotion: 'reduce' })
    await useAxe(user)
    const { apply, kubectl, until } = cairn
    await apply(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'staging' } },
      { ...stack('of-staging', resource('a', 'input = 1'), { suspend: true }), metadata: { name: 'of-staging', namespace: 'staging' } },
      stack('lonely', 'variable "x" {}', { variables: [{ name: 'x', valueFrom: { stack: { name: 'nowhere', output: 'x' } } }] }),
      stack('interrupted', resource('slow', 'provisioner "local-exec" {\n command = "sleep 300"\n }'), { apply: 'Automatic' }),
      stack('counted', before1, { apply: 'Automatic' }),
    )
    await until('stack/counted', 'condition=Ready')
    await apply(stack('counted', after1, { apply: 'Manual' }))
    await until('run/counted-2', 'jsonpath={.status.phase}=AwaitingApproval')
    await until('run/interrupted-1', 'jsonpath={.status.phase}=Applying')
    await kubectl('patch', 'run/interrupted-1', '--type=merge', '--patch={"spec":{"cancel":true}}')
    await until('run/interrupted-1', 'jsonpath={.status.phase}=Canceled')
  }, { timeout: 180_000 })
  after(noErrors)

  test('a Stack whose dependency is not found, and one canceled during its apply, are listed', async () => {
    for (const width of widths) {
      await user.setViewportSize({ width, height: 900 })
      await to(user, '/')
      const list = user.getByRole('main')
      await list.getByRole('link', { name: 'default/lonely' }).first().waitFor()
      await list.getByRole('link', { name: 'default/interrupted' }).first().waitFor()
      assert.deepEqual(await violations(user), [], `at ${width}`)
    }
    await user.setViewportSize({ width: 1440, height: 900 })
    await to(user, '/stacks/default/lonely')
    await waitForText(user, /nowhere/)
  })

  test('a plan has the counts of the engine in its list, its page and its approval', async () => {
    const counts = /2 to add, 1 to change, 2 to destroy \(1 to replace\), 1 to import/
    await to(user, '/runs/default/counted-2')
    const log = await user.evaluate(async () => (await fetch('/api/v1/namespaces/default/runs/counted-2/logs')).text())
    assert.match(log, /Plan: 1 to import, 2 to add, 1 to change, 2 to destroy/)
    await user.getByRole('group', { name: 'Approval' }).getByText(counts).waitFor()
    await user.getByRole('button', { name: 'Approve…' }).click()
    await user.getByRole('dialog').getByText(counts).first().waitFor()
    await user.keyboard.press('Escape')
    await to(user, '/runs?stack=counted')
    const row = user.getByRole('row').filter({ hasText: 'counted-2' })
    for (const title of ['2 to add', '1 to change', '2 to destroy', '1 to import']) await row.getByTitle(title, { exact: true }).waitFor()
  })

  test('a user of one namespace sees its Stacks, and no error', async () => {
    const viewer = await asViewer('stella', { namespace: 'staging' })
    for (const path of ['/', '/stacks', '/runs', '/states', '/repositories', '/pullrequests', '/graph']) {
      await to(viewer, path)
      await viewer.getByRole('heading', { level: 1 }).waitFor()
      await viewer.waitForFunction(() => !document.querySelector('main .animate-pulse'))
      assert.deepEqual(await viewer.getByRole('alert').allInnerTexts(), [], path)
      assert.equal(await viewer.getByText('default/').count(), 0, path)
    }
    await to(viewer, '/stacks')
    await viewer.getByRole('link', { name: 'staging/of-staging' }).waitFor()
    await viewer.context().close()
  })
})
