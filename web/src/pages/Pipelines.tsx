import { Link } from '@tanstack/react-router'
import type { ColumnDef } from '@tanstack/react-table'
import type { Pipeline } from '../api/client'
import { KindList } from '../list/KindList'
import { Named, rowLink } from '../list/Named'
import { Badge, ReadyBadge } from '../ui/Badge'
import { Empty } from '../ui/Empty'
import { Ago } from '../ui/Time'
import { inWords, stageTone } from '../ui/tone'
import { safe } from '../views/text/escape'
import { shortRevision } from './words'

/** The Pipelines. */
export default function Pipelines() {
  return (
    <KindList
      kind="pipelines"
      columns={columns}
      card={(p) => (
        <>
          <span className="flex items-start justify-between gap-2">
            <Name pipeline={p} />
            <ReadyBadge of={p} />
          </span>
          <Stages pipeline={p} />
          <span className="text-muted text-sm break-words">{p.message && safe(p.message)}</span>
        </>
      )}
      none={
        <Empty title="No Pipelines found, or you cannot view them">
          A Pipeline promotes commits through stages, such as dev, staging and production.
        </Empty>
      }
    />
  )
}

function Name({ pipeline }: { pipeline: Pipeline }) {
  return (
    <Link
      to="/pipelines/$namespace/$name"
      params={{ namespace: pipeline.namespace, name: pipeline.name }}
      className={rowLink}
    >
      <Named of={pipeline} />
    </Link>
  )
}

/** Each stage with its release, in the color of what it does with it. */
function Stages({ pipeline }: { pipeline: Pipeline }) {
  return (
    <span className="flex min-w-0 flex-wrap gap-1">
      {(pipeline.stages ?? []).map((s) => (
        <Badge key={s.name} tone={stageTone(s.state)} title={inWords(s.state)}>
          {s.name} {shortRevision(s.release)}
        </Badge>
      ))}
    </span>
  )
}

const columns: ColumnDef<Pipeline>[] = [
  {
    id: 'name',
    header: 'Name',
    meta: { width: 'minmax(10rem,1fr)', sort: 'name' },
    cell: ({ row }) => <Name pipeline={row.original} />,
  },
  {
    id: 'status',
    header: 'Status',
    meta: { width: 'minmax(12rem,2fr)' },
    cell: ({ row: { original: p } }) => (
      <span className="flex min-w-0 items-center gap-2">
        <ReadyBadge of={p} />
        <span className="text-muted truncate text-sm" title={p.message && safe(p.message)}>
          {p.message && safe(p.message)}
        </span>
      </span>
    ),
  },
  {
    id: 'stages',
    header: 'Stages',
    meta: { width: 'minmax(12rem,2fr)' },
    cell: ({ row }) => <Stages pipeline={row.original} />,
  },
  {
    id: 'changed',
    header: 'Changed',
    meta: { width: '6.5rem', sort: 'changed' },
    cell: ({ row }) => <Ago at={row.original.changed} />,
  },
]
