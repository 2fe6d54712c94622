import { ChevronDown, ChevronRight } from 'lucide-react'
import { Badge } from '../../ui/Badge'
import { cx } from '../../ui/cx'
import { safe } from '../text/escape'
import type { Row } from './rows'
import { forcing } from './rows'
import { TextDiff } from './TextDiff'
import type { Action, Attribute, Change } from './types'
import { doneWord, toneText, wordOf } from './types'
import { sides, texts } from './values'

/** The sign that shows whether a row is expanded. */
function Fold({ open }: { open: boolean }) {
  const Icon = open ? ChevronDown : ChevronRight
  return <Icon aria-hidden className="text-muted size-4 shrink-0 my-0.5" />
}

function Sign({ action, past = false }: { action: Action; past?: boolean }) {
  return (
    <span
      className={cx('w-7 shrink-0 text-center font-mono font-semibold whitespace-pre', toneText[wordOf(action).tone])}
    >
      <span aria-hidden>{wordOf(action).sign}</span>
      <span className="sr-only">{doneWord(action, past)}</span>
    </span>
  )
}

function Counts({ counts, past }: { counts: Map<Action, number>; past: boolean }) {
  const words = (action: Action) => (past ? '' : 'to ') + doneWord(action, past)
  return (
    <span className="ml-auto flex flex-wrap justify-end gap-x-2 font-mono text-xs">
      {[...counts].map(([action, n]) => (
        <span key={action} className={toneText[wordOf(action).tone]} title={`${n} ${words(action)}`}>
          {wordOf(action).sign}
          {n.toLocaleString('en')}
          <span className="sr-only"> {words(action)}</span>
        </span>
      ))}
    </span>
  )
}

const head = 'flex w-full gap-1.5 px-2 py-1 text-left'

/** A row of a plan, or of what has changed. */
export function PlanRow({ row, past, onToggle }: { row: Row; past: boolean; onToggle: (key: string) => void }) {
  const button = { type: 'button', onClick: () => onToggle(row.key) } as const
  switch (row.kind) {
    case 'destroyed':
    case 'module':
    case 'action':
    case 'outputs':
      return (
        <button
          {...button}
          aria-expanded={row.open}
          className={cx(head, 'bg-sunken border-line hover:bg-hover items-center border-b')}
        >
          <Fold open={row.open} />
          <span className="min-w-0 font-medium break-all">
            {row.kind === 'destroyed' ? (
              'Destroyed and replaced'
            ) : row.kind === 'outputs' ? (
              'Outputs'
            ) : row.kind === 'action' ? (
              <span className="capitalize">{doneWord(row.action, true)}</span>
            ) : row.module === '' ? (
              'Root module'
            ) : (
              <span className="font-mono">{safe(row.module)}</span>
            )}
          </span>
          <Counts counts={row.kind === 'action' ? new Map([[row.action, row.count]]) : row.counts} past={past} />
        </button>
      )
    case 'change':
      return (
        <button
          {...button}
          aria-expanded={row.open}
          className={cx(head, 'border-line hover:bg-hover items-start border-b')}
        >
          <Fold open={row.open} />
          <Sign action={row.change.action} past={past} />
          <span className="min-w-0 font-mono break-all">
            {addressIn(row.change)}
            {past && row.change.previous && (
              <span className="text-muted">
                <span className="font-sans"> moved from </span>
                {safe(row.change.previous)}
              </span>
            )}
          </span>
          <Marks change={row.change} />
        </button>
      )
    case 'output':
      return (
        <button
          {...button}
          aria-expanded={row.open}
          className={cx(head, 'border-line hover:bg-hover items-start border-b')}
        >
          <Fold open={row.open} />
          <Sign action={row.output.action} past={past} />
          <span className="font-mono break-all">{safe(row.output.name)}</span>
        </button>
      )
    case 'note':
      return (
        <p className="bg-page border-line text-muted border-b py-1 pr-2 pl-10 text-sm break-words sm:pl-16">
          {safe(row.text)}
        </p>
      )
    case 'attribute':
      return (
        <AttributeRow
          attribute={row.attribute}
          action={row.action}
          open={row.open}
          onToggle={() => onToggle(row.key)}
        />
      )
  }
}

/** The address, with the module of the heading in the background. */
function addressIn(change: Change) {
  const prefix = change.module ? change.module + '.' : ''
  if (!prefix || !change.address.startsWith(prefix)) return safe(change.address)
  return (
    <>
      <span className="text-muted">{safe(prefix)}</span>
      {safe(change.address.slice(prefix.length))}
    </>
  )
}

function Marks({ change }: { change: Change }) {
  const forces = forcing(change)
  return (
    <span className="ml-auto flex flex-wrap justify-end gap-1">
      {forces.length > 0 && (
        <Badge tone="bad" title={`A change of ${forces.map(safe).join(', ')} forces the replacement`}>
          forced by {safe(forces[0] ?? '')}
          {forces.length > 1 && ` and ${forces.length - 1} more`}
        </Badge>
      )}
      {change.createFirst && <Badge>create first</Badge>}
      {change.previous && <Badge tone="busy">moved</Badge>}
      {change.importing && change.action !== 'import' && <Badge tone="busy">imported</Badge>}
      {change.deposed && <Badge tone="warn">deposed</Badge>}
    </span>
  )
}

function AttributeRow({
  attribute: a,
  action,
  open,
  onToggle,
}: {
  attribute: Attribute
  action: Action
  open: boolean
  onToggle: () => void
}) {
  const { before, after } = sides(a)
  const long = texts(a)
  return (
    <div className="bg-page border-line grid grid-cols-1 gap-x-3 border-b py-0.5 pr-2 pl-10 font-mono text-sm sm:grid-cols-[minmax(8rem,2fr)_5fr] sm:pl-16">
      <span className="min-w-0 break-all">
        {safe(a.path)}
        {a.forces && (
          <span className="ml-2 font-sans">
            <Badge tone="bad">forces replacement</Badge>
          </span>
        )}
      </span>
      <span className="min-w-0">
        {long ? (
          <>
            <button type="button" className="link font-sans" aria-expanded={open} onClick={onToggle}>
              {open ? 'Hide' : 'Show'} the text{action === 'create' || action === 'delete' ? '' : '’s difference'}
            </button>
            {open && <TextDiff before={long.before} after={long.after} />}
          </>
        ) : (
          <Sides
            before={before}
            after={after}
            gone={action === 'delete'}
            hidden={a.sensitive === true}
            unknown={a.unknown === true}
          />
        )}
      </span>
    </div>
  )
}

function Sides({
  before,
  after,
  gone,
  hidden,
  unknown,
}: {
  before: string | undefined
  after: string | undefined
  gone: boolean
  hidden: boolean
  unknown: boolean
}) {
  const quiet = 'text-muted italic'
  return (
    <>
      {before !== undefined && (
        <span className={cx('break-all', hidden ? quiet : 'text-bad')}>
          <span className="sr-only">before: </span>
          {before}
        </span>
      )}
      {before !== undefined && after !== undefined && <span className="text-muted px-1.5">→</span>}
      {before !== undefined && after === undefined && !gone && <span className="text-muted px-1.5">→ null</span>}
      {after !== undefined && (
        <span className={cx('break-all', hidden || unknown ? quiet : 'text-good')}>
          <span className="sr-only">after: </span>
          {after}
        </span>
      )}
    </>
  )
}
