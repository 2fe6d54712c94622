import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ColumnDef } from '@tanstack/react-table'
import type { ReactNode } from 'react'
import type { PullRequest as Row } from '../api/client'
import type { PullRequestObject } from '../api/kinds'
import { condition } from '../api/kinds'
import { objectQuery } from '../api/queries'
import { Named } from '../list/Named'
import { SmallTable } from '../list/SmallTable'
import { webAddress } from '../ui/address'
import { Badge, PhaseBadge } from '../ui/Badge'
import { CopyButton } from '../ui/CopyButton'
import { Empty } from '../ui/Empty'
import { Facts, PageHead, Section, useTitle } from '../ui/Page'
import { Pending } from '../ui/Pending'
import { Problem } from '../ui/Problem'
import { Ago } from '../ui/Time'
import { inWords } from '../ui/tone'
import { CommitLink } from '../views/CommitLink'
import { Events } from '../views/Events'
import { safe, safeText } from '../views/text/escape'
import { PullBadge, PullFlags, titleOf } from './pullrows'
import { Counts } from './runrows'
import { shortRevision } from './words'

const route = getRouteApi('/app/pullrequests/$namespace/$name')

type Status = NonNullable<PullRequestObject['status']>
type ListedSet = NonNullable<Status['stackSets']>[number]
type Affected = NonNullable<Status['stacks']>[number]
type Applied = NonNullable<NonNullable<Status['apply']>['stacks']>[number]
type Unplanned = NonNullable<Status['unplanned']>

