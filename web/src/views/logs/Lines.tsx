import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useRef, useState } from 'react'
import type { MouseEvent } from 'react'
import { cx } from '../../ui/cx'
import { segments } from '../text/ansi'
import type { Range } from './range'
import { highlight } from './search'
import type { LogStore } from './store'

/** How much of a line is shown at first, and how much more at most. */
const cut = 2_000
const mostShown = 200_000

type Props = {
  label: string
  store: LogStore
  /** Reports that the store changed. */
  version: number
  wrap: boolean
  follow: boolean
  onLeave: () => void
  wanted: string
  /** The line to be seen, and a number that is another one each time that it is to be seen. */
  target: { line: number; asked: number } | undefined
  range: Range | undefined
  onPick: (line: number, extend: boolean) => void
  href: (line: number) => string
  /** The CSS class of a line as a whole. */
  lineClass?: (line: string) => string
}

/** Lines with their numbers, of which only those to be seen are drawn. */
export function Lines({
  label,
  store,
  version,
  wrap,
  follow,
  onLeave,
  wanted,
  target,
  range,
  onPick,
  href,
  lineClass,
}: Props) {
  const box = useRef<HTMLDivElement>(null)
  const [more, setMore] = useState<ReadonlyMap<number, number>>(new Map())
  const top = useRef({ at: 0, first: 1 })
  const count = store.kept
  const rows = useVirtualizer({
    count,
    getScrollElement: () => box.current,
    estimateSize: () => 20,
    overscan: 12,
    initialRect: { width: 800, height: 600 },
  })

  // What is kept moves up when the oldest lines are dropped: so does who reads.
  useEffect(() => {
    const dropped = store.first - top.current.first
    top.current.first = store.first
    if (follow) {
      if (count > 0) rows.scrollToIndex(count - 1, { align: 'end' })
    } else if (dropped > 0 && box.current) {
      box.current.scrollTop -= dropped * 20
      top.current.at = box.current.scrollTop
    }
  }, [version, follow, count, rows, store])

  useEffect(() => {
    if (target && target.line >= store.first) rows.scrollToIndex(target.line - store.first, { align: 'center' })
    // Only when it is asked for: not with each new line.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [target?.line, target?.asked])

  const scrolled = () => {
    const at = box.current?.scrollTop ?? 0
    if (follow && at < top.current.at - 40) onLeave()
    top.current.at = at
  }

  const click = (event: MouseEvent, line: number) => {
    if (event.metaKey || event.ctrlKey) return
    event.preventDefault()
    onPick(line, event.shiftKey)
  }

  const width = String(store.total).length
  return (
    <div
      ref={box}
      role="region"
      aria-label={label}
      // What is scrolled has to be reached by keys.
      // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
      onScroll={scrolled}
      className="bg-sunken h-[max(16rem,calc(100dvh-19rem))] overflow-auto font-mono text-xs leading-5 [overflow-anchor:none]"
    >
      <div
        className="relative w-max min-w-full"
        style={{ height: rows.getTotalSize(), ...(wrap && { width: '100%' }) }}
      >
        {rows.getVirtualItems().map((row) => {
          const line = store.first + row.index
          const chosen = line === target?.line || (range && line >= range.from && line <= range.to)
          const limit = more.get(line) ?? cut
          const text = store.line(line) ?? ''
          return (
            <div
              key={row.key}
              data-index={row.index}
              ref={rows.measureElement}
              className={cx('absolute left-0 flex min-h-5 min-w-full', wrap && 'w-full', chosen && 'bg-chosen')}
              style={{ top: row.start }}
            >
              <a
                href={href(line)}
                onClick={(event) => click(event, line)}
                aria-label={`Link to line ${line}`}
                className="text-muted hover:text-ink shrink-0 pr-3 pl-2 text-right select-none"
                style={{ width: `calc(${width}ch + 1.25rem)` }}
              >
                {line}
              </a>
              <span
                className={cx(
                  'min-w-0 grow pr-3',
                  wrap || text.length > cut ? 'break-all whitespace-pre-wrap' : 'whitespace-pre',
                  lineClass?.(text),
                )}
              >
                <Line text={text} limit={limit} wanted={wanted} />
                {text.length > limit && (
                  <button
                    type="button"
                    className="link ml-2"
                    disabled={limit >= mostShown}
                    onClick={() => setMore(new Map(more).set(line, Math.min(mostShown, limit * 10)))}
                  >
                    {(text.length - limit).toLocaleString('en')} more characters
                    {limit < mostShown ? ': show more' : ', which the download has'}
                  </button>
                )}
              </span>
            </div>
          )
        })}
      </div>
    </div>
  )
}

function Line({ text, limit, wanted }: { text: string; limit: number; wanted: string }) {
  return segments(text.length > limit ? text.slice(0, limit) : text).map((s, i) => (
    <span key={i} className={s.className || undefined}>
      {wanted === ''
        ? s.text
        : highlight(s.text, wanted).map((p, j) =>
            p.hit ? (
              <mark key={j} className="bg-warnbg text-warn">
                {p.text}
              </mark>
            ) : (
              p.text
            ),
          )}
    </span>
  ))
}
