// How long the list of Stacks takes to be seen: node paint.mjs FIRST TOTAL, with CAIRN_URL and CAIRN_TOKEN in the environment. FIRST is the name of a
// Stack on the first page of the list, TOTAL how many there are. `paint` is when the browser first drew anything of the page, `rows` when it drew the
// first rows of the list: medians of browsers which have nothing in their caches, from the moment that they are told to go there. The last line is JSON.
import { chromium } from 'playwright-core'

const [first, total] = process.argv.slice(2)
const url = process.env.CAIRN_URL
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] })
const paints = []
const rows = []
for (let i = 0; i < 7; i++) {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 900 } })
  const entered = await context.request.post(`${url}/api/v1/session`, { data: { token: process.env.CAIRN_TOKEN } })
  if (!entered.ok()) throw new Error(`not signed in: ${entered.status()} ${await entered.text()}`)
  const page = await context.newPage()
  await page.addInitScript(() => {
    const look = () => {
      if (!document.querySelector('[role=row][data-index]')) return requestAnimationFrame(look)
      // What is there now is drawn with this frame: the next one begins after that.
      requestAnimationFrame(() => (globalThis.rowsSeen = performance.now()))
    }
    look()
  })
  await page.goto(`${url}/stacks`, { waitUntil: 'commit' })
  await page.getByRole('row').filter({ hasText: first }).first().waitFor()
  await page.waitForFunction(() => globalThis.rowsSeen)
  const count = (await page.getByRole('table').getAttribute('aria-rowcount')) - 1
  if (count !== Number(total)) throw new Error(`the list has ${count} Stacks, not ${total}`)
  rows.push(await page.evaluate(() => globalThis.rowsSeen))
  paints.push(await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime))
  await context.close()
}
await browser.close()
const median = (all) => Math.round(all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)])
console.log(JSON.stringify({ paint: median(paints), rows: median(rows) }))
