import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Problem } from '../../ui/Problem'
import { Skeletons } from '../../ui/Skeleton'
import { noFilter } from '../plan/filter'
import { driftOf } from '../plan/json'
import { PlanView } from '../plan/PlanView'
import { planJSONQuery } from '../plan/queries'

/** Changes outside of Cairn since the last apply, as the engine detected them. They are fetched on request. */
export function Drift({
  namespace,
  name,
  digest,
  open,
}: {
  namespace: string
  name: string
  digest: string
  open: boolean
}) {
  const [shown, setShown] = useState(open)
  return (
    <details className="mt-3" open={shown} onToggle={(event) => setShown(event.currentTarget.open)}>
      <summary className="text-muted hover:text-ink w-fit py-1">Changed outside since the last apply</summary>
      {shown && <Found namespace={namespace} name={name} digest={digest} />}
    </details>
  )
}

function Found({ namespace, name, digest }: { namespace: string; name: string; digest: string }) {
  const drift = useQuery({ ...planJSONQuery(namespace, name, digest), select: driftOf })
  const [filter, setFilter] = useState(noFilter)
  if (drift.error) return <Problem error={drift.error} retry={() => void drift.refetch()} />
  if (!drift.data) return <Skeletons lines={2} label="Loading the detected changes" />
  return <PlanView view={drift.data} filter={filter} onFilter={setFilter} nothing="No changes detected" />
}
