import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { stringify } from 'yaml'
import type { StackSet as Row } from '../api/client'
import type { StackSetObject } from '../api/kinds'
import { listQuery, objectQuery } from '../api/queries'
import type { StacksSearch } from '../app/search'
import { Named } from '../list/Named'
import { asYAML } from '../stack/spec'
import { Badge, ReadyBadge } from '../ui/Badge'
import { CopyButton } from '../ui/CopyButton'
import { Empty } from '../ui/Empty'
import { Facts, PageHead, Section, useTitle } from '../ui/Page'
import { Pending } from '../ui/Pending'
import { Problem } from '../ui/Problem'
import { Ago } from '../ui/Time'
import { CommitLink } from '../views/CommitLink'
import { Events } from '../views/Events'
import { safe, safeText } from '../views/text/escape'
import { shortRevision } from './words'

const route = getRouteApi('/app/stacksets/$namespace/$name')

type Spec = StackSetObject['spec']
type Status = NonNullable<StackSetObject['status']>

/** A StackSet: its Stacks by state, what a preview lists, the rollout, and deletions that wait for a user. */
export default function StackSet() {
  const { namespace, name } = route.useParams()
  useTitle(`${name} · StackSets`)
  const detail = useQuery(objectQuery('stacksets', namespace, name))
  const { row, object } = detail.data ?? {}
  const over = (
    <>
      <Link to="/stacksets" className="link">
        StackSets
      </Link>{' '}
      /{' '}
      <Link to="/stacksets" search={{ namespace: [namespace] }} className="link">
        {namespace}
      </Link>
    </>
  )
  if (!row || !object) {
    return <Pending title={name} over={over} query={detail} label="Loading the StackSet" />
  }
  const { preview, deletions, groups }: Partial<Status> = object.status ?? {}
  const order = object.spec.rollout?.order ?? []
  const yaml = asYAML('StackSet', object)
  return (
    <>
      <PageHead
        title={name}
        over={over}
        badge={
          <>
            <ReadyBadge of={row} />
            {row.mode === 'Preview' && row.reason !== 'Previewed' && <Badge>Preview</Badge>}
            {row.deleted && <Badge tone="bad">Being deleted</Badge>}
          </>
        }
      />
      {detail.error && (
        <div className="mb-3">
          <Problem error={detail.error} retry={() => void detail.refetch()} />
        </div>
      )}
      <Standing row={row} />
      <div className="panel mb-5">
        <Facts facts={facts(row, object.spec)} />
      </div>
      {deletions && <Deletions row={row} deletions={deletions} />}
      {preview && <Preview preview={preview} />}
      <Section title="Stacks">
        <States row={row} />
      </Section>
      <NotReady row={row} />
      {order.length > 0 && (
        <Section title="Order of the rollout">
          <Order row={row} order={order} groups={groups} />
        </Section>
      )}
      <Section title="Events" bare>
        <Events kind="stacksets" namespace={namespace} name={name} />
      </Section>
      <Section title="Spec" actions={<CopyButton text={yaml} label="Copy the YAML" />}>
        <pre className="p-3 font-mono text-sm break-words whitespace-pre-wrap">{safeText(yaml)}</pre>
      </Section>
    </>
  )
}

/** A link to the Stacks of the StackSet in all namespaces, filtered. */
function ToStacks({ row, filter, children }: { row: Row; filter?: Partial<StacksSearch>; children: ReactNode }) {
  return (
    <Link to="/stacks" search={{ stackset: [`${row.namespace}/${row.name}`], ...filter }} className="link">
      {children}
    </Link>
  )
}

/** The state in one sentence, and what a user does next. */
function Standing({ row }: { row: Row }) {
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
      {row.reason === 'Previewed' && (
        <p>
          Nothing is written. To write it, set <code className="font-mono">spec.mode</code> to Create.
        </p>
      )}
      {row.reason === 'RolloutPaused' && (
        <p>
          Correct the template or{' '}
          <ToStacks row={row} filter={{ failing: true }}>
            the failing Stacks
          </ToStacks>
          . The rollout then continues.
        </p>
      )}
    </div>
  )
}

