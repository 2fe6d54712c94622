import { Link } from '@tanstack/react-router'
import type { ColumnDef } from '@tanstack/react-table'
import type { Run } from '../api/client'
import { Named, rowLink } from '../list/Named'
import { PhaseBadge } from '../ui/Badge'
import { RunDuration } from '../ui/RunDuration'
import { Ago } from '../ui/Time'
import { safe } from '../views/text/escape'
import { shortRevision } from './words'

/** What a plan would do, in short: +1 ~2 −3. A replacement counts in add and in destroy, as engines count it. */
export function Counts({ of }: { of: Run['plan'] }) {
  if (!of) return <span className="text-muted">–</span>
  if (!of.changes) return <span className="text-muted text-sm">no changes</span>
  const parts: [number, string, string, string][] = [
    [of.add, '+', 'to add', 'text-good'],
    [of.change, '~', 'to change', 'text-warn'],
    [of.destroy, '−', 'to destroy', 'text-bad'],
    [of.replace, '±', 'of them to replace', 'text-warn'],
    [of.import, '⇥', 'to import', 'text-busy'],
    [of.forget, '×', 'to forget', 'text-muted'],
    [of.invoke ?? 0, '!', 'to invoke', 'text-warn'],
    [of.refresh ?? 0, '⇤', 'to refresh in the state', 'text-busy'],
  ]
  const there = parts.filter(([n]) => n > 0)
  return (
    <span className="inline-flex gap-2 font-mono text-sm tabular-nums">
      {there.length === 0 && (
        <span className="text-muted font-sans">{of.stateOnly ? 'state only' : 'outputs only'}</span>
      )}
      {there.map(([n, sign, words, color]) => (
        <span key={words} className={color} title={`${n} ${words}`}>
          <span aria-hidden>
            {sign}
            {n}
          </span>
          <span className="sr-only">
            {n} {words}
          </span>
        </span>
      ))}
    </span>
  )
}

/** The link of a row of Runs. */
export function RunName({ run }: { run: Run }) {
  return (
    <Link to="/runs/$namespace/$name" params={{ namespace: run.namespace, name: run.name }} className={rowLink}>
      <Named of={run} />
    </Link>
  )
}

/** What a Run is for, in words. */
export function CauseText({ run }: { run: Run }) {
  const text = safe(`${run.cause.message ?? run.cause.type}${run.cause.by ? `, ${run.cause.by}` : ''}`)
  return (
    <span className="text-muted text-sm" title={text}>
      {text}
    </span>
  )
}

export const runColumns: ColumnDef<Run>[] = [
  {
    id: 'name',
    header: 'Run',
    meta: { width: 'minmax(11rem,1.3fr)', sort: 'stack' },
    cell: ({ row }) => <RunName run={row.original} />,
  },
  {
    id: 'phase',
    header: 'Phase',
    meta: { width: '9rem', sort: 'phase' },
    cell: ({ row }) => <PhaseBadge phase={row.original.phase} />,
  },
  { id: 'operation', header: 'Operation', meta: { width: '6rem' }, cell: ({ row }) => row.original.operation },
  { id: 'plan', header: 'Plan', meta: { width: '8rem' }, cell: ({ row }) => <Counts of={row.original.plan} /> },
  {
    id: 'cause',
    header: 'Trigger',
    meta: { width: 'minmax(8rem,1.6fr)' },
    cell: ({ row }) => <CauseText run={row.original} />,
  },
  {
    id: 'revision',
    header: 'Revision',
    meta: { width: '6.5rem' },
    cell: ({ row }) => (
      <span className="text-muted font-mono text-sm" title={row.original.revision && safe(row.original.revision)}>
        {shortRevision(row.original.revision)}
      </span>
    ),
  },
  {
    id: 'took',
    header: 'Duration',
    meta: { width: '5.5rem' },
    cell: ({ row }) => <RunDuration run={row.original} />,
  },
  {
    id: 'created',
    header: 'Started',
    meta: { width: '6rem', sort: 'created' },
    cell: ({ row }) => <Ago at={row.original.created} />,
  },
]

/** A Run on a phone. */
export function RunCard({ run }: { run: Run }) {
  return (
    <>
      <span className="flex items-start justify-between gap-2">
        <span className="min-w-0 break-words">
          <RunName run={run} />
        </span>
        <PhaseBadge phase={run.phase} />
      </span>
      <span className="flex items-center justify-between gap-2">
        <span className="flex min-w-0 items-center gap-2">
          <span className="text-sm">{run.operation}</span>
          <Counts of={run.plan} />
        </span>
        <span className="text-muted text-sm">
          <Ago at={run.created} />
        </span>
      </span>
    </>
  )
}
