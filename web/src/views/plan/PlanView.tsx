import { FoldVertical, UnfoldVertical } from 'lucide-react'
import { useDeferredValue, useMemo, useState } from 'react'
import { Button } from '../../ui/Button'
import { cx } from '../../ui/cx'
import { Empty } from '../../ui/Empty'
import { Rows } from '../Rows'
import type { Filter } from './filter'
import { countActions, filtered, noFilter } from './filter'
import { PlanRow } from './PlanRow'
import { foldable, isOpen, reviewOf, rowsByAction, rowsOf } from './rows'
import type { Action, View } from './types'
import { actions, doneWord, toneText, wordOf } from './types'

/** So many changes are unfolded at once at most: each has its attributes. */
const mostUnfolded = 2_000

type Props = {
  view: View
  filter: Filter
  onFilter: (filter: Filter) => void
  /** Whether this is the plan of a Run: what it destroys and replaces is at the top, unfolded. */
  review?: boolean
  /** The text for a plan without changes. */
  nothing?: string
  /** It is what has changed, in groups by action, instead of what a plan would change, by module. */
  past?: boolean
}

/** What a plan would do: by module, destructive changes first, each attribute before and after. */
export function PlanView({ view, filter, onFilter, review = false, nothing = 'No changes', past = false }: Props) {
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set())
  const wanted = useDeferredValue(filter)
  const all = useMemo(() => [...(view.changes ?? []), ...(view.outputs ?? [])], [view])
  const counts = useMemo(() => countActions(all), [all])
  const some = useMemo(() => filtered(view, wanted), [view, wanted])
  const first = useMemo(() => (review ? reviewOf(view.changes ?? []) : undefined), [view, review])
  const rows = useMemo(
    () =>
      past ? rowsByAction(some.changes, some.outputs, toggled) : rowsOf(some.changes, some.outputs, toggled, first),
    [some, toggled, past, first],
  )
  if (all.length === 0) return <Empty title={nothing} />

  const toggle = (key: string) => {
    const next = new Set(toggled)
    if (!next.delete(key)) next.add(key)
    setToggled(next)
  }
  const shown = some.changes.length + some.outputs.length
  const keys = foldable(some.changes, some.outputs)
  const unfolded = keys.some((key) => isOpen(key, toggled, first))
  const toggleAll = () => {
    const other = unfolded ? [...(first?.unfolded ?? [])] : keys.filter((key) => !first?.unfolded.has(key))
    setToggled(new Set([...toggled].filter((key) => !/^[co]:/.test(key)).concat(other)))
  }
  return (
    <div className="panel overflow-hidden">
      <div className="border-line flex flex-wrap items-center gap-1.5 border-b p-1.5">
        <ActionFilter
          counts={counts}
          past={past}
          chosen={filter.actions}
          onChange={(chosen) => onFilter({ ...filter, actions: chosen })}
        />
        <input
          type="search"
          aria-label="Search in addresses, attributes and values"
          placeholder="Search"
          className="field w-full text-sm sm:w-48"
          value={filter.text}
          onChange={(event) => onFilter({ ...filter, text: event.target.value })}
        />
        <input
          type="search"
          aria-label="Filter by address; * is any text"
          placeholder="Address, as module.net.*"
          className="field w-full font-mono text-sm sm:w-56"
          value={filter.address}
          onChange={(event) => onFilter({ ...filter, address: event.target.value })}
        />
        <span role="status" className="text-muted ml-auto px-1 text-sm tabular-nums">
          {shown === all.length
            ? `${all.length.toLocaleString('en')} in all`
            : `${shown.toLocaleString('en')} of ${all.length.toLocaleString('en')}`}
        </span>
        <Button
          kind="bare"
          small
          disabled={!unfolded && keys.length > mostUnfolded}
          title={
            keys.length > mostUnfolded
              ? `Filter to ${mostUnfolded.toLocaleString('en')} or fewer to unfold all`
              : undefined
          }
          icon={
            unfolded ? (
              <FoldVertical aria-hidden className="size-4" />
            ) : (
              <UnfoldVertical aria-hidden className="size-4" />
            )
          }
          onClick={toggleAll}
        >
          {unfolded ? 'Fold all' : 'Unfold all'}
        </Button>
      </div>
      {rows.length === 0 ? (
        <Empty title="Nothing matches">
          <Button small onClick={() => onFilter(noFilter)}>
            Show all
          </Button>
        </Empty>
      ) : (
        <Rows label="Changes" rows={rows} keyOf={(row) => row.key}>
          {(row) => <PlanRow row={row} past={past} onToggle={toggle} />}
        </Rows>
      )}
    </div>
  )
}

function ActionFilter({
  counts,
  past,
  chosen,
  onChange,
}: {
  counts: Map<Action, number>
  past: boolean
  chosen: Action[]
  onChange: (chosen: Action[]) => void
}) {
  return (
    <div role="group" aria-label="Filter by action" className="flex flex-wrap gap-1">
      {actions
        .filter((a) => counts.has(a) || chosen.includes(a))
        .map((a) => {
          const on = chosen.includes(a)
          return (
            <button
              key={a}
              type="button"
              aria-pressed={on}
              onClick={() => onChange(on ? chosen.filter((c) => c !== a) : [...chosen, a])}
              className={cx(
                'border-line hover:bg-hover flex h-7 items-center gap-1 rounded-md border px-2 text-sm',
                on && 'bg-chosen border-strong',
              )}
            >
              <span aria-hidden className={cx('font-mono font-semibold', toneText[wordOf(a).tone])}>
                {wordOf(a).sign}
              </span>
              {doneWord(a, past)}{' '}
              <span className="text-muted tabular-nums">{(counts.get(a) ?? 0).toLocaleString('en')}</span>
            </button>
          )
        })}
    </div>
  )
}
