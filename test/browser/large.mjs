// A log of 70 MB, of which 63 MiB are stored, and a plan of 10,000 changes. The tests print durations. They limit the CPU time of the
// page's main thread, which does not depend on the load of the machine, and have a timeout.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { asAdmin, noErrors, waitForText, getCairn, to } from './base.mjs'
import { stack } from './cairn.mjs'

const lines = 700_000
const changes = 10_000
// Limits of one user action in milliseconds: the CPU time of the main thread, and the duration on a busy machine.
const mostWork = 5_000
const longest = 60_000

// Each line has 105 bytes: 73.5 MB in all. In pieces, since the runner omits log data that the server does not accept in time.
const printed = `for n in $(seq 0 69); do seq -f 'line %06.0f ${'-'.repeat(92)}' $((n * 10000 + 1)) $((n * 10000 + 10000)); sleep 0.3; done`
const many = `
  resource "terraform_data" "shard" {
    count = ${changes}
    input = { name = "shard-\${count.index}", zone = "zone-\${count.index % 3}", size = count.index, labels = ["a", "b"] }
  }
`

describe('large objects', () => {
  let cairn, user, devtools
  before(async () => {
    cairn = getCairn()
    user = await asAdmin()
    await user.context().addInitScript(() => {
      globalThis.longTasks = []
      new PerformanceObserver((list) => globalThis.longTasks.push(...list.getEntries().map((e) => e.duration))).observe({ type: 'longtask', buffered: true })
    })
    await to(user, '/')
    devtools = await user.context().newCDPSession(user)
    await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
    await cairn.apply(
      stack('talks', 'resource "terraform_data" "a" {}', { apply: 'Automatic', hooks: [{ step: 'plan', when: 'After', script: printed }] }),
      stack('many', many, { apply: 'Manual' }),
    )
    await cairn.until('run/talks-1', 'jsonpath={.status.phase}=Succeeded') // the end of the log is stored at the end
    await cairn.until('run/many-1', 'jsonpath={.status.phase}=AwaitingApproval')
  }, { timeout: 300_000 })
  after(noErrors)

  /** Returns the CPU time of the main thread. */
  const work = async () => {
    const { metrics } = await devtools.send('Performance.getMetrics')
    return 1_000 * metrics.find((m) => m.name === 'TaskDuration').value
  }
  /** Runs an action, and prints its duration, its CPU time and its longest task. */
  const timed = async (t, what, act) => {
    const [start, before] = [performance.now(), await work()]
    await act()
    const took = Math.round(performance.now() - start)
    const after = await work()
    const worked = Math.round(after < before ? after : after - before) // a new page starts at 0
    const tasks = await user.evaluate(() => globalThis.longTasks.splice(0).map(Math.round))
    t.diagnostic(`${what}: ${took} ms; CPU time ${worked} ms, longest task ${Math.max(0, ...tasks)} ms`)
    assert.ok(took < longest, `${what} took ${took} ms`)
    assert.ok(worked < mostWork, `${what}: CPU time ${worked} ms`)
  }

  /** Sends a request of the web UI to the server. */
  const answer = async (t, path, headers = {}) => {
    const found = await user.evaluate(async ([path, headers]) => {
      const start = performance.now()
      const answer = await fetch(path, { headers })
      const first = performance.now() - start
      const text = await answer.text()
      const { encodedBodySize } = performance.getEntriesByName(new URL(path, location.href).href).at(-1) ?? {}
      return { status: answer.status, first: Math.round(first), all: Math.round(performance.now() - start), bytes: new Blob([text]).size, encodedBodySize }
    }, [path, headers])
    t.diagnostic(`${path}: ${JSON.stringify(found)}`)
    assert.equal(found.status, 200)
    assert.ok(found.all < longest, `${path} took ${found.all} ms`)
    return found
  }

  test('a log of 63 MiB can be read to its end and searched, and shows what is omitted', async (t) => {
    const path = '/runs/default/talks-1?tab=log'
    const region = user.getByRole('region', { name: 'Log' })
    await timed(t, 'the first lines', async () => {
      await to(user, path)
      await region.locator('[data-index]').first().waitFor()
    })
    await timed(t, 'all of it read', () => user.getByText('reading…').waitFor({ state: 'hidden' }))
    assert.equal(await user.getByText(/are not shown here/).count(), 0)
    await timed(t, 'its end by the End key', async () => {
      await region.focus()
      await region.press('End')
      await waitForText(region, /Apply complete!/)
    })
    const search = user.getByRole('searchbox', { name: 'Search in the log' })
    await timed(t, 'its beginning by the Home key', async () => {
      await region.press('Home')
      await region.getByRole('link', { name: 'Link to line 1', exact: true }).waitFor()
    })
    await timed(t, 'a search that finds one line', async () => {
      await search.fill(`line ${lines} `)
      await waitForText(user, /^0 of 1$|^1 of 1$/)
      await search.press('Enter')
      await region.locator('mark').first().waitFor()
    })
    await timed(t, 'a search that finds every line', async () => {
      await search.fill('line')
      await waitForText(user, /of 10,000 or more/)
    })
    await timed(t, 'the omitted part', async () => {
      await search.fill('the log is too long')
      await waitForText(user, /^0 of 1$|^1 of 1$/)
      await search.press('Enter')
      await waitForText(region, /^\[cairn: \d{7} bytes were left out here: the log is too long\]$/)
    })
    await search.fill('')
    await timed(t, 'scrolled through', async () => {
      for (let i = 0; i < 20; i++) {
        await region.evaluate((box, part) => (box.scrollTop = box.scrollHeight * part), i / 20)
        await region.locator('[data-index]').first().waitFor()
      }
    })
    const { bytes } = await answer(t, '/api/v1/namespaces/default/runs/talks-1/logs')
    assert.ok(bytes > 50_000_000, `${bytes} bytes`)
  })

  test('a plan of 10,000 changes is read, searched, and approved', async (t) => {
    const region = user.getByRole('region', { name: 'Changes' })
    await timed(t, 'the plan', async () => {
      await to(user, '/runs/default/many-1')
      await region.getByRole('button', { name: /shard/ }).first().waitFor()
    })
    await waitForText(user, '10,000 in all')
    assert.ok((await region.locator('[data-index]').count()) < 200, 'only visible rows are rendered')
    await timed(t, 'its end', async () => {
      await region.focus()
      await region.press('End')
      await region.getByRole('button', { name: `shard[${changes - 1}]` }).waitFor()
    })
    await timed(t, 'scrolled through', async () => {
      for (let i = 0; i < 20; i++) {
        await region.evaluate((box, part) => (box.scrollTop = box.scrollHeight * part), i / 20)
        await region.getByRole('button', { name: /shard/ }).first().waitFor()
      }
    })
    const search = user.getByRole('searchbox', { name: /^Search in addresses/ })
    await timed(t, 'a search by address', async () => {
      await search.fill('shard[7777]')
      await waitForText(user, '1 of 10,000')
    })
    await timed(t, 'a search by value', async () => {
      await search.fill('zone-2')
      await waitForText(user, '3,333 of 10,000')
    })
    await search.fill('')
    await timed(t, 'a filter by address', async () => {
      await user.getByRole('searchbox', { name: /^Filter by address/ }).fill('*[12*')
      await waitForText(user, '111 of 10,000')
    })
    await timed(t, 'all of them expanded', async () => {
      await user.getByRole('button', { name: 'Unfold all' }).click()
      await waitForText(region, /"shard-12\d*"/) // a visible one
    })
    await timed(t, 'the text', async () => {
      await user.getByRole('tab', { name: 'Raw plan', exact: true }).click()
      await waitForText(user, 'terraform_data.shard[0] will be created')
    })
    const text = user.getByRole('region', { name: 'Raw plan' })
    await timed(t, 'its end', async () => {
      const end = text.getByText(`Plan: ${changes} to add`).first()
      await text.focus()
      for (let i = 0; i < 60 && !(await end.isVisible()); i++) {
        await text.press('End') // to the end of the data that has arrived
        await end.waitFor({ timeout: 1_000 }).catch(() => {})
      }
      await waitForText(text, `Plan: ${changes} to add`)
    })
    await timed(t, 'the graph', async () => {
      await user.getByRole('tab', { name: 'Graph' }).click()
      await user.locator('.react-flow__node', { hasText: 'shard' }).waitFor()
    })
    for (const form of ['', '?format=text', '?format=json']) await answer(t, `/api/v1/namespaces/default/runs/many-1/plan${form}`)
    await timed(t, 'the confirmation of an approval', async () => {
      await user.getByRole('button', { name: 'Approve…' }).click()
      await waitForText(user.getByRole('dialog'), '10,000 to add')
    })
  })
})
