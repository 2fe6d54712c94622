// What is large: a log of 70 MB, of which 63 MiB are kept, and a plan of 10,000 changes. How long things take is printed. Required is what does not depend on what else the
// machine does: how long the processor works for the page, of which one thread draws and answers. Beside that it may not hang.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { asAdmin, noComplaints, seen, theCairn, to } from './base.mjs'
import { stack } from './cairn.mjs'

const lines = 700_000
const changes = 10_000
// What the page's thread may work for something that a person does, and how long all of it may take where much else is going on; in milliseconds.
const mostWork = 5_000
const longest = 60_000

// Each line has 105 bytes: 73.5 MB in all. In pieces: the runner leaves out what the store does not take in time.
const printed = `for n in $(seq 0 69); do seq -f 'line %06.0f ${'-'.repeat(92)}' $((n * 10000 + 1)) $((n * 10000 + 10000)); sleep 0.3; done`
const many = `
  resource "terraform_data" "shard" {
    count = ${changes}
    input = { name = "shard-\${count.index}", zone = "zone-\${count.index % 3}", size = count.index, labels = ["a", "b"] }
  }
`

describe('what is large', () => {
  let cairn, person, devtools
  before(async () => {
    cairn = theCairn()
    person = await asAdmin()
    await person.context().addInitScript(() => {
      globalThis.longTasks = []
      new PerformanceObserver((list) => globalThis.longTasks.push(...list.getEntries().map((e) => e.duration))).observe({ type: 'longtask', buffered: true })
    })
    await to(person, '/')
    devtools = await person.context().newCDPSession(person)
    await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
    await cairn.apply(
      stack('talks', 'resource "terraform_data" "a" {}', { apply: 'Automatic', hooks: [{ step: 'plan', when: 'After', script: printed }] }),
      stack('many', many, { apply: 'Manual' }),
    )
    await cairn.until('run/talks-1', 'jsonpath={.status.phase}=Succeeded') // the end of what is too long is told at the end
    await cairn.until('run/many-1', 'jsonpath={.status.phase}=AwaitingApproval')
  }, { timeout: 300_000 })
  after(noComplaints)

  /** How long the page's thread has worked. */
  const work = async () => {
    const { metrics } = await devtools.send('Performance.getMetrics')
    return 1_000 * metrics.find((m) => m.name === 'TaskDuration').value
  }
  /** Does something, prints how long that took, how long the page's thread worked, and for how long it did not answer. */
  const timed = async (t, what, act) => {
    const [began, before] = [performance.now(), await work()]
    await act()
    const took = Math.round(performance.now() - began)
    const after = await work()
    const worked = Math.round(after < before ? after : after - before) // another page begins at 0
    const tasks = await person.evaluate(() => globalThis.longTasks.splice(0).map(Math.round))
    t.diagnostic(`${what}: ${took} ms; the page worked ${worked} ms, and did not answer for ${Math.max(0, ...tasks)} ms`)
    assert.ok(took < longest, `${what} took ${took} ms`)
    assert.ok(worked < mostWork, `${what}: the page worked ${worked} ms`)
  }

  /** Asks the server as the page does, without showing anything. */
  const answer = async (t, path, headers = {}) => {
    const found = await person.evaluate(async ([path, headers]) => {
      const began = performance.now()
      const answer = await fetch(path, { headers })
      const first = performance.now() - began
      const text = await answer.text()
      const { encodedBodySize } = performance.getEntriesByName(new URL(path, location.href).href).at(-1) ?? {}
      return { status: answer.status, first: Math.round(first), all: Math.round(performance.now() - began), bytes: new Blob([text]).size, encodedBodySize }
    }, [path, headers])
    t.diagnostic(`${path}: ${JSON.stringify(found)}`)
    assert.equal(found.status, 200)
    assert.ok(found.all < longest, `${path} took ${found.all} ms`)
    return found
  }

  test('a log of 63 MiB is read to its end, and searched, and says what is left out of it', async (t) => {
    const path = '/runs/default/talks-1?tab=log'
    const region = person.getByRole('region', { name: 'Log' })
    await timed(t, 'the first lines', async () => {
      await to(person, path)
      await region.locator('[data-index]').first().waitFor()
    })
    await timed(t, 'all of it read', () => person.getByText('reading…').waitFor({ state: 'hidden' }))
    assert.equal(await person.getByText(/are not shown here/).count(), 0)
    await timed(t, 'its end by the End key', async () => {
      await region.focus()
      await region.press('End')
      await seen(region, /Apply complete!/)
    })
    const search = person.getByRole('searchbox', { name: 'Search in the log' })
    await timed(t, 'its beginning by the Home key', async () => {
      await region.press('Home')
      await region.getByRole('link', { name: 'Link to line 1', exact: true }).waitFor()
    })
    await timed(t, 'a search that finds one line', async () => {
      await search.fill(`line ${lines} `)
      await seen(person, /^0 of 1$|^1 of 1$/)
      await search.press('Enter')
      await region.locator('mark').first().waitFor()
    })
    await timed(t, 'a search that finds every line', async () => {
      await search.fill('line')
      await seen(person, /of 10,000 or more/)
    })
    await timed(t, 'what is not kept', async () => {
      await search.fill('the log is too long')
      await seen(person, /^0 of 1$|^1 of 1$/)
      await search.press('Enter')
      await seen(region, /^\[cairn: \d{7} bytes were left out here: the log is too long\]$/)
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
    const region = person.getByRole('region', { name: 'Changes' })
    await timed(t, 'the plan', async () => {
      await to(person, '/runs/default/many-1')
      await region.getByRole('button', { name: /shard/ }).first().waitFor()
    })
    await seen(person, '10,000 in all')
    assert.ok((await region.locator('[data-index]').count()) < 200, 'only what is seen is drawn')
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
    const search = person.getByRole('searchbox', { name: /^Search in addresses/ })
    await timed(t, 'a search by address', async () => {
      await search.fill('shard[7777]')
      await seen(person, '1 of 10,000')
    })
    await timed(t, 'a search by value', async () => {
      await search.fill('zone-2')
      await seen(person, '3,333 of 10,000')
    })
    await search.fill('')
    await timed(t, 'a filter by address', async () => {
      await person.getByRole('searchbox', { name: /^Filter by address/ }).fill('*[12*')
      await seen(person, '111 of 10,000')
    })
    await timed(t, 'all of these unfolded', async () => {
      await person.getByRole('button', { name: 'Unfold all' }).click()
      await seen(region, /"shard-12\d*"/) // one of those in sight
    })
    await timed(t, 'the text', async () => {
      await person.getByRole('tab', { name: 'Text', exact: true }).click()
      await seen(person, 'terraform_data.shard[0] will be created')
    })
    const text = person.getByRole('region', { name: 'Plan as text' })
    await timed(t, 'its end', async () => {
      const end = text.getByText(`Plan: ${changes} to add`).first()
      await text.focus()
      for (let i = 0; i < 60 && !(await end.isVisible()); i++) {
        await text.press('End') // goes to the end of what has arrived so far
        await end.waitFor({ timeout: 1_000 }).catch(() => {})
      }
      await seen(text, `Plan: ${changes} to add`)
    })
    await timed(t, 'the graph', async () => {
      await person.getByRole('tab', { name: 'Graph' }).click()
      await person.locator('.react-flow__node', { hasText: 'shard' }).waitFor()
    })
    for (const form of ['', '?format=text', '?format=json']) await answer(t, `/api/v1/namespaces/default/runs/many-1/plan${form}`)
    await timed(t, 'the question before an approval', async () => {
      await person.getByRole('button', { name: 'Approve…' }).click()
      await seen(person.getByRole('dialog'), '10,000 to add')
    })
  })
})
