import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Problem } from '../ui/Problem'
import { Skeletons } from '../ui/Skeleton'

/** What is fetched. If it cannot be fetched again, the last response is shown with the reason. */
export function Fetched<T>({
  query,
  label,
  children,
}: {
  query: UseQueryResult<T>
  label: string
  children: (data: T) => ReactNode
}) {
  return (
    <>
      {query.error && (
        <div className="mb-3">
          <Problem error={query.error} retry={() => void query.refetch()} />
        </div>
      )}
      {query.data && children(query.data)}
      {query.isPending && <Skeletons lines={6} label={label} />}
    </>
  )
}
