import { useQuery } from '@tanstack/react-query'
import type { Detail } from '../../api/kinds'
import { Problem } from '../../ui/Problem'
import { Skeletons } from '../../ui/Skeleton'
import type { Filter } from '../plan/filter'
import { PlanView } from '../plan/PlanView'
import { planQuery, summaryView } from '../plan/queries'
import type { RunSearch } from '../search'
import { isFinished } from './actions'
import { Drift } from './Drift'
import { Findings } from './Findings'

type Props = {
  detail: Detail<'runs'>
  shown: string | undefined
  search: RunSearch
  set: (to: Partial<RunSearch>) => void
}

/** The plan of a Run as data, with the findings of policies. */
export function PlanTab({ detail, shown, search, set }: Props) {
  const { metadata, status } = detail.object
  const plan = status?.plan
  const view = useQuery({ ...planQuery(metadata.namespace, metadata.name, shown ?? ''), enabled: shown !== undefined })
  if (!plan || !shown)
    return (
      <p className="text-muted p-3">
        {isFinished(detail.object) ? 'The Run ended without a plan.' : 'There is no plan yet.'}
      </p>
    )
  const filter: Filter = {
    actions: (search.action ?? []) as Filter['actions'],
    address: search.address ?? '',
    text: search.q ?? '',
  }
  const onFilter = (f: Filter) =>
    set({
      action: f.actions.length > 0 ? f.actions : undefined,
      address: f.address || undefined,
      q: f.text || undefined,
    })
  return (
    <>
      {shown === plan.digest && <Findings plan={plan} />}
      {view.data && <PlanView review view={view.data} filter={filter} onFilter={onFilter} />}
      {view.isPending && <Skeletons lines={5} label="Loading the plan" />}
      {view.error && (
        <>
          <Problem error={view.error} retry={() => void view.refetch()} />
          {(plan.resources ?? []).length > 0 && (
            <div className="mt-3">
              <p className="text-muted mb-1 text-sm">
                What the Run itself says of it, the first {plan.resources?.length} addresses:
              </p>
              <PlanView review view={summaryView(plan)} filter={filter} onFilter={onFilter} />
            </div>
          )}
        </>
      )}
      {plan.changes && !detail.object.spec.planOptions?.refreshOnly && (
        <Drift
          namespace={metadata.namespace}
          name={metadata.name}
          digest={shown}
          open={detail.object.spec.cause.type === 'Drift'}
        />
      )}
      {plan.engineVersion && (
        <p className="text-muted mt-2 text-sm">Engine version {plan.engineVersion} (pinned for apply)</p>
      )}
    </>
  )
}
