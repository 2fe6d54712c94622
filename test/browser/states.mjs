// The versions of a state: what changed between them, and going back to one.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { useAxe, violations } from './axe.mjs'
import { asAdmin, asViewer, noComplaints, seen, theCairn, to } from './base.mjs'
import { stack } from './cairn.mjs'

const code = (value) => `resource "terraform_data" "disk" { input = "${value}" }`

describe('the versions of a state', () => {
  let cairn, person, viewer
  const path = '/states/default/kept'
  const status = async () => JSON.parse(await cairn.kubectl('get', 'state', 'kept', '--namespace=default', '-o', 'json')).status
  before(async () => {
    cairn = theCairn()
    person = await asAdmin()
    await useAxe(person)
    viewer = await asViewer('vincent')
    for (const [n, value] of ['small', 'large'].entries()) {
      await cairn.apply(stack('kept', code(value), { apply: 'Automatic' }))
      await cairn.until(`run/kept-${n + 1}`, 'jsonpath={.status.phase}=Succeeded')
    }
    // So that nobody applies what a rollback forgot before it is looked at.
    await cairn.apply(stack('kept', code('large'), { apply: 'Manual' }))
  }, { timeout: 180_000 })
  after(noComplaints)

  test('a person compares two of them, goes back to one, and sees that as a new one', async () => {
    const was = await status()
    const first = was.versions.findLast((v) => v.run === 'kept-1').version
    const row = (page, version) => page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: new RegExp(`^${version}( current)?$`) }) })
    await Promise.all([person, viewer].map((page) => to(page, path)))
    await Promise.all([person, viewer].map((page) => row(page, was.version).getByText('current').waitFor()))

    await to(person, `${path}?tab=diff&from=${first}&to=${was.version}`)
    await person.getByRole('button', { name: /terraform_data\.disk/ }).first().click()
    await seen(person, '"small"')
    await seen(person, '"large"')

    await to(person, path)
    await row(person, first).getByRole('button', { name: 'Roll back…' }).click()
    const dialog = person.getByRole('dialog')
    assert.match(await dialog.innerText(), new RegExp(`content of version ${first} .*current one is version\\s${was.version}`, 's'))
    assert.deepEqual(await violations(person), [])
    await dialog.getByRole('button', { name: 'Back', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
    assert.equal((await status()).version, was.version, 'who goes back has changed nothing')

    await row(person, first).getByRole('button', { name: 'Roll back…' }).click()
    await dialog.getByRole('button', { name: `Go back to version ${first}` }).click()
    await dialog.waitFor({ state: 'detached' })
    // The other one sees it too, and nobody asks for the page again.
    await Promise.all([person, viewer].map((page) => row(page, was.version + 1).getByText('current').waitFor()))
    assert.equal(await viewer.getByRole('button', { name: 'Roll back…' }).count(), 0)
    assert.ok((await person.getByRole('button', { name: 'Roll back…' }).count()) >= 2, 'one can go forth again')

    const now = await status()
    assert.equal(now.version, was.version + 1)
    assert.ok(now.serial > was.serial)
    await to(person, `${path}?tab=resources`)
    await person.getByRole('button', { name: /terraform_data\.disk/ }).first().click()
    await seen(person, '"small"')
  })
})