function facts(row: Row, spec: Spec): [ReactNode, ReactNode][] {
  const [namespace = '', repository = ''] = row.repository?.split('/') ?? []
  const { maxConcurrent = 10, pauseAfterFailures = 3 } = spec.rollout ?? {}
  const all: [string, ReactNode][] = [
    [
      'Repository',
      row.repository ? (
        <Link to="/repositories/$namespace/$name" params={{ namespace, name: repository }} className="link">
          {row.repository}
        </Link>
      ) : (
        'none: only lists generate Stacks'
      ),
    ],
    [
      'Revision',
      row.revision && (
        <CommitLink repository={row.repository} revision={row.revision}>
          <span className="font-mono text-sm">{shortRevision(row.revision)}</span>
        </CommitLink>
      ),
    ],
    ['Mode', row.mode === 'Preview' ? 'Preview: writes nothing' : 'Create'],
    [
      'Stacks that are gone',
      spec.prune === 'Delete' ? 'suspended, and deleted after a user confirmed the list' : 'suspended',
    ],
    ['Gone at once', `at most ${spec.maxDeletions ?? '10%'}`],
    ['Rollout', `${maxConcurrent} Stacks at once, paused after ${pauseAfterFailures} failed`],
    ['Created', <Ago key="created" at={row.created} />],
  ]
  return all.filter(([, value]) => !!value)
}

/** The Stacks by state, as the StackSet counts them. Links lead to the nearest filter of the list of Stacks. */
function States({ row }: { row: Row }) {
  if (row.mode === 'Preview' && row.applied + row.changing + row.outdated + row.gone === 0) {
    return <Empty title={`${row.generated.toLocaleString('en')} Stacks would exist`} />
  }
  const states: { n: number; word: string; about: string; filter?: Partial<StacksSearch>; link: string }[] = [
    { n: row.generated, word: 'Generated', about: 'by the generators', link: 'All Stacks' },
    {
      n: row.applied,
      word: 'Applied',
      about: 'have applied the current template',
      filter: { ready: ['True'] },
      link: 'Ready ones',
    },
    {
      n: row.changing,
      word: 'Changing',
      about: 'have the current template, and have not applied it yet',
      filter: { ready: ['False', 'Unknown'] },
      link: 'Those not ready',
    },
    {
      n: row.failed,
      word: 'Failed',
      about: 'of those that change',
      filter: { failing: true },
      link: 'Failing ones',
    },
    {
      n: row.outdated,
      word: 'Outdated',
      about: 'have an earlier template, or fields that differ from it',
      link: 'All Stacks',
    },
    {
      n: row.gone,
      word: 'Gone',
      about: 'are not generated any more, and suspended',
      filter: { suspended: true },
      link: 'Suspended ones',
    },
  ]
  return (
    <ul aria-label="Stacks by state" className="divide-line divide-y">
      {states.map(({ n, word, about, filter, link }) => (
        <li key={word} className="flex flex-wrap items-baseline gap-x-3 px-3 py-1.5">
          <span className="min-w-10 text-right font-medium tabular-nums">{n.toLocaleString('en')}</span>
          <span className="font-medium">{word}</span>
          <span className="text-muted min-w-0 text-sm">{about}</span>
          {n > 0 && (
            <span className="ml-auto text-sm">
              <ToStacks row={row} filter={filter}>
                {link}
              </ToStacks>
            </span>
          )}
        </li>
      ))}
    </ul>
  )
}

const mostNotReady = 10

/** The first Stacks that are not ready, with their messages. */
function NotReady({ row }: { row: Row }) {
  const filter = { stackset: `${row.namespace}/${row.name}`, ready: 'False', sort: '-changed', limit: mostNotReady }
  const stacks = useQuery(listQuery('stacks', filter))
  const { items = [], total = 0 } = stacks.data ?? {}
  if (items.length === 0) return null
  return (
    <Section
      title="Not ready"
      actions={
        total > mostNotReady && (
          <ToStacks row={row} filter={{ ready: ['False'] }}>
            All {total.toLocaleString('en')}
          </ToStacks>
        )
      }
    >
      <ul aria-label="Stacks that are not ready" className="divide-line divide-y">
        {items.map((s) => (
          <li key={s.uid} className="flex flex-wrap items-center gap-2 px-3 py-1.5">
            <Link
              to="/stacks/$namespace/$name"
              params={{ namespace: s.namespace, name: s.name }}
              className="link font-medium"
            >
              {s.namespace === row.namespace ? s.name : <Named of={s} />}
            </Link>
            <ReadyBadge of={s} />
            <span className="text-muted min-w-0 text-sm break-words">{s.message && safe(s.message)}</span>
          </li>
        ))}
      </ul>
    </Section>
  )
}

type Selector = NonNullable<NonNullable<Spec['rollout']>['order']>[number]

