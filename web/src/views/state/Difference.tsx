import { useQuery } from '@tanstack/react-query'
import { ArrowLeftRight } from 'lucide-react'
import { useMemo, useState } from 'react'
import type { StateObject } from '../../api/kinds'
import { Button } from '../../ui/Button'
import { Empty } from '../../ui/Empty'
import { Problem } from '../../ui/Problem'
import { Skeletons } from '../../ui/Skeleton'
import { noFilter } from '../plan/filter'
import { PlanView } from '../plan/PlanView'
import { compare } from './compare'
import { versionQuery } from './queries'

type Version = NonNullable<NonNullable<StateObject['status']>['versions']>[number]
type Props = {
  namespace: string
  name: string
  uid: string
  versions: Version[]
  from: number
  to: number
  onChange: (from: number, to: number) => void
}

/** The difference between two versions of a state. Secrets are only marked as different. */
export function Difference({ namespace, name, uid, versions, from, to, onChange }: Props) {
  const before = useQuery({ ...versionQuery(namespace, name, uid, from), enabled: from > 0 && from !== to })
  const after = useQuery({ ...versionQuery(namespace, name, uid, to), enabled: to > 0 && from !== to })
  const [filter, setFilter] = useState(noFilter)
  const view = useMemo(
    () => (before.data && after.data ? compare(before.data, after.data) : undefined),
    [before.data, after.data],
  )
  if (versions.length < 2) return <Empty title="There is only one version" />
  const error = before.error ?? after.error
  return (
    <>
      <div className="mb-2 flex flex-wrap items-center gap-2">
        <Choice label="From version" versions={versions} value={from} onChange={(v) => onChange(v, to)} />
        <Choice label="to version" versions={versions} value={to} onChange={(v) => onChange(from, v)} />
        <Button
          small
          kind="bare"
          icon={<ArrowLeftRight aria-hidden className="size-4" />}
          onClick={() => onChange(to, from)}
        >
          Swap
        </Button>
        <span className="text-muted text-sm">
          Values that the state or a name marks as secret are hidden. Users with the verb pull can read the whole state.
        </span>
      </div>
      {from === to ? (
        <Empty title="Choose two versions" />
      ) : error ? (
        <Problem error={error} />
      ) : view ? (
        <PlanView view={view} filter={filter} onFilter={setFilter} nothing="No differences" past />
      ) : (
        <Skeletons lines={4} label="Loading both versions" />
      )}
    </>
  )
}

function Choice({
  label,
  versions,
  value,
  onChange,
}: {
  label: string
  versions: Version[]
  value: number
  onChange: (version: number) => void
}) {
  return (
    <label className="flex items-center gap-1.5">
      {label}
      <select className="field px-1.5" value={value} onChange={(event) => onChange(Number(event.target.value))}>
        {versions.every((v) => v.version !== value) && <option value={value}>{value}</option>}
        {versions.map((v) => (
          <option key={v.version} value={v.version}>
            {v.version} ({v.run ?? v.by ?? 'serial ' + v.serial})
          </option>
        ))}
      </select>
    </label>
  )
}