/** A pull request: what Cairn does with it, and the plans of the Stacks that it affects. */
export default function PullRequest() {
  const { namespace, name } = route.useParams()
  useTitle(`${name} · Pull requests`)
  const detail = useQuery(objectQuery('pullrequests', namespace, name))
  const { row, object } = detail.data ?? {}
  const over = (
    <>
      <Link to="/pullrequests" className="link">
        Pull requests
      </Link>{' '}
      /{' '}
      <Link to="/pullrequests" search={{ namespace: [namespace] }} className="link">
        {namespace}
      </Link>
    </>
  )
  if (!row || !object) {
    return <Pending title={name} over={over} query={detail} label="Loading the pull request" />
  }
  const status: Partial<Status> = object.status ?? {}
  const skipped = status.skipped ?? []
  const sets = status.stackSets ?? []
  const conflicts = status.merge?.conflicts ?? []
  const dependents = (status.dependents ?? []).length + (status.moreDependents ?? 0)
  return (
    <>
      <PageHead
        title={
          <>
            {titleOf(row)} <ProviderLink row={row} />
          </>
        }
        over={over}
        badge={
          <>
            <PullBadge pull={row} />
            {row.state !== 'Open' && row.state !== row.phase && <Badge>{row.state}</Badge>}
            <PullFlags pull={row} />
          </>
        }
      />
      {detail.error && (
        <div className="mb-3">
          <Problem error={detail.error} retry={() => void detail.refetch()} />
        </div>
      )}
      <Standing object={object} />
      <div className="panel mb-5">
        <Facts facts={facts(row, object)} />
      </div>
      {conflicts.length > 0 && (
        <Section title={`Conflicts (${conflicts.length})`}>
          <Names names={conflicts} />
        </Section>
      )}
      {(status.requirements ?? []).length > 0 && (
        <Section title="Required to apply before the merge">
          <ul className="divide-line divide-y">
            {(status.requirements ?? []).map((r) => (
              <li key={r.type} className="p-3 break-words">
                {safe(r.type)} <Badge>{r.state}</Badge> {r.message && safe(r.message)}
              </li>
            ))}
          </ul>
        </Section>
      )}
      {status.automaticMerge && (
        <Section title="Automatic merge">
          <p className="p-3 break-words">
            <Badge>{status.automaticMerge.state}</Badge> {safe(status.automaticMerge.message ?? '')}
          </p>
        </Section>
      )}
      {status.apply && (
        <Section title={`After the merge (${(status.apply.stacks ?? []).length + (status.apply.moreStacks ?? 0)})`}>
          <SmallTable
            label="After the merge"
            rows={status.apply.stacks ?? []}
            columns={appliedColumns}
            card={(s) => (
              <>
                <span className="flex items-start justify-between gap-2">
                  <span className="min-w-0 break-words">
                    <StackLink stack={s} />
                  </span>
                  <AppliedPhase stack={s} />
                </span>
                <span className="flex flex-wrap items-center gap-x-3">
                  <AppliedRun stack={s} />
                  <Counts of={s.plan} />
                </span>
                <AppliedMessage stack={s} />
              </>
            )}
            id={(s) => `${s.namespace}/${s.name}`}
          />
          {!!status.apply.moreStacks && (
            <p className="border-line text-muted border-t p-3">{status.apply.moreStacks} more are not listed.</p>
          )}
        </Section>
      )}
      <Section title={`Affected Stacks (${row.affected})`} actions={row.plan && <Counts of={row.plan} />}>
        <Stacks row={row} stacks={status.stacks ?? []} />
      </Section>
      {dependents > 0 && (
        <Section title={`Other Stacks after the merge (${dependents})`}>
          <ul className="divide-line divide-y">
            {(status.dependents ?? []).map((d) => (
              <li key={`${d.namespace}/${d.name}`} className="p-3 break-words">
                <StackLink stack={d} />: {safe(d.message)}
              </li>
            ))}
          </ul>
          {!!status.moreDependents && (
            <p className="border-line text-muted border-t p-3">{status.moreDependents} more are not listed.</p>
          )}
        </Section>
      )}
      {status.unplanned && (
        <Section title="Changes that no plan shows">
          <NotPlanned of={status.unplanned} />
        </Section>
      )}
      {sets.length > 0 && (
        <Section title={`StackSets (${sets.length + (status.moreStackSets ?? 0)})`}>
          <ul className="divide-line divide-y">
            {sets.map((set) => (
              <li key={`${set.namespace}/${set.name}`} className="p-3">
                <Listed set={set} />
              </li>
            ))}
          </ul>
          {!!status.moreStackSets && (
            <p className="border-line text-muted border-t p-3">{status.moreStackSets} more are not listed.</p>
          )}
        </Section>
      )}
      {skipped.length > 0 && (
        <Section title={`Skipped Stacks (${skipped.length})`}>
          <p className="border-line border-b p-3">
            They are affected, but more than <code className="font-mono">spec.pullRequests.maxStacks</code> of the
            Repository. Comment <code className="font-mono">/cairn plan NAMESPACE/NAME</code> to plan one.
          </p>
          <Names names={skipped} />
        </Section>
      )}
      <Section title="Events" bare>
        <Events kind="pullrequests" namespace={namespace} name={name} />
      </Section>
    </>
  )
}

/** The number, with a link to the Git provider if its address is one of the web. */
function ProviderLink({ row }: { row: Row }) {
  const address = webAddress(row.url)
  const number = `#${row.number}`
  if (!address) return <span className="text-muted font-normal">{number}</span>
  return (
    <a href={address} target="_blank" rel="noopener noreferrer" className="link font-normal" title={safe(address)}>
      {number}
    </a>
  )
}

/** What Cairn does with the pull request, the result of the last command, and what the Git provider has not received. */
function Standing({ object }: { object: PullRequestObject }) {
  const { spec, status } = object
  const ready = condition(object, 'Ready')
  const answer = status?.commands?.answer
  const failure = status?.delivered?.failure
  return (
    <div className="panel mb-3 flex flex-col gap-2 p-3">
      <p className="text-[0.9375rem] break-words">
        {ready ? (
          <>
            <span className="font-medium">{inWords(ready.reason)}</span>
            {ready.message && `: ${safe(ready.message)}`}
            <span className="text-muted">
              {' '}
              · <Ago at={ready.lastTransitionTime} />
            </span>
          </>
        ) : (
          'Not reconciled yet.'
        )}
      </p>
      {status?.head && status.head !== spec.head.commit && (
        <p className="text-warn">
          This is about commit {shortRevision(status.head)}; the newest is {shortRevision(spec.head.commit)}.
        </p>
      )}
      {answer && (
        <p className="break-words whitespace-pre-wrap">
          <span className="font-medium">Last command:</span> {safeText(answer)}
        </p>
      )}
      {failure && (
        <p role="alert" className="bg-warnbg text-warn rounded-md p-2 break-words">
          <span className="font-medium">The last request to the Git provider failed; Cairn retries it:</span>{' '}
          {safe(failure)}
        </p>
      )}
    </div>
  )
}

