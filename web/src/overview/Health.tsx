import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { listQuery } from '../api/queries'
import type { StacksSearch } from '../app/search'
import { Section } from '../ui/Page'
import { Problem } from '../ui/Problem'
import { Skeleton } from '../ui/Skeleton'

const tiles: { label: string; search: StacksSearch; color: string }[] = [
  { label: 'Stacks', search: {}, color: 'text-ink' },
  { label: 'Ready', search: { ready: ['True'] }, color: 'text-good' },
  { label: 'In progress', search: { ready: ['Unknown'] }, color: 'text-busy' },
  { label: 'Not ready', search: { ready: ['False'] }, color: 'text-bad' },
  { label: 'Drifted', search: { drifted: true }, color: 'text-warn' },
  { label: 'Suspended', search: { suspended: true }, color: 'text-muted' },
]

/** How many Stacks stand in which way; each number leads to them. */
export function Health() {
  return (
    <Section title="Summary" bare>
      <ul className="grid grid-cols-3 gap-2 lg:grid-cols-6">
        {tiles.map((t) => (
          <Tile key={t.label} {...t} />
        ))}
      </ul>
      <Bar />
    </Section>
  )
}

function Tile({ label, search, color }: (typeof tiles)[number]) {
  const { data, error } = useQuery(listQuery('stacks', { ...search, limit: 1 }))
  return (
    <li>
      <Link to="/stacks" search={search} className="panel hover:bg-hover flex flex-col px-3 py-2">
        <span className="text-muted text-sm">{label}</span>
        {data ? (
          <span className={`text-2xl font-semibold tabular-nums ${data.total === 0 ? 'text-muted' : color}`}>
            {data.total.toLocaleString('en')}
          </span>
        ) : error ? (
          <span className="text-muted text-2xl">–</span>
        ) : (
          <Skeleton className="my-1 h-6 w-12" />
        )}
      </Link>
    </li>
  )
}

/** The same numbers as a bar. Screen readers use the numbers above. */
function Bar() {
  const all = useQuery(listQuery('stacks', { limit: 1 }))
  const counts = [
    { color: 'bg-good', ...useQuery(listQuery('stacks', { ready: ['True'], limit: 1 })) },
    { color: 'bg-busy', ...useQuery(listQuery('stacks', { ready: ['Unknown'], limit: 1 })) },
    { color: 'bg-bad', ...useQuery(listQuery('stacks', { ready: ['False'], limit: 1 })) },
  ]
  if (all.error) return <div className="mt-2">{<Problem error={all.error} retry={() => void all.refetch()} />}</div>
  const total = all.data?.total ?? 0
  return (
    <div aria-hidden className="bg-sunken mt-2 flex h-2 gap-px overflow-hidden rounded-full">
      {total > 0 &&
        counts.map((c) => (
          <span key={c.color} className={c.color} style={{ width: `${(100 * (c.data?.total ?? 0)) / total}%` }} />
        ))}
    </div>
  )
}
