// How long the list of Stacks takes to be seen: node paint.mjs FIRST, with CAIRN_URL and CAIRN_TOKEN in the environment. FIRST is the name of a Stack
// on the first page of the list. Each time is that of a browser which has nothing in its cache; the last line is JSON.
import { chromium } from 'playwright-core'

const [first] = process.argv.slice(2)
const url = process.env.CAIRN_URL
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] })
const paints = []
const rows = []
for (let i = 0; i < 7; i++) {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 900 } })
  const entered = await context.request.post(`${url}/api/v1/session`, { data: { token: process.env.CAIRN_TOKEN } })
  if (!entered.ok()) throw new Error(`not signed in: ${entered.status()} ${await entered.text()}`)
  const page = await context.newPage()
  const began = Date.now()
  await page.goto(`${url}/stacks`, { waitUntil: 'commit' })
  await page.getByText(first).first().waitFor()
  rows.push(Date.now() - began)
  paints.push(await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime))
  await context.close()
}
await browser.close()
const median = (all) => Math.round(all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)])
console.log(JSON.stringify({ paint: median(paints), rows: median(rows) }))