function facts(row: Row, { status }: PullRequestObject): [ReactNode, ReactNode][] {
  const all: [string, ReactNode][] = [
    [
      'Repository',
      <Link
        key="repository"
        to="/repositories/$namespace/$name"
        params={{ namespace: row.namespace, name: row.repository }}
        className="link"
      >
        {row.namespace}/{row.repository}
      </Link>,
    ],
    ['Author', row.author ? safe(row.author) : 'unknown'],
    [
      'Branches',
      <span key="branches" className="font-mono text-sm break-all">
        {safe(row.base)} <span aria-hidden>←</span>
        <span className="sr-only">from</span> {safe(row.branch ?? row.commit)}
      </span>,
    ],
    [
      'Commit',
      <span key="commit" className="inline-flex items-center gap-1">
        <CommitLink repository={`${row.namespace}/${row.repository}`} revision={`@sha1:${row.commit}`}>
          <span className="font-mono text-sm">{shortRevision(row.commit)}</span>
        </CommitLink>
        <CopyButton text={row.commit} label="Copy the commit" />
      </span>,
    ],
    ['Updated', <Ago key="updated" at={row.updated} />],
    ['Created', <Ago key="created" at={row.created} />],
  ]
  const { allowedBy, allowedHead } = status?.commands ?? {}
  if (allowedBy && allowedHead === row.commit) all.push(['Plans allowed', `by ${safe(allowedBy)}`])
  return all
}

function Stacks({ row, stacks }: { row: Row; stacks: Affected[] }) {
  if (stacks.length === 0) {
    const unknown = row.phase !== 'Planned' || row.affected > 0
    return <Empty title={unknown ? 'No Stack is planned' : 'No Stack is affected'} />
  }
  return (
    <SmallTable
      label="Affected Stacks"
      rows={stacks}
      columns={columns}
      card={(s) => (
        <>
          <span className="flex items-start justify-between gap-2">
            <span className="min-w-0 break-words">
              <StackLink stack={s} />
            </span>
            <Phase stack={s} />
          </span>
          <span className="flex flex-wrap items-center gap-x-3">
            <Plan stack={s} />
            <Counts of={s.plan} />
          </span>
          <OnMerge stack={s} />
          <Notes stack={s} />
        </>
      )}
      id={(s) => `${s.namespace}/${s.name}`}
    />
  )
}

const columns: ColumnDef<Affected>[] = [
  { id: 'stack', header: 'Stack', cell: ({ row }) => <StackLink stack={row.original} /> },
  { id: 'phase', header: 'Phase', cell: ({ row }) => <Phase stack={row.original} /> },
  { id: 'changes', header: 'Changes', cell: ({ row }) => <Counts of={row.original.plan} /> },
  { id: 'plan', header: 'Plan', cell: ({ row }) => <Plan stack={row.original} /> },
  { id: 'merge', header: 'When merged', cell: ({ row }) => <OnMerge stack={row.original} /> },
  { id: 'notes', header: 'Message', cell: ({ row }) => <Notes stack={row.original} /> },
]

const appliedColumns: ColumnDef<Applied>[] = [
  { id: 'stack', header: 'Stack', cell: ({ row }) => <StackLink stack={row.original} /> },
  { id: 'phase', header: 'Phase', cell: ({ row }) => <AppliedPhase stack={row.original} /> },
  { id: 'run', header: 'Run', cell: ({ row }) => <AppliedRun stack={row.original} /> },
  { id: 'changes', header: 'Changes', cell: ({ row }) => <Counts of={row.original.plan} /> },
  { id: 'message', header: 'Message', cell: ({ row }) => <AppliedMessage stack={row.original} /> },
]

