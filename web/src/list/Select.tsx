import type { Selectable, Selection } from './selection'
import { mostSelected } from './selection'

const box = 'accent-accent size-4'

/** The checkbox of a row. With Shift, it selects all rows from the one that was selected before. */
export function SelectRow<R extends Selectable>({
  row,
  selection,
  onChoose,
}: {
  row: R
  selection: Selection<R>
  onChoose: (on: boolean, range: boolean) => void
}) {
  return (
    // The link of the row covers all of it but this.
    <label className="relative z-1 -my-2 -ml-3 flex py-3 pr-2 pl-3">
      <input
        type="checkbox"
        className={box}
        aria-label={`Select ${row.namespace}/${row.name}`}
        checked={selection.chosen.has(row.uid)}
        onChange={(event) =>
          onChoose(event.target.checked, event.nativeEvent instanceof MouseEvent && event.nativeEvent.shiftKey)
        }
      />
    </label>
  )
}

/** Whether all rows of a list can be selected: if they are there, and not too many. */
export function canSelectAll(rows: unknown[], all: boolean): boolean {
  return all && rows.length > 0 && rows.length <= mostSelected
}

/** Selects all rows of a list, if they are not too many. */
export function SelectAll<R extends Selectable>({
  label,
  rows,
  all,
  selection,
}: {
  label: string
  rows: R[]
  /** Whether the list has no more rows than these. */
  all: boolean
  selection: Selection<R>
}) {
  const chosen = rows.filter((r) => selection.chosen.has(r.uid)).length
  const possible = canSelectAll(rows, all)
  return (
    <input
      type="checkbox"
      className={box}
      aria-label={`Select all ${label}`}
      title={possible ? undefined : `Filter the list to at most ${mostSelected} rows to select all`}
      disabled={!possible}
      checked={chosen > 0 && chosen === rows.length}
      ref={(input) => {
        if (input) input.indeterminate = chosen > 0 && chosen < rows.length
      }}
      onChange={(event) => (event.target.checked ? selection.chooseAll(rows) : selection.clear())}
    />
  )
}
