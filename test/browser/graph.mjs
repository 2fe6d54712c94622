// The graph of 30 and of 300 Stacks. They are suspended, so that none of them has a Run.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { useAxe, violations } from './axe.mjs'
import { asAdmin, noErrors, waitForText, getCairn, to } from './base.mjs'
import { stack } from './cairn.mjs'

// Limits in milliseconds until 300 Stacks are drawn: the CPU time of the main thread, and the longest time that it is blocked.
const mostWork = 5_000
const longestTask = 2_000

const suspended = (namespace, name, labels, spec) => ({
  ...stack(name, '# nothing', { suspend: true, ...spec }),
  metadata: { name, namespace, labels },
})
const output = (name, stack, output) => ({ name, valueFrom: { stack: { name: stack, output } } })

// net and dns, 9 clusters on them, 18 apps on these, and one of which the dependency does not exist.
const small = [
  suspended('small', 'net', { tier: 'base' }),
  suspended('small', 'dns', { tier: 'base' }),
  ...Array.from({ length: 9 }, (_, i) =>
    suspended('small', `cluster-${i}`, { tier: 'cluster' }, { variables: [output('vpc', 'net', 'vpc_id')], dependsOn: [{ name: 'dns' }] })),
  ...Array.from({ length: 18 }, (_, i) =>
    suspended('small', `app-${i}`, { tier: 'app' }, { variables: [output('endpoint', `cluster-${i % 9}`, 'endpoint')] })),
  suspended('small', 'lost', { tier: 'app' }, { dependsOn: [{ name: 'gone' }] }),
]
// 6 namespaces of 50: in each a chain of 5, 20 Stacks on its first, and 25 without dependencies.
const namespaces = Array.from({ length: 6 }, (_, i) => `large-${i}`)
const large = namespaces.flatMap((namespace, n) =>
  Array.from({ length: 50 }, (_, i) =>
    suspended(namespace, `stack-${i}`, { team: `team-${i % 4}` }, i === 0 || i >= 25 ? {} : { dependsOn: [{ name: `stack-${i < 5 ? i - 1 : 0}` }] })),
)

// Widths with parameters of the address, and whether the graph is drawn then: a phone has only the list by default.
const views = [
  [1440, '', true],
  [1024, '&view=list', false],
  [1024, '', true],
  [390, '', false],
  [390, '&view=graph', true],
]