const appliedTones: Partial<Record<Applied['phase'], 'good' | 'bad' | 'warn'>> = {
  Applied: 'good',
  Failed: 'bad',
  Stopped: 'bad',
  Superseded: 'bad',
  AwaitingApproval: 'warn',
  Waiting: 'warn',
}

/** What a Stack did with the merge. */
function AppliedPhase({ stack }: { stack: Applied }) {
  return <Badge tone={appliedTones[stack.phase]}>{inWords(stack.phase)}</Badge>
}

function AppliedRun({ stack }: { stack: Applied }) {
  if (!stack.run) return <span className="text-muted">–</span>
  return (
    <Link
      to="/runs/$namespace/$name"
      params={{ namespace: stack.namespace, name: stack.run }}
      className="link"
      aria-label={`Run of ${stack.namespace}/${stack.name} after the merge`}
    >
      {stack.run}
    </Link>
  )
}

function AppliedMessage({ stack }: { stack: Applied }) {
  const { reason, message, phase, approval } = stack
  return (
    <span className="text-sm break-words whitespace-normal">
      {reason && reason !== phase && <span className="font-medium">{inWords(reason)}</span>}
      {message && ` ${safe(message)}`}
      {approval && <span className="block">{safe(approval)}</span>}
    </span>
  )
}

const actions: Record<NonNullable<Affected['onMerge']>['action'], [text: string, color: string]> = {
  Apply: ['Applies at once', ''],
  AwaitApproval: ['Waits for an approval', 'text-warn'],
  Wait: ['Waits for another pull request', 'text-warn'],
  Nothing: ['Applies nothing', 'text-muted'],
  Stop: ['Stops', 'text-bad'],
  Move: ['Reads another directory', 'text-warn'],
}

/** What a Stack does when the pull request is merged, and why. */
function OnMerge({ stack: { onMerge } }: { stack: Affected }) {
  if (!onMerge) return <span className="text-muted">–</span>
  const [text, color] = actions[onMerge.action]
  return (
    <span className="text-sm break-words whitespace-normal">
      <span className={color}>{text}</span>
      {onMerge.message && `: ${safe(onMerge.message)}`}
    </span>
  )
}

/** The paths of what the merge changes and no plan shows. */
function NotPlanned({ of }: { of: Unplanned }) {
  const lists: [string[], number | undefined, string][] = [
    [of.directories ?? [], of.moreDirectories, 'New directories with code that no Stack reads'],
    [of.manifests ?? [], of.moreManifests, 'Files with manifests of Cairn, which a GitOps tool or a user applies'],
  ]
  return lists
    .filter(([paths]) => paths.length > 0)
    .map(([paths, more, title]) => (
      <div key={title}>
        <p className="border-line border-b p-3">{title}</p>
        <Names names={more ? [...paths, `and ${more} more`] : paths} />
      </div>
    ))
}

function StackLink({ stack }: { stack: { namespace: string; name: string; new?: boolean } }) {
  const { namespace, name } = stack
  if (stack.new) {
    return (
      <span className="flex flex-wrap items-center gap-x-2 font-medium">
        <Named of={stack} />
        <Badge>New</Badge>
      </span>
    )
  }
  return (
    <Link to="/stacks/$namespace/$name" params={{ namespace, name }} className="link font-medium">
      <Named of={stack} />
    </Link>
  )
}

/** The phase of the Run; of a Stack without one, that it is not planned. */
function Phase({ stack }: { stack: Affected }) {
  return stack.phase ? <PhaseBadge phase={stack.phase} /> : <Badge>{stack.deferred ? 'Deferred' : 'Not planned'}</Badge>
}

/** The link to the plan: that of the Run. */
function Plan({ stack }: { stack: Affected }) {
  if (!stack.run) return <span className="text-muted">–</span>
  return (
    <Link
      to="/runs/$namespace/$name"
      params={{ namespace: stack.namespace, name: stack.run }}
      className="link"
      title={`Run ${stack.run}`}
      aria-label={`Plan of ${stack.namespace}/${stack.name}`}
    >
      Plan
    </Link>
  )
}

