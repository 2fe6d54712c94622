// The server is killed while a user reads a log.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { asAdmin, noErrors, waitForText, getCairn, to } from './base.mjs'
import { stack } from './cairn.mjs'

describe('a killed server', () => {
  let cairn, user
  const offsets = []
  const beats = 20
  before(async () => {
    cairn = getCairn()
    // While the server is unavailable all requests fail, with errors in the console.
    // The viewport is high enough to render all lines.
    user = await asAdmin({ fails: [/\/api\/v1\//], viewport: { width: 1280, height: 4_000 } })
    user.on('request', (request) => {
      const url = new URL(request.url())
      if (url.searchParams.get('follow') === 'true') offsets.push(url.searchParams.get('offset'))
    })
  }, { timeout: 120_000 })
  after(noErrors)

  /** Returns the numbers and texts of the lines that the page shows. */
  const lines = () =>
    user.getByRole('region', { name: 'Log' }).locator('[data-index]').evaluateAll((rows) =>
      rows
        .sort((a, b) => a.dataset.index - b.dataset.index)
        .map((row) => [row.querySelector('a').textContent, row.querySelector('a + span').textContent]),
    )

  test('a log continues after a restart of the server: every line once, in order', { timeout: 180_000 }, async () => {
    const code = `
      resource "terraform_data" "slow" {
        provisioner "local-exec" { command = "for n in $(seq ${beats}); do echo beat $n; sleep 1; done" }
      }`
    await cairn.apply(stack('slow', code, { apply: 'Automatic' }))
    await to(user, '/runs')
    await user.getByRole('link', { name: 'slow-1' }).first().click()
    await user.getByRole('tab', { name: 'Log', exact: true }).click()
    await waitForText(user, /\): beat 5$/)

    const killed = await cairn.pid()
    const before = offsets.length
    process.kill(killed, 'SIGKILL')
    await waitForText(user, new RegExp(`\\): beat ${beats}$`))
    await waitForText(user, 'Succeeded', { exact: true })
    await waitForText(user, /Apply complete!/)

    assert.notEqual(await cairn.pid(), killed)
    assert.ok(offsets.length > before, 'the stream was requested again')
    assert.ok(Number(offsets.at(-1)) > 0, `at its last offset, not at ${offsets.at(-1)}`)
    const shown = await lines()
    assert.deepEqual(shown.map(([number]) => Number(number)), shown.map((_, i) => i + 1))
    const counted = shown.map(([, text]) => /\): beat (\d+)$/.exec(text)?.[1]).filter(Boolean).map(Number)
    assert.deepEqual(counted, Array.from({ length: beats }, (_, i) => i + 1))
  })
})

describe('a browser without a network', () => {
  let user
  before(async () => {
    user = await asAdmin({ fails: [/./] })
  }, { timeout: 120_000 })
  after(noErrors)

  test('shows that it is disconnected, keeps what it shows, and goes on afterwards', { timeout: 120_000 }, async () => {
    await getCairn().apply(stack('offline', 'resource "terraform_data" "a" {}', { apply: 'Automatic' }))
    await to(user, '/runs')
    await user.getByRole('link', { name: 'offline-1' }).first().waitFor()
    await waitForText(user, 'Live', { exact: true })
    await user.context().setOffline(true)
    await waitForText(user, /^Disconnected: what is shown may be outdated/)
    await user.getByRole('link', { name: 'offline-1' }).first().waitFor()
    await user.context().setOffline(false)
    await waitForText(user, 'Live', { exact: true })
    assert.equal(await user.getByText(/^Disconnected: what/).count(), 0)
  })

  test('reads a server on this machine', { timeout: 120_000 }, async () => {
    await user.addInitScript(() => Object.defineProperty(navigator, 'onLine', { get: () => false }))
    await to(user, '/stacks/default/offline')
    await waitForText(user, 'Up to date (1 resource)')
    await waitForText(user, 'Live', { exact: true })
  })
})
