// Measures the rendering of the list of Stacks: node paint.mjs FIRST TOTAL, with CAIRN_URL and CAIRN_TOKEN in the environment. FIRST is the name
// of a Stack on the first page of the list, TOTAL the number of Stacks. `paint` is the first contentful paint, `rows` the paint of the first rows:
// medians of browsers with empty caches, since the start of the navigation. The last line is JSON.
import { chromium } from 'playwright-core'

const [first, total] = process.argv.slice(2)
const url = process.env.CAIRN_URL
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] })
const paints = []
const rows = []
for (let i = 0; i < 7; i++) {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 900 } })
  const session = await context.request.post(`${url}/api/v1/session`, { data: { token: process.env.CAIRN_TOKEN } })
  if (!session.ok()) throw new Error(`not signed in: ${session.status()} ${await session.text()}`)
  const page = await context.newPage()
  await page.addInitScript(() => {
    const check = () => {
      if (!document.querySelector('[role=row][data-index]')) return requestAnimationFrame(check)
      // The rows are painted with this frame, before the next one.
      requestAnimationFrame(() => (globalThis.rowsPainted = performance.now()))
    }
    check()
  })
  await page.goto(`${url}/stacks`, { waitUntil: 'commit' })
  await page.getByRole('row').filter({ hasText: first }).first().waitFor()
  await page.waitForFunction(() => globalThis.rowsPainted && performance.getEntriesByName('first-contentful-paint')[0])
  const count = (await page.getByRole('table').getAttribute('aria-rowcount')) - 1
  if (count !== Number(total)) throw new Error(`the list has ${count} Stacks, not ${total}`)
  rows.push(await page.evaluate(() => globalThis.rowsPainted))
  paints.push(await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime))
  await context.close()
}
await browser.close()
const median = (all) => Math.round(all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)])
console.log(JSON.stringify({ paint: median(paints), rows: median(rows) }))
