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
import { resourceCount } from '../views/state/words'
import { safe } from '../views/text/escape'

/** How many rows are shown: the rest is on the State's page. */
const most = 500

/** The resources of a Stack by their addresses. They are read from its state on request, which requires the verb pull and is recorded in the audit log. */
export function Resources({ namespace, name }: { namespace: string; name: string }) {
  const [asked, setAsked] = useState(false)
  const state = useQuery({ ...objectQuery('states', namespace, name), retry: false })
  const access = useQuery({ ...accessQuery('states', namespace, name), retry: false })
  const version = state.data?.row.version ?? 0
  const read = useQuery({
    // A version is immutable, so changes of the State, such as a lock, do not invalidate it: each read is recorded in the audit log.
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
      <Empty title="State not found, or you cannot view it">
        The first apply creates it. To view it, you need the verb get on states.
      </Empty>
    )
  }
  if (!asked) {
    return (
      <Empty title={`${resourceCount(state.data.row.resources)} in version ${version}`}>
        {access.data?.pull ? (
          <div className="flex flex-col items-center gap-2">
            <p>The state contains their addresses. Reading it is recorded in the audit log.</p>
            <Button onClick={() => setAsked(true)}>Read the state</Button>
          </div>
        ) : (
          <p>To view them, you need the verb pull on states.</p>
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
