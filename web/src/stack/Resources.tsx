import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { objectPath, send } from '../api/client'
import { accessQuery, objectQuery } from '../api/queries'
import { Badge } from '../ui/Badge'
import { Button } from '../ui/Button'
import { Empty } from '../ui/Empty'
import { Problem } from '../ui/Problem'
import { Skeletons } from '../ui/Skeleton'
import { parseState } from '../views/state/statefile'
import { safe } from '../views/text/escape'

/** How many rows are shown: the rest is on the State's page. */
const most = 500

/** The resources of a Stack by their addresses, read from its state when somebody asks: that takes a right, and is noted. */
export function Resources({ namespace, name }: { namespace: string; name: string }) {
  const [asked, setAsked] = useState(false)
  const state = useQuery({ ...objectQuery('states', namespace, name), retry: false })
  const access = useQuery({ ...accessQuery('states', namespace, name), retry: false })
  const version = state.data?.row.version ?? 0
  const read = useQuery({
    // A version never changes, so changes of the State, as that it is locked, do not make it old: each read is noted.
    queryKey: ['versions', namespace, name, version, state.data?.row.uid, 'addresses'],
    enabled: asked && version > 0,
    staleTime: Infinity,
    queryFn: async ({ signal }) => {
      const answer = await send('GET', objectPath('states', namespace, name, `versions/${version}`), undefined, signal)
      return parseState(await answer.text()).resources.map(({ address, type, mode, tainted }) => ({
        address,
        type,
        mode,
        tainted,
      }))
    },
  })
  const link = (
    <Link to="/states/$namespace/$name" params={{ namespace, name }} className="link">
      State of {name}
    </Link>
  )
  if (state.isPending) return <Skeletons label="Loading the State" />
  if (!state.data) {
    return (
      <Empty title="No State, or none that you may see">
        There is one from the first apply on. To see it takes the verb get on states.
      </Empty>
    )
  }
  if (!asked) {
    return (
      <Empty title={`${state.data.row.resources} resources in version ${version}`}>
        {access.data?.pull ? (
          <div className="flex flex-col items-center gap-2">
            <p>Their addresses are in the state. That you read it is noted in the audit log.</p>
            <Button onClick={() => setAsked(true)}>Read the state</Button>
          </div>
        ) : (
          <p>To see which they are takes the verb pull on states.</p>
        )}
        <p className="mt-2">{link}</p>
      </Empty>
    )
  }
  if (read.error) return <Problem error={read.error} retry={() => void read.refetch()} />
  if (!read.data) return <Skeletons lines={6} label="Reading the state" />
  return (
    <>
      <ul aria-label="Resources" className="panel divide-line divide-y">
        {read.data.slice(0, most).map((r, i) => (
          <li key={i} className="flex items-center gap-2 px-3 py-1.5">
            <span className="min-w-0 font-mono text-sm break-all">{safe(r.address)}</span>
            {r.mode === 'data' && <Badge>data</Badge>}
            {r.tainted && <Badge tone="warn">tainted</Badge>}
          </li>
        ))}
      </ul>
      <p className="text-muted mt-2">
        {read.data.length > most && `The first ${most} of ${read.data.length}. `}
        Attributes, versions and what changed between them: {link}
      </p>
    </>
  )
}
