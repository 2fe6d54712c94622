import { useState } from 'react'

/** How many rows can be selected. */
export const mostSelected = 100

/** A row that can be selected. */
export type Selectable = { uid: string; namespace: string; name: string }

/** The selected rows of a list. */
export type Selection<R extends Selectable> = {
  chosen: ReadonlyMap<string, R>
  /** Selects a row of the list or not; with a range, also all rows from the one that was selected before. */
  choose: (rows: R[], at: number, on: boolean, range: boolean) => void
  chooseAll: (rows: R[]) => void
  clear: () => void
}

/** Selects or deselects the rows between two of them. The oldest mostSelected are kept. */
export function chooseRange<R extends Selectable>(
  chosen: ReadonlyMap<string, R>,
  rows: R[],
  [from, to]: [number, number],
  on: boolean,
): Map<string, R> {
  const next = new Map(chosen)
  for (const row of rows.slice(Math.min(from, to), Math.max(from, to) + 1)) {
    if (!on) next.delete(row.uid)
    else if (next.has(row.uid) || next.size < mostSelected) next.set(row.uid, row)
  }
  return next
}

/** The selection of a list. It is empty again when the filters of the list change, because other rows are in sight then. */
export function useSelection<R extends Selectable>(filters: unknown): Selection<R> {
  const key = JSON.stringify(filters)
  const empty = { key, chosen: new Map<string, R>(), last: undefined as string | undefined }
  const [kept, setState] = useState(empty)
  const state = kept.key === key ? kept : empty
  return {
    chosen: state.chosen,
    choose: (rows, at, on, range) => {
      const from = range ? rows.findIndex((r) => r.uid === state.last) : -1
      const chosen = chooseRange(state.chosen, rows, [from < 0 ? at : from, at], on)
      setState({ key, chosen, last: rows[at]?.uid })
    },
    chooseAll: (rows) => setState({ ...empty, chosen: chooseRange(state.chosen, rows, [0, rows.length], true) }),
    clear: () => setState(empty),
  }
}
