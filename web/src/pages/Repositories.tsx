import { Link } from '@tanstack/react-router'
import type { ColumnDef } from '@tanstack/react-table'
import type { Repository } from '../api/client'
import { KindList } from '../list/KindList'
import { Named, rowLink } from '../list/Named'
import { ReadyBadge } from '../ui/Badge'
import { Empty } from '../ui/Empty'
import { Ago } from '../ui/Time'
import { safe } from '../views/text/escape'

/** The Repositories. */
export default function Repositories() {
  return (
    <KindList
      kind="repositories"
      columns={columns}
      card={(r) => (
        <>
          <span className="flex items-start justify-between gap-2">
            <Name repository={r} />
            <ReadyBadge of={r} />
          </span>
          <span className="text-muted font-mono text-sm break-all">{r.url}</span>
        </>
      )}
      none={
        <Empty title="No Repositories found, or you cannot view them">
          A Repository declares where code is; Stacks reference it in <code className="font-mono">spec.source.git</code>
          .
        </Empty>
      }
    />
  )
}

function Name({ repository }: { repository: Repository }) {
  return (
    <Link
      to="/repositories/$namespace/$name"
      params={{ namespace: repository.namespace, name: repository.name }}
      className={rowLink}
    >
      <Named of={repository} />
    </Link>
  )
}

const columns: ColumnDef<Repository>[] = [
  {
    id: 'name',
    header: 'Name',
    meta: { width: 'minmax(10rem,1fr)', sort: 'name' },
    cell: ({ row }) => <Name repository={row.original} />,
  },
  {
    id: 'status',
    header: 'Status',
    meta: { width: 'minmax(10rem,1.5fr)' },
    cell: ({ row: { original: r } }) => (
      <span className="flex min-w-0 items-center gap-2">
        <ReadyBadge of={r} />
        <span className="text-muted truncate text-sm" title={r.message && safe(r.message)}>
          {r.message && safe(r.message)}
        </span>
      </span>
    ),
  },
  {
    id: 'url',
    header: 'Address',
    meta: { width: 'minmax(12rem,2fr)' },
    cell: ({ row }) => (
      <span className="font-mono text-sm" title={safe(row.original.url)}>
        {safe(row.original.url)}
      </span>
    ),
  },
  { id: 'fetched', header: 'Fetched', meta: { width: '6.5rem' }, cell: ({ row }) => <Ago at={row.original.fetched} /> },
]
