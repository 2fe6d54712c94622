import { useVirtualizer } from '@tanstack/react-virtual'
import type { ReactNode } from 'react'
import { useRef } from 'react'

/** Rows of a box that scrolls. Only those in sight are there. They are as high as what they contain. */
export function Rows<R>({
  label,
  rows,
  keyOf,
  children,
}: {
  label: string
  rows: R[]
  keyOf: (row: R) => string
  children: (row: R) => ReactNode
}) {
  const box = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => 30,
    getItemKey: (i) => (rows[i] === undefined ? i : keyOf(rows[i])),
    overscan: 12,
    initialRect: { width: 900, height: 700 },
  })
  return (
    <div
      ref={box}
      role="region"
      aria-label={label}
      // What is scrolled has to be reached by keys.
      // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
      className="max-h-[max(24rem,calc(100dvh-14rem))] overflow-y-auto [overflow-anchor:none]"
    >
      <div role="list" className="relative" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((item) => {
          const row = rows[item.index]
          if (row === undefined) return null
          return (
            <div
              key={item.key}
              role="listitem"
              data-index={item.index}
              ref={virtual.measureElement}
              className="absolute inset-x-0"
              style={{ top: item.start }}
            >
              {children(row)}
            </div>
          )
        })}
      </div>
    </div>
  )
}
