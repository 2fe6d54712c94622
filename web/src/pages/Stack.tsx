import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { Run, Stack as Row } from '../api/client'
import type { StackObject } from '../api/kinds'
import { condition } from '../api/kinds'
import { accessQuery, listQuery, objectQuery, runsOf } from '../api/queries'
import type { StackTab } from '../app/search'
import { StackActions } from '../stack/Actions'
import { currentRun, waitingRun } from '../stack/actions'
import { Dependencies } from '../stack/Dependencies'
import { History } from '../stack/History'
import { Outputs } from '../stack/Outputs'
import { Resources } from '../stack/Resources'
import { asYAML } from '../stack/spec'
import { Badge, PhaseBadge, ReadyBadge } from '../ui/Badge'
import { buttonClass } from '../ui/Button'
import { CopyButton } from '../ui/CopyButton'
import { Facts, PageHead, Section, useTitle } from '../ui/Page'
import { Pending } from '../ui/Pending'
import { Problem } from '../ui/Problem'
import { Tabs } from '../ui/Tabs'
import { Ago } from '../ui/Time'
import { CommitLink, PathLink } from '../views/CommitLink'
import { Events } from '../views/Events'
import { counts } from '../views/run/words'
import { resourceCount } from '../views/state/words'
import { safe, safeText } from '../views/text/escape'
import { PullTable } from './pullrows'
import { Counts } from './runrows'
import { shortRevision } from './words'

const route = getRouteApi('/app/stacks/$namespace/$name')

/** A Stack: its state, what requires a user to act, and its details. */
export default function Stack() {
  const { namespace, name } = route.useParams()
  const { tab = 'history' } = route.useSearch()
  const navigate = route.useNavigate()
  useTitle(`${name} · Stacks`)
  const detail = useQuery(objectQuery('stacks', namespace, name))
  const access = useQuery(accessQuery('stacks', namespace, name))
  const { row, object } = detail.data ?? {}
  const runs = useQuery({ ...runsOf({ namespace, name, uid: row?.uid ?? '' }), enabled: !!row })
  const yaml = useMemo(() => object && asYAML('Stack', object), [object])
  const over = (
    <>
      <Link to="/stacks" className="link">
        Stacks
      </Link>{' '}
      /{' '}
      <Link to="/stacks" search={{ namespace: [namespace] }} className="link">
        {namespace}
      </Link>
    </>
  )
  if (!row || !object) {
    return <Pending title={name} over={over} query={detail} label="Loading the Stack" />
  }
  const history = runs.data?.items ?? []
  return (
    <>
      <PageHead
        title={name}
        over={over}
        badge={
          <>
            <ReadyBadge of={row} />
            {row.deleted && <Badge tone="bad">Being deleted</Badge>}
            {row.suspended && row.reason !== 'Suspended' && <Badge>Suspended</Badge>}
          </>
        }
        actions={access.data && <StackActions stack={row} spec={object.spec} access={access.data} />}
      />
      {detail.error && (
        <div className="mb-3">
          <Problem error={detail.error} retry={() => void detail.refetch()} />
        </div>
      )}
      <Standing row={row} object={object} runs={history} />
      <div className="panel mb-5">
        <Facts facts={facts(row, object)} />
      </div>
      {row.repository && <PullRequests namespace={namespace} name={name} />}
      <Tabs
        label="About the Stack"
        value={tab}
        onChange={(id) => void navigate({ search: { tab: id as StackTab }, replace: true })}
        tabs={[
          { id: 'history', label: 'History', content: <History runs={runs} namespace={namespace} name={name} /> },
          {
            id: 'resources',
            label: row.resources < 0 ? 'Resources' : `Resources (${row.resources})`,
            content: <Resources namespace={namespace} name={name} />,
          },
          {
            id: 'outputs',
            label: 'Outputs',
            content: <Outputs namespace={namespace} name={name} outputs={object.status?.outputs ?? {}} />,
          },
          { id: 'dependencies', label: 'Dependencies', content: <Dependencies stack={row} /> },
          { id: 'events', label: 'Events', content: <Events kind="stacks" namespace={namespace} name={name} /> },
          {
            id: 'spec',
            label: 'Spec',
            content: (
              <div className="panel relative">
                <span className="absolute top-1.5 right-1.5">
                  <CopyButton text={yaml ?? ''} label="Copy the YAML" />
                </span>
                <pre className="overflow-x-auto p-3 font-mono text-sm">{yaml && safeText(yaml)}</pre>
              </div>
            ),
          },
        ]}
      />
    </>
  )
}