/** What there is to know about the plan of a Stack: why it failed, what policies found, and that it destroys the Stack. */
function Notes({ stack }: { stack: Affected }) {
  const { message, deletedDirectory, plan, approval, new: isNew } = stack
  const policy = plan?.policy
  return (
    <span className="flex min-w-0 flex-col text-sm break-words whitespace-normal">
      {deletedDirectory && (
        <span className="text-warn">
          The pull request deletes the directory <span className="font-mono break-all">{safe(deletedDirectory)}</span>:
          the merge destroys nothing, and the plan shows what deleting the Stack would do.
        </span>
      )}
      {isNew && plan && <span>A StackSet would create it after the merge. The plan begins with an empty state.</span>}
      {plan?.unverified && <span className="text-warn">As its pod reported it: {safe(plan.unverified)}</span>}
      {policy && policy.denied > 0 && <span className="text-bad">{policy.denied} denied by policies</span>}
      {policy && (policy.approvalRequired ?? 0) + policy.warned > 0 && (
        <span className="text-warn">
          {[
            policy.approvalRequired && `${policy.approvalRequired} require an approval`,
            policy.warned && `${policy.warned} warned by policies`,
          ]
            .filter(Boolean)
            .join(', ')}
        </span>
      )}
      {approval &&
        (approval.void ? (
          <span className="text-warn">
            The approval by {safe(approval.by)} is void: {safe(approval.void)}
          </span>
        ) : (
          <span>
            Approved by {approval.from === 'Reviews' && 'a review of '}
            {safe(approval.by)}
          </span>
        ))}
      {message && <span>{safe(message)}</span>}
    </span>
  )
}

const effects: Record<string, [sign: string, color: string]> = {
  Go: ['−', 'text-bad'],
  Change: ['~', 'text-warn'],
  Return: ['+', 'text-good'],
  Appear: ['+', 'text-good'],
}

/** What the merge changes in the list of a StackSet: its error, or the Stacks that would go, change, return and appear. */
function Listed({ set }: { set: ListedSet }) {
  const { namespace, name, reason, message, prune, stacks = [] } = set
  const counts = [
    [set.go, 'go'],
    [set.change, 'change'],
    [set.return, 'return'],
    [set.appear, 'appear'],
  ].filter(([n]) => n)
  const all = (set.go ?? 0) + (set.change ?? 0) + (set.return ?? 0) + (set.appear ?? 0)
  return (
    <>
      <p className="flex flex-wrap items-baseline gap-x-3">
        <Link to="/stacksets/$namespace/$name" params={{ namespace, name }} className="link font-medium">
          <Named of={set} />
        </Link>
        {reason && <Badge tone="bad">{inWords(reason)}</Badge>}
        <span>{counts.map(([n, word]) => `${n} would ${word}`).join(', ')}</span>
      </p>
      {message && <p className={`break-words ${reason ? 'text-bad' : 'text-warn'}`}>{safe(message)}</p>}
      {!!set.go && (
        <p className="text-muted text-sm">
          {prune === 'Delete'
            ? 'A Stack that goes is suspended. It is deleted once a user confirms the list.'
            : 'A Stack that goes is suspended: its resources and its State stay.'}
        </p>
      )}
      {!!set.appear && (
        <p className="text-muted text-sm">A Stack that appears and has no plan here is planned after the merge.</p>
      )}
      <ul className="mt-1 font-mono text-sm break-all">
        {stacks.map((s) => (
          <li key={s.name}>
            <span className={effects[s.effect]?.[1]}>
              <span aria-hidden>{effects[s.effect]?.[0]} </span>
              <span className="sr-only">{s.effect}: </span>
              {safe(s.name)}
            </span>{' '}
            <span className="text-muted">{safe(s.fields?.length ? s.fields.join(', ') : (s.directory ?? ''))}</span>
          </li>
        ))}
        {all > stacks.length && <li className="text-muted">and {all - stacks.length} more</li>}
      </ul>
    </>
  )
}

function Names({ names }: { names: string[] }) {
  return (
    <ul className="divide-line max-h-80 divide-y overflow-y-auto">
      {names.map((name) => (
        <li key={name} className="px-3 py-1.5 font-mono text-sm break-all">
          {safe(name)}
        </li>
      ))}
    </ul>
  )
}
