import type { Group } from '../api/client'

/** What a list shows: its rows, and the lines of the table. A line is the index of a row, or the group that begins there. */
export type Lines<R> = { rows: R[]; lines: (number | Group)[]; incomplete: boolean }

type Page<R> = { items?: R[]; groups?: Group[] }

/**
 * The lines of the pages of a list. Rows of collapsed groups are hidden. It is incomplete if a group that is expanded lacks rows although
 * later ones are there, because it was collapsed when they were fetched.
 */
export function linesOf<R>(pages: Page<R>[], collapsed: string[]): Lines<R> {
  const rows: R[] = []
  const lines: (number | Group)[] = []
  let group: Group | undefined
  let incomplete = false
  let has = 0
  const end = () => {
    if (group && !collapsed.includes(group.value) && has < group.count) incomplete = true
  }
  for (const page of pages) {
    const items = page.items ?? []
    let at = 0
    const show = (n: number) => {
      for (const row of items.slice(at, at + n)) lines.push(rows.push(row) - 1)
    }
    for (const next of page.groups ?? []) {
      if (next.value !== group?.value) {
        end()
        has = 0
        lines.push(next)
      }
      group = next
      has += next.rows
      if (!collapsed.includes(next.value)) show(next.rows)
      at += next.rows
    }
    if (!page.groups) show(items.length)
  }
  return { rows, lines, incomplete }
}