describe('the graph of Stacks', () => {
  let user, devtools
  before(async () => {
    const cairn = getCairn()
    await cairn.apply(...['small', ...namespaces].map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })))
    await cairn.apply(...small, ...large)
    user = await asAdmin({ reducedMotion: 'reduce' })
    await useAxe(user)
    await user.context().addInitScript(() => {
      globalThis.longTasks = []
      new PerformanceObserver((list) => globalThis.longTasks.push(...list.getEntries().map((e) => e.duration))).observe({ type: 'longtask', buffered: true })
    })
    devtools = await user.context().newCDPSession(user)
    await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
  }, { timeout: 300_000 })
  after(noErrors)

  const node = (name) => user.locator(`.react-flow__node[data-id="${name}"]`)
  const status = () => user.getByRole('main').getByRole('status')
  const isShown = async (what) => {
    await waitForText(status(), what)
    await user.waitForFunction(() => !document.querySelector('main .animate-pulse'))
  }
  const inURL = (key, value) => user.waitForURL((url) => url.searchParams.get(key) === value)

  test('of 30 fits each width, light and dark, and is accessible', async () => {
    for (const [width, view, drawn] of views) {
      await user.setViewportSize({ width, height: 900 })
      await to(user, `/graph?namespace=small${view}`)
      await isShown(drawn ? /^31 drawn, 31 listed$/ : /^31 listed$/)
      assert.equal(await user.locator('.react-flow').count(), drawn ? 1 : 0, `${width} ${view}`)
      await waitForText(user.getByRole('list', { name: /^Stacks by layer/ }), 'Layer 1 (3)')
      assert.deepEqual(await violations(user), [], `${width} ${view}`)
      const wide = await user.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      assert.ok(wide <= 0, `${width} ${view}: ${wide} pixels too wide`)
    }
    await user.setViewportSize({ width: 1440, height: 900 })
  })

  test('names the outputs, and tells the order and what is not found apart', async () => {
    await to(user, '/graph?namespace=small&focus=small/cluster-1')
    await isShown(/^5 drawn/)
    const edge = (from, to) => user.locator(`.react-flow__edge[data-id="${from}|${to}"]`)
    assert.equal(await edge('small/net', 'small/cluster-1').getAttribute('aria-label'), 'small/cluster-1 depends on small/net: vpc_id → var.vpc')
    await waitForText(edge('small/net', 'small/cluster-1'), 'vpc_id')
    await waitForText(edge('small/cluster-1', 'small/app-10'), 'endpoint')
    const dashes = (line) => line.locator('path').first().evaluate((path) => getComputedStyle(path).strokeDasharray)
    assert.equal(await dashes(edge('small/net', 'small/cluster-1')), 'none')
    assert.notEqual(await dashes(edge('small/dns', 'small/cluster-1')), 'none')
    await waitForText(user, 'depends on dns (order only), net (vpc_id → var.vpc); required by app-1, app-10')
    await to(user, '/graph?namespace=small&focus=small/lost')
    await waitForText(node('small/gone'), 'Not found')
  })

  test('is operated with the keyboard: a Stack is focused, and its lines highlighted', async () => {
    await to(user, '/graph?namespace=small')
    await isShown(/^31 drawn/)
    await node('small/cluster-3').focus()
    await user.waitForFunction(() => document.querySelectorAll('.graph-edge-chosen').length === 4)
    await user.keyboard.press('Enter')
    await inURL('focus', 'small/cluster-3')
    await isShown(/^5 drawn/)
    await user.getByRole('combobox', { name: 'Distance' }).selectOption('1')
    await inURL('depth', '1')
    await user.getByRole('button', { name: 'Show all' }).click()
    await isShown(/^31 drawn/)
    await user.getByRole('link', { name: 'Skip to the list' }).focus()
    await user.keyboard.press('Enter')
    await user.waitForFunction(() => document.activeElement?.id === 'stack-list')
  })

  test('has in a Stack what a destroy waits for, in order', async () => {
    await to(user, '/stacks/small/cluster-1?tab=dependencies')
    await waitForText(user, 'Nothing is destroyed before the 2 Stacks that depend on it')
    const order = user.getByRole('list', { name: 'Destroyed first' })
    assert.deepEqual(await order.getByRole('listitem').allTextContents(), ['app-1', 'app-10'])
    assert.deepEqual(await violations(user), [])
  })

  test('of 300 is grouped, and a group is expanded and collapsed', async () => {
    await to(user, '/graph?alone=true')
    const group = node('group:large-2')
    await waitForText(group, 'large-2 (50)')
    await waitForText(group, '50 suspended')
    await group.click()
    await waitForText(node('large-2/stack-1'), 'stack-1')
    assert.equal(await group.count(), 0)
    await user.getByRole('button', { name: 'Collapse large-2' }).click()
    await waitForText(group, 'large-2 (50)')
    await user.getByRole('combobox', { name: 'Group by' }).selectOption('label:team')
    await inURL('group', 'label:team')
    await waitForText(node('group:team-1'), 'team-1 (78)')
    assert.deepEqual(await violations(user), [])
  })

  test('of 300 is drawn without groups, without a blocked page, and found in by a search', async (t) => {
    const start = performance.now()
    await to(user, '/graph?alone=true&group=none')
    await node('large-5/stack-49').waitFor()
    const took = Math.round(performance.now() - start)
    const { metrics } = await devtools.send('Performance.getMetrics')
    const worked = Math.round(1_000 * metrics.find((m) => m.name === 'TaskDuration').value)
    const longest = Math.round(Math.max(0, ...(await user.evaluate(() => globalThis.longTasks))))
    t.diagnostic(`drawn after ${took} ms; CPU time ${worked} ms, longest task ${longest} ms`)
    assert.ok(worked < mostWork, `CPU time ${worked} ms`)
    assert.ok(longest < longestTask, `a task of ${longest} ms`)

    const places = await user.locator('.react-flow__node').evaluateAll((all) => all.map((n) => /translate\(([-\d.]+)px, ?([-\d.]+)px/.exec(n.style.transform).slice(1).map(Number)))
    assert.ok(places.length >= 300, `${places.length} nodes`)
    const overlap = places.filter(([x, y], i) => places.some(([a, b], j) => j > i && Math.abs(a - x) < 200 && Math.abs(b - y) < 46))
    assert.deepEqual(overlap, [])
    const [width, height] = [0, 1].map((axis) => Math.max(...places.map((p) => p[axis])) - Math.min(...places.map((p) => p[axis])))
    assert.ok(width < 5 * height && height < 5 * width, `${width} x ${height}`)

    await user.getByRole('searchbox', { name: 'Search Stacks' }).fill('large-3/stack-42')
    await isShown(/, 1 highlighted$/)
    await inURL('q', 'large-3/stack-42')
    const match = node('large-3/stack-42')
    await user.waitForFunction((n) => n.getBoundingClientRect().width > 150, await match.elementHandle()) // zoomed to it
    assert.ok(await match.locator('.outline-warn').count())
    await match.click()
    await isShown(/^1 drawn/)
  })
})
