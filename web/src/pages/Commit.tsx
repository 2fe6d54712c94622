import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ColumnDef } from '@tanstack/react-table'
import type { Run, Stack } from '../api/client'
import { listQuery, objectQuery } from '../api/queries'
import { Named, rowLink } from '../list/Named'
import { SmallTable } from '../list/SmallTable'
import { Badge, PhaseBadge, ReadyBadge } from '../ui/Badge'
import { CopyButton } from '../ui/CopyButton'
import { Empty } from '../ui/Empty'
import { PageHead, Section, useTitle } from '../ui/Page'
import { Problem } from '../ui/Problem'
import { Skeletons } from '../ui/Skeleton'
import { Ago } from '../ui/Time'
import { inWords } from '../ui/tone'
import { ProviderCommit } from '../views/CommitLink'
import { safe } from '../views/text/escape'
import { Counts } from './runrows'
import { shortRevision } from './words'

const route = getRouteApi('/app/commits/$commit')
const most = 500

/** A Stack that has Runs of a commit, or whose current revision is the commit. */
export type Row = { namespace: string; name: string; run?: Run; stack?: Stack }

/** Returns a row for each Stack, by name. Runs come newest first. */
export function rowsOf(runs: Run[], stacks: Stack[]): Row[] {
  const rows = new Map<string, Row>()
  const rowOf = (namespace: string, name: string) => {
    const key = `${namespace}/${name}`
    const row = rows.get(key) ?? { namespace, name }
    rows.set(key, row)
    return row
  }
  for (const run of runs) rowOf(run.namespace, run.stack).run ??= run
  for (const stack of stacks) rowOf(stack.namespace, stack.name).stack = stack
  return [...rows.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
}

/** A commit: the Stacks that it changed, its newest Run of each, and whether they are at this commit now. */
export default function Commit() {
  const { commit } = route.useParams()
  useTitle(`${shortRevision(commit)} · Commits`)
  const runs = useQuery(listQuery('runs', { commit, sort: '-created', limit: most }))
  const stacks = useQuery(listQuery('stacks', { commit, limit: most }))
  const rows = rowsOf(runs.data?.items ?? [], stacks.data?.items ?? [])
  const first = rows[0]
  const owner = useQuery({
    ...objectQuery('stacks', first?.namespace ?? '', first?.name ?? ''),
    enabled: first !== undefined,
    retry: false,
  })
  const more = (runs.data?.total ?? 0) > most || (stacks.data?.total ?? 0) > most
  const error = runs.error ?? stacks.error
  return (
    <>
      <PageHead
        title={
          <span className="inline-flex items-center gap-2">
            <span className="font-mono">{shortRevision(commit)}</span>
            <CopyButton text={commit} label="Copy the commit" />
            <ProviderCommit
              repository={first?.stack?.repository ?? owner.data?.row?.repository}
              revision={`@sha1:${commit}`}
            />
          </span>
        }
        over="Commit"
      />
      {error && (
        <div className="mb-3">
          <Problem error={error} retry={() => void Promise.all([runs.refetch(), stacks.refetch()])} />
        </div>
      )}
      {!runs.data || !stacks.data ? (
        !error && <Skeletons lines={4} label="Loading the commit" />
      ) : (
        <Section title={`Stacks (${rows.length}${more ? '+' : ''})`} actions={<Phases rows={rows} />}>
          {rows.length > 0 ? (
            <SmallTable
              label="Stacks of this commit"
              rows={rows}
              columns={columns}
              card={(r) => <Card row={r} />}
              id={(r) => `${r.namespace}/${r.name}`}
            />
          ) : (
            <Empty title="No Stacks of this commit">
              No Run of this commit is left, and no Stack that you can view is at it. A commit that does not change the
              code of a Stack has no Run.
            </Empty>
          )}
        </Section>
      )}
    </>
  )
}

/** How many of the newest Runs have which phase. */
function Phases({ rows }: { rows: Row[] }) {
  const phases = new Map<string, number>()
  for (const { run } of rows) if (run) phases.set(run.phase, (phases.get(run.phase) ?? 0) + 1)
  return (
    <span className="text-muted text-sm">
      {[...phases].map(([phase, n]) => `${n} ${inWords(phase).toLowerCase()}`).join(', ')}
    </span>
  )
}

function Name({ row }: { row: Row }) {
  return (
    <Link to="/stacks/$namespace/$name" params={{ namespace: row.namespace, name: row.name }} className={rowLink}>
      <Named of={row} />
    </Link>
  )
}

/** The Run, above the link of the whole row. */
function RunOf({ row: { run } }: { row: Row }) {
  if (!run) return <span className="text-muted">–</span>
  return (
    <span className="inline-flex items-center gap-2">
      <Link
        to="/runs/$namespace/$name"
        params={{ namespace: run.namespace, name: run.name }}
        className="link relative z-10"
      >
        {run.name}
      </Link>
      <PhaseBadge phase={run.phase} />
    </span>
  )
}

function State({ row: { stack } }: { row: Row }) {
  return stack ? <ReadyBadge of={stack} /> : <Badge>At another revision</Badge>
}

const columns: ColumnDef<Row>[] = [
  { id: 'stack', header: 'Stack', cell: ({ row }) => <Name row={row.original} /> },
  { id: 'run', header: 'Newest Run of this commit', cell: ({ row }) => <RunOf row={row.original} /> },
  { id: 'plan', header: 'Changes', cell: ({ row }) => <Counts of={row.original.run?.plan} /> },
  { id: 'state', header: 'Stack now', cell: ({ row }) => <State row={row.original} /> },
  {
    id: 'trigger',
    header: 'Trigger',
    cell: ({ row: { original: r } }) => (
      <span className="text-muted text-sm">{r.run && safe(r.run.cause.message ?? r.run.cause.type)}</span>
    ),
  },
  { id: 'created', header: 'Created', cell: ({ row }) => row.original.run && <Ago at={row.original.run.created} /> },
]

function Card({ row }: { row: Row }) {
  return (
    <>
      <span className="flex items-start justify-between gap-2">
        <span className="min-w-0 break-words">
          <Name row={row} />
        </span>
        <State row={row} />
      </span>
      <span className="flex flex-wrap items-center justify-between gap-2">
        <RunOf row={row} />
        <Counts of={row.run?.plan} />
      </span>
    </>
  )
}