/** The groups of the rollout. A group begins when the Stacks of all groups before it have applied the template. */
function Order({ row, order, groups = [] }: { row: Row; order: Selector[]; groups?: Status['groups'] }) {
  const progress = (i: number) =>
    groups[i] && (
      <span className="text-muted float-right text-sm tabular-nums">
        {groups[i].applied.toLocaleString('en')} of {groups[i].generated.toLocaleString('en')} applied
        {groups[i].failed > 0 && `, ${groups[i].failed.toLocaleString('en')} failed`}
      </span>
    )
  return (
    <ol className="divide-line list-inside list-decimal divide-y">
      {order.map((selector, i) => {
        const labels = labelsOf(selector)
        return (
          <li key={i} className="px-3 py-1.5">
            {labels ? (
              <ToStacks row={row} filter={{ label: labels }}>
                <span className="font-mono text-sm">{safe(labels.join(', '))}</span>
              </ToStacks>
            ) : (
              <span className="font-mono text-sm">{safe(JSON.stringify(selector))}</span>
            )}
            {progress(i)}
          </li>
        )
      })}
      <li className="text-muted px-3 py-1.5">all other Stacks{progress(order.length)}</li>
    </ol>
  )
}

/** The labels that a selector requires, as the list of Stacks filters by them; none if it has other rules. */
function labelsOf({ matchLabels = {}, matchExpressions = [] }: Selector): string[] | undefined {
  if (matchExpressions.length > 0) return undefined
  return Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`)
}

/** The namespace and the name of a Stack, which a StackSet lists as NAME or, in another namespace, as NAMESPACE/NAME. */
function locate(row: Row, listed: string) {
  const [before = '', after] = listed.split('/')
  return after === undefined ? { namespace: row.namespace, name: before } : { namespace: before, name: after }
}

/** The Stacks that wait for a user who confirms that they are deleted, and the exact command. */
function Deletions({ row, deletions }: { row: Row; deletions: NonNullable<Status['deletions']> }) {
  const command = `cairn confirm-deletions ${row.name} -n ${row.namespace} --digest=${deletions.digest}`
  const more = deletions.count - deletions.names.length
  return (
    <Section title={`Deletions to confirm (${deletions.count.toLocaleString('en')})`}>
      <p className="p-3 pb-1">
        These Stacks are not generated any more. To delete exactly them, each as its deletion policy has it:
      </p>
      <p className="flex items-center gap-2 px-3 pb-2">
        <code className="bg-sunken min-w-0 rounded p-2 font-mono text-sm break-all">{command}</code>
        <CopyButton text={command} label="Copy the command" />
      </p>
      <ul aria-label="Stacks to delete" className="divide-line border-line max-h-80 divide-y overflow-y-auto border-t">
        {deletions.names.map((name) => (
          <li key={name} className="px-3 py-1.5">
            <Link to="/stacks/$namespace/$name" params={locate(row, name)} className="link">
              {name}
            </Link>
          </li>
        ))}
        {more > 0 && <li className="text-muted px-3 py-1.5">and {more.toLocaleString('en')} more</li>}
      </ul>
    </Section>
  )
}

/** What mode Create would do, and some of the Stacks. */
function Preview({ preview }: { preview: NonNullable<Status['preview']> }) {
  const { create = [], change = [], suspend = [], samples = [] } = preview
  const lists = [
    { word: 'Create', names: create },
    { word: 'Change', names: change },
    { word: 'Suspend', names: suspend },
  ].filter(({ names }) => names.length > 0)
  return (
    <>
      <Section title="Mode Create would">
        {lists.length === 0 && <Empty title="change nothing" />}
        <ul className="divide-line divide-y">
          {lists.map(({ word, names }) => (
            <li key={word} className="px-3 py-1.5 break-words">
              <span className="font-medium">{word}</span>{' '}
              <span className="font-mono text-sm">{safe(names.join(', '))}</span>
              {names.length === mostPreviewed && <span className="text-muted"> (the first {mostPreviewed})</span>}
            </li>
          ))}
        </ul>
      </Section>
      {samples.length > 0 && (
        <Section title="Samples">
          <ul aria-label="Samples" className="divide-line divide-y">
            {samples.map((sample, i) => (
              <li key={i}>
                <pre className="p-3 font-mono text-sm break-words whitespace-pre-wrap">
                  {safeText(stringify(sample, { lineWidth: 0 }))}
                </pre>
              </li>
            ))}
          </ul>
        </Section>
      )}
    </>
  )
}

/** How many names status.preview has at most. */
const mostPreviewed = 20
