// Checks accessibility with axe-core.
import axe from 'axe-core'

/** Adds axe-core to all pages of a browser context. */
export const useAxe = (page) => page.context().addInitScript({ content: axe.source })

/** Returns the serious violations in the light and the dark theme. `checked` is called for each theme. */
export async function violations(page, checked = () => undefined) {
  const found = []
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme })
    const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }))
    found.push(
      ...violations
        .filter((v) => v.impact === 'serious' || v.impact === 'critical')
        .flatMap((v) => v.nodes.map((n) => `${colorScheme}: ${v.id}: ${n.html.slice(0, 200)}: ${n.failureSummary}`)),
    )
    await checked(colorScheme)
  }
  await page.emulateMedia({ colorScheme: 'light' })
  return found
}
