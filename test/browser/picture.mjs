// Takes a picture of what a Git provider renders of a comment: node picture.mjs URL SELECTOR FILE. The styles are ours, since the Gitea of the
// tests is built without its own.
import { chromium } from 'playwright-core'

const [url, selector, path] = process.argv.slice(2)
const style = `
  body { margin: 0; padding: 16px; width: 820px; font: 14px/1.5 system-ui, sans-serif; color: #1f2328; background: #fff }
  table { border-collapse: collapse } td, th { border: 1px solid #d1d9e0; padding: 4px 10px; text-align: left }
  pre { padding: 12px; border-radius: 6px; background: #f6f8fa; font-size: 12px; white-space: pre-wrap }
  a { color: #0969da; text-decoration: none } summary { cursor: default }`

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] })
try {
  const page = await browser.newPage({ viewport: { width: 860, height: 200 }, deviceScaleFactor: 1.5 })
  await page.goto(url)
  const html = await page.locator(selector).first().evaluate((element) => element.innerHTML)
  await page.setContent(`<!doctype html><style>${style}</style>${html}`)
  for (const details of await page.locator('details').all()) await details.evaluate((element) => (element.open = true))
  await page.screenshot({ path, fullPage: true })
} finally {
  await browser.close()
}
