// axe-core finds what is in the way of people who see badly or use no mouse.
import axe from 'axe-core'

/** Lets the pages of a person be looked at. */
export const useAxe = (page) => page.context().addInitScript({ content: axe.source })

/** Gives what is in somebody's way where that is serious, light and dark. `seen` is called with each look. */
export async function violations(page, seen = () => undefined) {
  const found = []
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme })
    const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }))
    found.push(
      ...violations
        .filter((v) => v.impact === 'serious' || v.impact === 'critical')
        .flatMap((v) => v.nodes.map((n) => `${colorScheme}: ${v.id}: ${n.html.slice(0, 200)}: ${n.failureSummary}`)),
    )
    await seen(colorScheme)
  }
  await page.emulateMedia({ colorScheme: 'light' })
  return found
}
