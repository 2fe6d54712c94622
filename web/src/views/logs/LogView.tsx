import { ArrowDownToLine, ChevronDown, ChevronUp, Download, WrapText } from 'lucide-react'
import { useEffect, useState, useSyncExternalStore } from 'react'
import type { KeyboardEvent, ReactNode } from 'react'
import { Button, buttonClass } from '../../ui/Button'
import { cx } from '../../ui/cx'
import { Empty } from '../../ui/Empty'
import { Problem } from '../../ui/Problem'
import { ProblemError } from '../../api/client'
import type { Feed } from './feed'
import { Lines } from './Lines'
import type { Range } from './range'
import { extended, formatRange } from './range'
import { mostMatches } from './search'
import type { StreamState } from './stream'

type Props = {
  feed: Feed
  label: string
  download: string
  filename: string
  range: Range | undefined
  onRange: (range: Range) => void
  /** A step whose part of the log is to be seen. */
  step?: string | undefined
  follows?: boolean
  lineClass?: (line: string) => string
  children?: ReactNode
}

/** A log or another long text: with search, links to lines, and the newest line in sight while it grows. */
export function LogView({
  feed,
  label,
  download,
  filename,
  range,
  onRange,
  step,
  follows = false,
  lineClass,
  children,
}: Props) {
  const version = useSyncExternalStore(feed.subscribe, feed.snapshot)
  useEffect(() => feed.start(), [feed])
  const [wrap, setWrap] = useState(() => window.innerWidth < 640)
  const [follow, setFollow] = useState(follows && !range && !step)
  const [wanted, setWanted] = useState('')
  const [match, setMatch] = useState(0)
  const [target, setTarget] = useState<{ line: number; asked: number } | undefined>()
  const { store, search, state } = feed
  const see = (line: number) => setTarget({ line, asked: (target?.asked ?? 0) + 1 })

  // A line or a step of a link is seen once it is there.
  const section = step ? store.sections.find((s) => s.step === step) : undefined
  const linked = range?.from ?? section?.line
  const [seen, setSeen] = useState<number | undefined>()
  if (linked !== undefined && linked !== seen && store.total >= linked) {
    setSeen(linked)
    see(linked)
    setFollow(false)
  }

  const searchFor = (text: string) => {
    setWanted(text)
    setMatch(0)
    feed.searchFor(text)
  }
  const go = (by: number) => {
    const n = search.matches.length
    if (n === 0) return
    const next = (match + by + n) % n
    setMatch(next)
    setFollow(false)
    see(search.matches[next] ?? 1)
  }
  const keys = (event: KeyboardEvent) => {
    if (event.key !== 'Enter') return
    event.preventDefault()
    // The first match is the first one to go to.
    go(event.shiftKey ? -1 : target && search.matches[match] === target.line ? 1 : 0)
  }
  const found = search.matches.length
  const current = found > 0 && search.matches[match] !== undefined ? match + 1 : 0

  return (
    <div className="panel overflow-hidden">
      <div className="border-line flex flex-wrap items-center gap-1.5 border-b p-1.5">
        {children}
        {store.sections.length > 0 && (
          <select
            aria-label="Go to a step"
            className="field max-w-40 px-1.5 text-sm"
            value=""
            onChange={(event) => {
              setFollow(false)
              see(Number(event.target.value))
            }}
          >
            <option value="">Go to step…</option>
            {store.sections.map((s) => (
              <option key={s.line} value={s.line}>
                {s.step} (line {s.line})
              </option>
            ))}
          </select>
        )}
        <input
          type="search"
          aria-label={`Search in the ${label.toLowerCase()}`}
          placeholder="Search"
          className="field w-44 grow text-sm sm:grow-0"
          value={wanted}
          onChange={(event) => searchFor(event.target.value)}
          onKeyDown={keys}
        />
        {wanted !== '' && (
          <>
            <span role="status" className="text-muted text-sm whitespace-nowrap tabular-nums">
              {found === 0
                ? 'nothing found'
                : `${current} of ${found.toLocaleString('en')}${found >= mostMatches ? ' or more' : ''}`}
            </span>
            <Button
              kind="bare"
              small
              aria-label="Previous match"
              icon={<ChevronUp aria-hidden className="size-4" />}
              onClick={() => go(-1)}
            />
            <Button
              kind="bare"
              small
              aria-label="Next match"
              icon={<ChevronDown aria-hidden className="size-4" />}
              onClick={() => go(1)}
            />
          </>
        )}
        <span className="grow" />
        <span className="text-muted text-sm whitespace-nowrap">
          <Standing state={state} follows={follows} /> {store.total.toLocaleString('en')} lines
        </span>
        <Button
          kind="bare"
          small
          aria-pressed={wrap}
          className={cx(wrap && 'bg-chosen')}
          icon={<WrapText aria-hidden className="size-4" />}
          onClick={() => setWrap(!wrap)}
        >
          <span className="sr-only sm:not-sr-only">Wrap</span>
        </Button>
        {follows && (
          <Button
            kind="bare"
            small
            aria-pressed={follow}
            className={cx(follow && 'bg-chosen')}
            icon={<ArrowDownToLine aria-hidden className="size-4" />}
            onClick={() => setFollow(!follow)}
          >
            <span className="sr-only sm:not-sr-only">Follow</span>
          </Button>
        )}
        <a className={buttonClass('bare', true)} href={download} download={filename}>
          <Download aria-hidden className="size-4" />
          <span className="sr-only sm:not-sr-only">Download</span>
        </a>
      </div>
      {state.kind === 'failed' && (
        <div className="p-2">
          <Problem error={new ProblemError(state.problem)} />
        </div>
      )}
      {state.kind === 'waiting' && (
        <p role="status" className="bg-warnbg text-warn border-line border-b px-3 py-1 text-sm">
          {state.detail}. The log continues from here after reconnecting.
        </p>
      )}
      {store.first > 1 && (
        <p className="text-muted border-line border-b px-3 py-1 text-sm">
          Lines 1 to {(store.first - 1).toLocaleString('en')} are not shown here: download the log to view them.
        </p>
      )}
      {store.kept === 0 && state.kind !== 'failed' ? (
        <Empty title={state.kind === 'ended' ? 'The log is empty' : 'Nothing yet'} />
      ) : (
        <Lines
          label={label}
          store={store}
          version={version}
          wrap={wrap}
          follow={follow}
          onLeave={() => setFollow(false)}
          wanted={wanted}
          target={target}
          range={range}
          onPick={(line, extend) => {
            const picked = extended(range, line, extend)
            setSeen(picked.from) // it is in sight
            setFollow(false)
            onRange(picked)
          }}
          href={(line) => '#' + formatRange({ from: line, to: line })}
          {...(lineClass && { lineClass })}
        />
      )}
    </div>
  )
}

function Standing({ state, follows }: { state: StreamState; follows: boolean }) {
  if (!follows) return state.kind === 'live' || state.kind === 'connecting' ? 'reading…' : ''
  switch (state.kind) {
    case 'connecting':
      return 'connecting…'
    case 'live':
      return <span className="text-good">live</span>
    case 'waiting':
      return <span className="text-warn">disconnected</span>
    default:
      return ''
  }
}