const mostPulls = 5

/** The StackSet of a Stack, which may be in another namespace. */
function setOf(namespace: string, set: string) {
  const [name = set, of = namespace] = set.split('/').reverse()
  return { namespace: of, name }
}

/** The open pull requests that plan the Stack, of those that the user may see. */
function PullRequests({ namespace, name }: { namespace: string; name: string }) {
  const stack = `${namespace}/${name}`
  const pulls = useQuery(listQuery('pullrequests', { stack, state: 'Open', limit: mostPulls }))
  const { items = [], total = 0 } = pulls.data ?? {}
  if (items.length === 0) return null
  return (
    <Section
      title="Pull requests that plan it"
      actions={
        total > mostPulls && (
          <Link to="/pullrequests" search={{ stack: [stack] }} className="link">
            All {total.toLocaleString('en')}
          </Link>
        )
      }
    >
      <PullTable label={`Pull requests that plan ${name}`} rows={items} />
    </Section>
  )
}

/** The link to the DriftPause of a namespace while it pauses the corrections of drift. */
function PausedCorrections({ namespace }: { namespace: string }) {
  const { data } = useQuery(listQuery('driftpauses', { namespace, ready: 'False', limit: 1 }))
  const name = data?.items?.[0]?.name
  if (!name) return null
  return (
    <p>
      Corrections of drift in this namespace are{' '}
      <Link to="/driftpauses/$namespace/$name" params={{ namespace, name }} className="link">
        paused
      </Link>
      .
    </p>
  )
}

/** The differences that spec.drift.ignore ignores, with the reasons. */
function IgnoredDrift({ differences }: { differences: { address: string; ignored?: string }[] }) {
  const ignored = differences.filter((d) => d.ignored)
  if (ignored.length === 0) return null
  return (
    <details>
      <summary>
        {ignored.length === 1 ? '1 difference is ignored' : `${ignored.length} differences are ignored`}{' '}
        (spec.drift.ignore)
      </summary>
      <ul className="text-muted mt-1 list-disc pl-5">
        {ignored.map((d) => (
          <li key={d.address} className="break-words">
            <code>{safe(d.address)}</code>: {safe(d.ignored ?? '')}
          </li>
        ))}
      </ul>
    </details>
  )
}

/** The state in one sentence, and what requires a user to act. */
function Standing({ row, object, runs }: { row: Row; object: StackObject; runs: Run[] }) {
  const waits = waitingRun(runs)
  const current = currentRun(runs)
  const drift = object.status?.drift
  const others = ['Stalled', 'Drifted']
    .map((t) => condition(object, t))
    .filter((c) => c?.status === 'True' && c.message !== row.message)
  return (
    <div className="panel mb-3 flex flex-col gap-2 p-3">
      <p className="text-[0.9375rem] break-words">
        {safe(row.message ?? 'Not reconciled yet.')}
        {row.changed && (
          <span className="text-muted">
            {' '}
            · <Ago at={row.changed} />
          </span>
        )}
      </p>
      {others.map((c) => (
        <p key={c!.type} className="break-words">
          <span className="font-medium">{c!.type}:</span> {safe(c!.message)}
        </p>
      ))}
      {drift && row.drifted && (
        <p>
          Detected <Ago at={drift.since ?? drift.checkedAt} />: {counts(drift)} to restore the declared configuration.
        </p>
      )}
      {row.drifted && object.spec.drift?.onDrift === 'Apply' && <PausedCorrections namespace={row.namespace} />}
      <IgnoredDrift differences={drift?.differences ?? []} />
      {waits ? (
        <div className="border-warn/40 bg-warnbg flex flex-wrap items-center gap-x-3 gap-y-2 rounded-md border p-2.5">
          <span className="font-medium">A plan awaits approval</span>
          <Counts of={waits.plan} />
          <span className="text-muted">
            since <Ago at={waits.created} />
          </span>
          <Link
            to="/runs/$namespace/$name"
            params={{ namespace: waits.namespace, name: waits.name }}
            className={`${buttonClass('main')} ml-auto`}
          >
            Read the plan of {waits.name}
          </Link>
        </div>
      ) : (
        current && (
          <p className="flex flex-wrap items-center gap-2">
            In progress:
            <Link
              to="/runs/$namespace/$name"
              params={{ namespace: current.namespace, name: current.name }}
              className="link font-medium"
            >
              {current.name}
            </Link>
            <PhaseBadge phase={current.phase} />
            <span className="text-muted">
              {current.operation}, began <Ago at={current.created} />
            </span>
          </p>
        )
      )}
    </div>
  )
}

