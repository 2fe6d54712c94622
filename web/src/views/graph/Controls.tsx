import type { ReactNode } from 'react'
import { Button } from '../../ui/Button'
import type { GraphSearch } from '../search'
import { safe } from '../text/escape'
import type { By } from './groups'

export type Change = (to: Partial<GraphSearch>) => void

function Choice({
  label,
  value,
  onChange,
  children,
}: {
  label: string
  value: string | number
  onChange: (value: string) => void
  children: ReactNode
}) {
  return (
    <select
      aria-label={label}
      className="field max-w-48 px-1.5"
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      {children}
    </select>
  )
}

/** What the graph shows: a search, a namespace, groups, the distance from a Stack; a drawing or a list. */
export function Controls({
  search,
  set,
  namespaces,
  groups,
  by,
  depth,
  view,
}: {
  search: GraphSearch
  set: Change
  namespaces: string[]
  groups: By[]
  by: By | undefined
  depth: number
  view: 'graph' | 'list'
}) {
  return (
    <div className="mb-2 flex flex-wrap items-center gap-2">
      <span role="group" aria-label="View" className="flex">
        {(['graph', 'list'] as const).map((v) => (
          <Button
            key={v}
            small
            kind={v === view ? 'main' : 'plain'}
            aria-pressed={v === view}
            onClick={() => set({ view: v })}
          >
            {v === 'graph' ? 'Graph' : 'List'}
          </Button>
        ))}
      </span>
      <input
        type="search"
        aria-label="Search Stacks"
        placeholder="Search Stacks"
        className="field w-full sm:w-56"
        value={search.q ?? ''}
        onChange={(event) => set({ q: event.target.value || undefined })}
      />
      {search.focus ? (
        <>
          <span className="min-w-0 break-words">
            Around <span className="font-mono">{safe(search.focus)}</span>
          </span>
          <label className="flex items-center gap-1.5">
            up to
            <Choice label="Distance" value={depth} onChange={(to) => set({ depth: Number(to) })}>
              {[1, 2, 3, 5, 9].map((d) => (
                <option key={d} value={d}>
                  {d} {d === 1 ? 'step' : 'steps'}
                </option>
              ))}
            </Choice>
            away
          </label>
          <Button small onClick={() => set({ focus: undefined })}>
            Show all
          </Button>
        </>
      ) : (
        <>
          {namespaces.length > 1 && (
            <Choice
              label="Namespace"
              value={search.namespace ?? ''}
              onChange={(to) => set({ namespace: to || undefined, open: undefined })}
            >
              <option value="">All namespaces</option>
              {namespaces.map((n) => (
                <option key={n}>{n}</option>
              ))}
            </Choice>
          )}
          {view === 'graph' && groups.length > 0 && (
            <Choice label="Group by" value={by ?? 'none'} onChange={(to) => set({ group: to, open: undefined })}>
              <option value="none">No groups</option>
              {groups.map((g) => (
                <option key={g} value={g}>
                  By {g.replace(/^label:/, 'label ')}
                </option>
              ))}
            </Choice>
          )}
          {view === 'graph' && (
            <label className="flex items-center gap-1.5">
              <input
                type="checkbox"
                checked={search.alone ?? false}
                onChange={(event) => set({ alone: event.target.checked || undefined })}
              />{' '}
              Include Stacks without dependencies
            </label>
          )}
          {(search.open ?? []).map((value) => (
            <Button key={value} small onClick={() => set({ open: search.open?.filter((v) => v !== value) })}>
              Collapse {safe(value)}
            </Button>
          ))}
        </>
      )}
    </div>
  )
}
