import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { Detail } from '../../api/kinds'
import { accessQuery, objectQuery, useAction } from '../../api/queries'
import { Badge } from '../../ui/Badge'
import { ConfirmButton } from '../../ui/Dialog'
import { Facts, PageHead, useTitle } from '../../ui/Page'
import { Tabs } from '../../ui/Tabs'
import { Ago } from '../../ui/Time'
import { Events } from '../Events'
import { Fetched } from '../Fetched'
import { safe } from '../text/escape'
import type { StateSearch } from '../search'
import { Difference } from './Difference'
import { Resources } from './Resources'
import { size } from './size'
import { Versions } from './Versions'

const route = getRouteApi('/app/states/$namespace/$name')

/** A state: its versions, who holds its lock, what is in it. */
export default function StatePage() {
  const { namespace, name } = route.useParams()
  useTitle(`State ${name}`)
  const state = useQuery(objectQuery('states', namespace, name))
  return (
    <Fetched query={state} label="Loading the State">
      {(detail) => <Known detail={detail} />}
    </Fetched>
  )
}

function Known({ detail }: { detail: Detail<'states'> }) {
  const { metadata, status } = detail.object
  const { namespace, name, uid } = metadata
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const access = useQuery(accessQuery('states', namespace, name))
  const can = access.data ?? {}
  const set = (to: StateSearch) =>
    void navigate({ search: (was) => ({ ...was, ...to }), replace: true, resetScroll: false })
  const versions = [...(status?.versions ?? [])].reverse()
  const tab = search.tab ?? 'versions'
  const to = search.to ?? status?.version ?? 0
  const from = search.from ?? versions.find((v) => v.version < to)?.version ?? to
  const content = {
    versions: <Versions detail={detail} can={can} />,
    diff: (
      <Difference
        namespace={namespace}
        name={name}
        uid={uid}
        versions={versions}
        from={from}
        to={to}
        onChange={(f, t) => set({ from: f, to: t })}
      />
    ),
    resources: (
      <Resources
        namespace={namespace}
        name={name}
        uid={uid}
        version={to}
        q={search.q ?? ''}
        onSearch={(q) => set({ q: q || undefined })}
      />
    ),
    events: <Events kind="states" namespace={namespace} name={name} />,
  }
  const labels = {
    versions: `Versions: ${versions.length}`,
    diff: 'Differences',
    resources: `Resources: ${String((status?.resources as number | string | undefined) ?? 0)}`,
    events: 'Events',
  }
  return (
    <>
      <PageHead
        title={<span className="font-mono">{name}</span>}
        over={
          <>
            State of{' '}
            <Link className="link underline" to="/stacks/$namespace/$name" params={{ namespace, name }}>
              Stack {name}
            </Link>{' '}
            in {namespace}
          </>
        }
        badge={
          <>
            {status?.lock && <Badge tone="busy">Locked</Badge>}
            {status?.rescued && <Badge tone="warn">A rescued state is not restored yet</Badge>}
          </>
        }
      >
        <Lock detail={detail} may={can.unlock === true} />
        {status?.rescued && (
          <p className="bg-warnbg text-warn rounded-md p-2.5">
            A newer state, serial {status.rescued.serial}, which Run {safe(status.rescued.run)} could not write, waits.
            It becomes a version before the next plan.
          </p>
        )}
        <div className="panel">
          <Facts
            facts={[
              ['Version', status?.version ? `${status.version}, serial ${status.serial}` : 'none yet'],
              ['Size', size(status?.size ?? 0)],
              [
                'Written by',
                status?.updatedBy ? (
                  <Link
                    className="link font-mono"
                    to="/runs/$namespace/$name"
                    params={{ namespace, name: status.updatedBy }}
                  >
                    {status.updatedBy}
                  </Link>
                ) : (
                  safe(status?.versions?.at(-1)?.by ?? 'none yet')
                ),
              ],
              [
                'Lineage',
                <span key="l" className="font-mono break-all">
                  {safe(status?.lineage ?? '')}
                </span>,
              ],
            ]}
          />
        </div>
      </PageHead>
      <Tabs
        label="Parts of the State"
        tabs={(['versions', 'diff', 'resources', 'events'] as const).map((id) => ({
          id,
          label: labels[id],
          content: id === tab ? content[id] : null,
        }))}
        value={tab}
        onChange={(id) => set({ tab: id as NonNullable<StateSearch['tab']> })}
      />
    </>
  )
}

function Lock({ detail, may }: { detail: Detail<'states'>; may: boolean }) {
  const { metadata, status } = detail.object
  const act = useAction('states', metadata.namespace, metadata.name)
  const lock = status?.lock
  if (!lock) return null
  return (
    <div className="bg-busybg flex flex-wrap items-center gap-2 rounded-md p-2.5">
      <p className="min-w-0 grow basis-64 break-words">
        Locked by{' '}
        {lock.run ? (
          <>
            <Link
              className="link underline"
              to="/runs/$namespace/$name"
              params={{ namespace: metadata.namespace, name: lock.run }}
            >
              Run {lock.run}
            </Link>
            {lock.attempt ? `, attempt ${lock.attempt}` : ''}
          </>
        ) : (
          safe(lock.by ?? lock.who ?? 'an unknown user')
        )}
        {(lock.run ?? lock.by) && lock.who ? ` (${safe(lock.who)})` : ''}, since <Ago at={lock.since} />.{' '}
        <span className="text-muted">Lock ID </span>
        <span className="font-mono break-all">{safe(lock.id)}</span>
      </p>
      {may && (
        <ConfirmButton
          key={lock.id} // a confirmation is for the lock that was shown, and for no later one
          label="Unlock…"
          title={`Unlock the state of Stack ${metadata.namespace}/${metadata.name}?`}
          confirm="Unlock"
          kind="danger"
          small
          type={metadata.name}
          run={() => act.mutateAsync({ action: 'unlock', body: { id: lock.id } })}
        >
          {lock.by ? (
            <p>
              Cairn cannot detect whether an engine outside of the cluster still runs. Ask {safe(lock.by)} whether the
              engine still runs: its later changes cannot be saved to the state.
            </p>
          ) : (
            <p>
              Cairn removes a lock automatically when the pod of its holder is deleted. If Cairn does not know that,
              verify first that the pod no longer runs: two engines that write at the same time lose changes.
            </p>
          )}
        </ConfirmButton>
      )}
    </div>
  )
}
