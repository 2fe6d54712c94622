import { Link } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useRef } from 'react'
import { Badge, ReadyBadge } from '../../ui/Badge'
import { cx } from '../../ui/cx'
import { safe } from '../text/escape'
import { isAlone, notFound } from './stacks'
import type { StackNode } from './stacks'
import { relations } from './words'

/** A Stack in the list, and the heading above it if it is the first of its layer. */
export type Listed = { node: StackNode; heading?: string }

/** Stacks by layer; last those without dependencies. */
export function byLayer(nodes: StackNode[], layers: Map<string, number>): Listed[] {
  const layerOf = (n: StackNode) => (isAlone(n) ? Infinity : (layers.get(n.id) ?? 1))
  const counts = new Map<number, number>()
  for (const n of nodes) counts.set(layerOf(n), (counts.get(layerOf(n)) ?? 0) + 1)
  const sorted = nodes.toSorted((a, b) => layerOf(a) - layerOf(b) || a.id.localeCompare(b.id))
  return sorted.map((node, i) => {
    const layer = layerOf(node)
    const before = sorted[i - 1]
    if (before && layerOf(before) === layer) return { node }
    const title = layer === Infinity ? 'No dependencies' : `Layer ${layer}`
    return { node, heading: `${title} (${counts.get(layer)?.toLocaleString('en')})` }
  })
}

/** The same as the drawing in text: Stacks by layer, what each depends on, and what depends on it. */
export function StackList({
  rows: listed,
  focus,
  onFocus,
}: {
  rows: Listed[]
  focus: string | undefined
  onFocus: (id: string) => void
}) {
  const box = useRef<HTMLDivElement>(null)
  const rows = useVirtualizer({
    count: listed.length,
    getScrollElement: () => box.current,
    estimateSize: (i) => (listed[i]?.heading ? 90 : 62),
    getItemKey: (i) => listed[i]?.node.id ?? i,
    overscan: 8,
    initialRect: { width: 320, height: 600 },
  })
  return (
    <div
      ref={box}
      id="stack-list"
      tabIndex={-1}
      className="panel max-h-[max(20rem,calc(100dvh-14rem))] overflow-y-auto"
    >
      <ul
        aria-label="Stacks by layer, what each depends on, and what depends on it"
        className="relative"
        style={{ height: rows.getTotalSize() }}
      >
        {rows.getVirtualItems().map((row) => {
          const item = listed[row.index]
          if (!item) return null
          const n = item.node
          return (
            <li
              key={row.key}
              data-index={row.index}
              ref={rows.measureElement}
              aria-setsize={listed.length}
              aria-posinset={row.index + 1}
              className="border-line absolute inset-x-0 border-b text-sm"
              style={{ top: row.start }}
            >
              {item.heading && <p className="bg-sunken text-muted px-2 py-1 font-medium">{item.heading}</p>}
              <div className={cx('p-2', n.id === focus && 'bg-chosen')}>
                <div className="flex items-center gap-2">
                  {n.stack ? (
                    <Link
                      className="link min-w-0 truncate font-mono"
                      to="/stacks/$namespace/$name"
                      params={{ namespace: n.namespace, name: n.name }}
                    >
                      {n.name}
                    </Link>
                  ) : (
                    <span className="min-w-0 truncate font-mono">{safe(n.name)}</span>
                  )}
                  <span className="ml-auto shrink-0">
                    {n.stack ? <ReadyBadge of={n.stack} /> : <Badge tone="bad">{notFound}</Badge>}
                  </span>
                </div>
                <div className="text-muted flex items-baseline gap-2 text-xs">
                  <span className="min-w-0 break-words">{relations(n)}</span>
                  <button
                    type="button"
                    className="link ml-auto shrink-0"
                    aria-label={`Focus: show what is around ${n.id}`}
                    onClick={() => onFocus(n.id)}
                  >
                    Focus
                  </button>
                </div>
              </div>
            </li>
          )
        })}
      </ul>
    </div>
  )
}
