import { Link } from '@tanstack/react-router'
import type { ColumnDef } from '@tanstack/react-table'
import type { PullRequest } from '../api/client'
import { rowLink } from '../list/Named'
import { SmallTable } from '../list/SmallTable'
import { Badge } from '../ui/Badge'
import { Ago } from '../ui/Time'
import { inWords, pullTone } from '../ui/tone'
import { safe } from '../views/text/escape'
import { Counts } from './runrows'

/** The title of a pull request, or its branch if it has none. */
export function titleOf(pull: PullRequest): string {
  return safe(pull.title ?? pull.branch ?? pull.name)
}

/** The link of a row of pull requests. */
export function PullName({ pull }: { pull: PullRequest }) {
  return (
    <Link
      to="/pullrequests/$namespace/$name"
      params={{ namespace: pull.namespace, name: pull.name }}
      className={rowLink}
      title={titleOf(pull)}
    >
      <span className="text-muted font-normal">#{pull.number}</span> {titleOf(pull)}
    </Link>
  )
}

/** What became of a pull request: its phase, or what its plans lack. */
export function PullBadge({ pull }: { pull: PullRequest }) {
  const word = pull.phase === 'Planned' && pull.ready !== 'True' ? pull.reason : pull.phase
  return <Badge tone={pullTone(pull)}>{inWords(word ?? 'New')}</Badge>
}

/** What else there is to know about a pull request. */
export function PullFlags({ pull }: { pull: PullRequest }) {
  return (
    <>
      {pull.deleted && <Badge tone="bad">Being deleted</Badge>}
      {pull.draft && pull.phase !== 'Draft' && <Badge>Draft</Badge>}
      {pull.fork && <Badge>Fork</Badge>}
    </>
  )
}

/** The affected Stacks, by the results of their plans. */
export function StackNumbers({ pull }: { pull: PullRequest }) {
  const parts: [number, string, string][] = [
    [pull.planned, 'planned', ''],
    [pull.failed, 'failed', 'text-bad'],
    [pull.pending, 'pending', 'text-muted'],
    [pull.affected - pull.planned - pull.failed - pull.pending, 'skipped', 'text-muted'],
  ]
  const present = parts.filter(([n]) => n > 0)
  if (present.length === 0) return <span className="text-muted">–</span>
  return (
    <span className="text-sm tabular-nums" title={present.map(([n, word]) => `${n} ${word}`).join(', ')}>
      {present.map(([n, word, color], i) => (
        <span key={word} className={color}>
          {i > 0 && ', '}
          {n} {word}
        </span>
      ))}
    </span>
  )
}

const pull: ColumnDef<PullRequest> = {
  id: 'pull',
  header: 'Pull request',
  meta: { width: 'minmax(12rem,2.2fr)', sort: 'number' },
  cell: ({ row }) => <PullName pull={row.original} />,
}
const rest: ColumnDef<PullRequest>[] = [
  {
    id: 'phase',
    header: 'Phase',
    meta: { width: 'minmax(9rem,1fr)', sort: 'phase' },
    cell: ({ row }) => (
      <span className="flex min-w-0 gap-1">
        <PullBadge pull={row.original} />
        <PullFlags pull={row.original} />
      </span>
    ),
  },
  {
    id: 'stacks',
    header: 'Stacks',
    meta: { width: 'minmax(9rem,1.2fr)', sort: 'stacks' },
    cell: ({ row }) => <StackNumbers pull={row.original} />,
  },
  { id: 'plan', header: 'Changes', meta: { width: '7rem' }, cell: ({ row }) => <Counts of={row.original.plan} /> },
  {
    id: 'author',
    header: 'Author',
    meta: { width: 'minmax(5rem,0.8fr)', sort: 'author' },
    cell: ({ row: { original: p } }) => (
      <span className="text-sm" title={p.author && safe(p.author)}>
        {p.author ? safe(p.author.split(':').at(-1) ?? '') : '–'}
      </span>
    ),
  },
  {
    id: 'updated',
    header: 'Updated',
    meta: { width: '7rem', sort: 'updated' },
    cell: ({ row }) => <Ago at={row.original.updated} />,
  },
]

/** The columns of the list of all pull requests. */
export const pullColumns: ColumnDef<PullRequest>[] = [
  pull,
  {
    id: 'repository',
    header: 'Repository',
    meta: { width: 'minmax(7rem,1fr)' },
    cell: ({ row: { original: p } }) => (
      <span className="text-muted text-sm" title={`${p.namespace}/${p.repository}`}>
        {p.namespace}/{p.repository}
      </span>
    ),
  },
  ...rest,
]

/** A pull request on a phone. */
export function PullCard({ pull }: { pull: PullRequest }) {
  return (
    <>
      <span className="flex items-start justify-between gap-2">
        <span className="min-w-0 break-words">
          <PullName pull={pull} />
        </span>
        <span className="flex shrink-0 gap-1">
          <PullFlags pull={pull} />
          <PullBadge pull={pull} />
        </span>
      </span>
      <span className="flex items-center justify-between gap-2">
        <span className="text-muted min-w-0 truncate text-sm">
          {pull.namespace}/{pull.repository}
        </span>
        <StackNumbers pull={pull} />
      </span>
    </>
  )
}

/** The pull requests of one Repository, or that plan one Stack. */
export function PullTable({ label, rows }: { label: string; rows: PullRequest[] }) {
  return (
    <SmallTable
      label={label}
      rows={rows}
      columns={[pull, ...rest]}
      card={(p) => <PullCard pull={p} />}
      id={(p) => p.uid}
    />
  )
}