function facts(row: Row, object: StackObject): [string, React.ReactNode][] {
  const { spec, status } = object
  const git = spec.source.git
  const [repositoryNamespace = '', repository = ''] = row.repository?.split('/') ?? []
  const source = git ? (
    <>
      <Link
        to="/repositories/$namespace/$name"
        params={{ namespace: repositoryNamespace, name: repository }}
        className="link underline"
      >
        {row.repository}
      </Link>
      {git.path && (
        <>
          {' '}
          <PathLink repository={row.repository} revision={row.revision} path={git.path}>
            <span className="font-mono text-sm">{safe(git.path)}</span>
          </PathLink>
        </>
      )}
      {git.ref && <span className="text-muted"> at {safe(git.ref)}</span>}
    </>
  ) : spec.source.configMap ? (
    <>ConfigMap {spec.source.configMap.name}</>
  ) : (
    'in the Stack itself'
  )
  const all: [string, React.ReactNode | undefined][] = [
    ['Source', source],
    [
      'Revision',
      row.revision && (
        <span className="inline-flex items-center gap-1">
          <CommitLink repository={row.repository} revision={row.revision}>
            <span className="font-mono text-sm">{shortRevision(row.revision)}</span>
          </CommitLink>
          <CopyButton text={row.revision} label="Copy the revision" />
          {status?.inputsDigest && status.appliedInputsDigest && status.inputsDigest !== status.appliedInputsDigest && (
            <Badge tone="warn">not applied yet</Badge>
          )}
        </span>
      ),
    ],
    [
      'StackSet',
      row.stackSet && (
        <Link to="/stacksets/$namespace/$name" params={setOf(row.namespace, row.stackSet)} className="link">
          {row.stackSet}
        </Link>
      ),
    ],
    [
      'Pipeline',
      status?.release && (
        <>
          stage {status.release.stage} of{' '}
          <Link
            to="/pipelines/$namespace/$name"
            params={{ namespace: row.namespace, name: status.release.pipeline }}
            className="link"
          >
            {status.release.pipeline}
          </Link>
        </>
      ),
    ],
    [
      'Values',
      status?.variableSets?.map(({ name, variables = [], env = [] }) => (
        <div key={name} className="break-words">
          of VariableSet {name}
          {variables.length + env.length > 0 && (
            <span className="text-muted">: {safe([...variables, ...env].join(', '))}</span>
          )}
        </div>
      )),
    ],
    [
      'Rules',
      status?.stackPolicies?.map(({ name, windows = 0, policies = [] }) => (
        <div key={name} className="break-words">
          of StackPolicy {name}
          <span className="text-muted">
            :{' '}
            {[
              ...(windows > 0 ? [`${windows} ${windows === 1 ? 'window' : 'windows'}`] : []),
              ...policies.map(safe),
            ].join(', ')}
          </span>
        </div>
      )),
    ],
    ['Engine', `${row.engine}${spec.engine.version ? ` ${spec.engine.version}` : ''}`],
    [
      'Auto-apply',
      {
        Automatic: spec.requireApprovalFor?.length
          ? `on, except for ${spec.requireApprovalFor.join(', ')}, which require approval`
          : 'on',
        Manual: spec.preventSelfApproval
          ? 'off: another user than the one who caused the change has to approve'
          : 'off: plans require approval',
        Never: 'off: plans are never applied',
      }[row.apply],
    ],
    [
      'Drift',
      spec.drift &&
        `checked every ${spec.drift.interval}, then ${spec.drift.onDrift === 'Apply' ? 'corrected' : 'reported'}` +
          (spec.drift.onDrift === 'Apply' && spec.drift.applyFor
            ? ` if all of it is ${spec.drift.applyFor.join(', ')}`
            : ''),
    ],
    [
      'Deletion',
      { Destroy: 'destroys its resources', Orphan: 'keeps its resources', Protect: 'protected' }[spec.deletionPolicy],
    ],
    [
      'State',
      <Link
        key="state"
        to="/states/$namespace/$name"
        params={{ namespace: row.namespace, name: row.name }}
        className="link"
      >
        {resourceCount(row.resources)}
      </Link>,
    ],
    ['Created', <Ago key="created" at={row.created} />],
  ]
  return all.filter((f): f is [string, React.ReactNode] => !!f[1])
}
