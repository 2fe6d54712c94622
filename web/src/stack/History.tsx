import type { UseQueryResult } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Page } from '../api/kinds'
import { SmallTable } from '../list/SmallTable'
import { RunCard, runColumns } from '../pages/runrows'
import { Empty } from '../ui/Empty'
import { Problem } from '../ui/Problem'
import { Skeletons } from '../ui/Skeleton'

/** The Runs of a Stack, newest first. */
export function History({
  runs,
  namespace,
  name,
}: {
  runs: UseQueryResult<Page<'runs'>>
  namespace: string
  name: string
}) {
  const rows = runs.data?.items
  if (runs.error) return <Problem error={runs.error} retry={() => void runs.refetch()} />
  if (!runs.data) return <Skeletons lines={5} label="Loading Runs" />
  if (!rows?.length) return <Empty title="No Runs yet">The first Run starts as soon as the code is available.</Empty>
  return (
    <>
      <div className="panel overflow-hidden">
        <SmallTable
          label={`Runs of ${name}`}
          rows={rows}
          columns={runColumns}
          card={(r) => <RunCard run={r} />}
          id={(r) => r.uid}
        />
      </div>
      {runs.data.total > rows.length && (
        <p className="mt-2">
          <Link to="/runs" search={{ namespace: [namespace], stack: [name] }} className="link">
            All {runs.data.total} Runs
          </Link>
        </p>
      )}
    </>
  )
}
