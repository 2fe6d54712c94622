// The command palette, the keys, and the page of a commit.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { useAxe, violations } from './axe.mjs'
import { asAdmin, getCairn, noErrors, to, waitForText } from './base.mjs'
import { stack } from './cairn.mjs'
import { serveGit } from './git.mjs'

const widths = [1440, 1024, 390]
const code = 'resource "terraform_data" "a" {}'

describe('navigation', () => {
  let cairn, user, git, commit
  before(async () => {
    cairn = getCairn()
    user = await asAdmin({ reducedMotion: 'reduce' })
    await useAxe(user)
    git = await serveGit({ 'one/main.tf': code, 'two/main.tf': code }, 'Two modules')
    const source = (path) => ({ git: { repository: { name: 'modules' }, path } })
    await cairn.apply(
      { apiVersion: 'cairn.dev/v1alpha1', kind: 'Repository', metadata: { name: 'modules', namespace: 'default' }, spec: { url: git.url, ref: 'main' } },
      { ...stack('module-one', '', {}), spec: { apply: 'Automatic', source: source('one') } },
      { ...stack('module-two', '', {}), spec: { apply: 'Manual', source: source('two') } },
    )
    await cairn.until('stack/module-one', 'condition=Ready')
    await cairn.until('run/module-two-1', 'jsonpath={.status.phase}=AwaitingApproval')
    commit = (await cairn.kubectl('get', 'stack/module-one', '--output=jsonpath={.status.revision}')).split(':').at(-1)
  }, { timeout: 180_000 })
  after(async () => {
    await git?.stop()
    await noErrors()
  })

  const palette = () => user.getByRole('dialog', { name: 'Command palette' })

  test('the palette finds a Stack by its name, and performs an action of the page, by keys only', async () => {
    await to(user, '/')
    await waitForText(user, 'Needs attention')
    await user.keyboard.press('Control+k')
    await palette().getByRole('combobox').fill('module-one')
    await palette().getByRole('option', { name: 'default/module-one', exact: true }).waitFor()
    await user.keyboard.press('Enter')
    await user.waitForURL('**/stacks/default/module-one')
    await user.getByRole('button', { name: 'Suspend' }).waitFor()
    await user.keyboard.press('Control+k')
    await palette().getByRole('combobox').fill('susp')
    await user.keyboard.press('Enter')
    await user.getByRole('dialog', { name: 'Suspend default/module-one?' }).waitFor()
    await user.keyboard.press('Escape')
  })

  test('the palette is accessible at every width', async () => {
    for (const width of widths) {
      await user.setViewportSize({ width, height: 900 })
      await user.getByRole('button', { name: 'Search', exact: true }).click()
      await palette().getByRole('option', { name: /Pull requests/ }).waitFor()
      assert.deepEqual(await violations(user), [], `at ${width}`)
      await user.keyboard.press('Escape')
      await palette().waitFor({ state: 'detached' })
    }
  })

  test('keys open an approval and change the tab, and g with a key opens a page', async () => {
    await user.setViewportSize({ width: 1440, height: 900 })
    await to(user, '/runs/default/module-two-1')
    await user.getByRole('button', { name: 'Approve…' }).waitFor()
    await user.keyboard.press('a')
    await user.getByRole('dialog', { name: /Approve the plan/ }).waitFor()
    await user.keyboard.press('Escape')
    await user.getByRole('dialog').waitFor({ state: 'detached' })
    await user.keyboard.press(']')
    await user.waitForURL('**tab=text')
    await user.keyboard.press('g')
    await user.keyboard.press('t')
    await user.waitForURL('**/states')
  })

  test('a commit has the Stacks that it changed, with the state of each', async () => {
    await to(user, '/stacks/default/module-one')
    await user.getByRole('link', { name: commit.slice(0, 7) }).first().click()
    await user.waitForURL(`**/commits/${commit}`)
    for (const width of widths) {
      await user.setViewportSize({ width, height: 900 })
      const rows = user.getByRole(width < 768 ? 'listitem' : 'row')
      await rows.filter({ hasText: 'module-one' }).filter({ hasText: 'Succeeded' }).first().waitFor()
      await rows.filter({ hasText: 'module-two' }).filter({ hasText: 'Awaiting approval' }).first().waitFor()
      assert.deepEqual(await violations(user), [], `at ${width}`)
    }
    // The page is live.
    await user.setViewportSize({ width: 1440, height: 900 })
    await cairn.kubectl('patch', 'run/module-two-1', '--type=merge', '--patch={"spec":{"cancel":true}}')
    await user.getByRole('row').filter({ hasText: 'module-two' }).filter({ hasText: 'Canceled' }).waitFor()
  })
})
