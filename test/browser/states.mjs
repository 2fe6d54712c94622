// The versions of a state: their differences, and a rollback.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { useAxe, violations } from './axe.mjs'
import { asAdmin, asViewer, noErrors, waitForText, getCairn, to } from './base.mjs'
import { stack } from './cairn.mjs'

const code = (value) => `resource "terraform_data" "disk" { input = "${value}" }`

describe('the versions of a state', () => {
  let cairn, user, viewer
  const path = '/states/default/rolled'
  const status = async () => JSON.parse(await cairn.kubectl('get', 'state', 'rolled', '--namespace=default', '-o', 'json')).status
  before(async () => {
    cairn = getCairn()
    user = await asAdmin()
    await useAxe(user)
    viewer = await asViewer('vincent')
    for (const [n, value] of ['small', 'large'].entries()) {
      await cairn.apply(stack('rolled', code(value), { apply: 'Automatic' }))
      await cairn.until(`run/rolled-${n + 1}`, 'jsonpath={.status.phase}=Succeeded')
    }
    // Manual, so that the rollback is not applied over before it is checked.
    await cairn.apply(stack('rolled', code('large'), { apply: 'Manual' }))
  }, { timeout: 180_000 })
  after(noErrors)

  test('a user compares two of them, rolls back to one, and sees a new one', async () => {
    const was = await status()
    const first = was.versions.findLast((v) => v.run === 'rolled-1').version
    const row = (page, version) => page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: new RegExp(`^${version}( current)?$`) }) })
    await Promise.all([user, viewer].map((page) => to(page, path)))
    await Promise.all([user, viewer].map((page) => row(page, was.version).getByText('current').waitFor()))

    await to(user, `${path}?tab=diff&from=${first}&to=${was.version}`)
    await user.getByRole('button', { name: /terraform_data\.disk/ }).first().click()
    await waitForText(user, '"small"')
    await waitForText(user, '"large"')

    await to(user, path)
    await row(user, first).getByRole('button', { name: 'Roll back…' }).click()
    const dialog = user.getByRole('dialog')
    assert.match(await dialog.innerText(), new RegExp(`content of version ${first} .*current one is version\\s${was.version}`, 's'))
    assert.deepEqual(await violations(user), [])
    await dialog.getByRole('button', { name: 'Back', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
    assert.equal((await status()).version, was.version, 'Back changes nothing')

    await row(user, first).getByRole('button', { name: 'Roll back…' }).click()
    await dialog.getByRole('button', { name: `Go back to version ${first}` }).click()
    await dialog.waitFor({ state: 'detached' })
    // Both pages update without a reload.
    await Promise.all([user, viewer].map((page) => row(page, was.version + 1).getByText('current').waitFor()))
    assert.equal(await viewer.getByRole('button', { name: 'Roll back…' }).count(), 0)
    assert.ok((await user.getByRole('button', { name: 'Roll back…' }).count()) >= 2, 'other versions can be rolled back to')

    const now = await status()
    assert.equal(now.version, was.version + 1)
    assert.ok(now.serial > was.serial)
    await to(user, `${path}?tab=resources`)
    await user.getByRole('button', { name: /terraform_data\.disk/ }).first().click()
    await waitForText(user, '"small"')
  })
})
