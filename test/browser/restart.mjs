// A log that is read while the server is killed.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { asAdmin, noComplaints, seen, theCairn, to } from './base.mjs'
import { stack } from './cairn.mjs'

describe('a server that is killed', () => {
  let cairn, person
  const asked = []
  const beats = 20
  before(async () => {
    cairn = theCairn()
    // While the server is away everything fails, and the browser says so.
    // The view is so high that all lines are drawn.
    person = await asAdmin({ fails: [/\/api\/v1\//], viewport: { width: 1280, height: 4_000 } })
    person.on('request', (request) => {
      const url = new URL(request.url())
      if (url.searchParams.get('follow') === 'true') asked.push(url.searchParams.get('offset'))
    })
  }, { timeout: 120_000 })
  after(noComplaints)

  /** Gives the lines of the log as the page shows them, with their numbers in front. */
  const lines = () =>
    person.getByRole('region', { name: 'Log' }).locator('[data-index]').evaluateAll((rows) =>
      rows
        .sort((a, b) => a.dataset.index - b.dataset.index)
        .map((row) => [row.querySelector('a').textContent, row.querySelector('a + span').textContent]),
    )

  test('a log goes on over the end of the server: every line, once, in order', { timeout: 180_000 }, async () => {
    const code = `
      resource "terraform_data" "slow" {
        provisioner "local-exec" { command = "for n in $(seq ${beats}); do echo beat $n; sleep 1; done" }
      }`
    await cairn.apply(stack('slow', code, { apply: 'Automatic' }))
    await to(person, '/runs')
    await person.getByRole('link', { name: 'slow-1' }).first().click()
    await person.getByRole('tab', { name: 'Log', exact: true }).click()
    await seen(person, /\): beat 5$/)

    const killed = await cairn.pid()
    const before = asked.length
    process.kill(killed, 'SIGKILL')
    await seen(person, new RegExp(`\\): beat ${beats}$`))
    await seen(person, 'Succeeded', { exact: true })
    await seen(person, /Apply complete!/)

    assert.notEqual(await cairn.pid(), killed)
    assert.ok(asked.length > before, 'the stream was asked for again')
    assert.ok(Number(asked.at(-1)) > 0, `and from where it was, not from ${asked.at(-1)}`)
    const shown = await lines()
    assert.deepEqual(shown.map(([number]) => Number(number)), shown.map((_, i) => i + 1))
    const counted = shown.map(([, text]) => /\): beat (\d+)$/.exec(text)?.[1]).filter(Boolean).map(Number)
    assert.deepEqual(counted, Array.from({ length: beats }, (_, i) => i + 1))
  })
})
