import type { ReactNode } from 'react'
import { PageHead } from './Page'
import { Problem } from './Problem'
import { Skeletons } from './Skeleton'

/** The page of an object that is not read yet, or why it cannot be. */
export function Pending({
  title,
  over,
  query,
  label,
}: {
  title: string
  over: ReactNode
  query: { error: unknown; refetch: () => unknown }
  label: string
}) {
  return (
    <>
      <PageHead title={title} over={over} />
      {query.error ? (
        <Problem error={query.error} retry={() => void query.refetch()} />
      ) : (
        <Skeletons lines={6} label={label} />
      )}
    </>
  )
}
