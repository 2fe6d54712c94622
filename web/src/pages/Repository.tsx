import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Download } from 'lucide-react'
import type { Condition } from '../api/kinds'
import { condition } from '../api/kinds'
import { accessQuery, listQuery, objectQuery, useAction } from '../api/queries'
import { asYAML } from '../stack/spec'
import { ReadyBadge } from '../ui/Badge'
import { Button } from '../ui/Button'
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
import { PullTable } from './pullrows'
import { shortRevision } from './words'

const route = getRouteApi('/app/repositories/$namespace/$name')

const mostStacks = 500

/** A Repository: whether it is fetched, at which revisions, and which Stacks use it. */
export default function Repository() {
  const { namespace, name } = route.useParams()
  useTitle(`${name} · Repositories`)
  const detail = useQuery(objectQuery('repositories', namespace, name))
  const access = useQuery(accessQuery('repositories', namespace, name))
  const stacks = useQuery(listQuery('stacks', { repository: name, limit: mostStacks }))
  const fetch = useAction('repositories', namespace, name)
  const { row, object } = detail.data ?? {}
  const over = (
    <>
      <Link to="/repositories" className="link">
        Repositories
      </Link>{' '}
      / {namespace}
    </>
  )
  if (!row || !object) {
    return <Pending title={name} over={over} query={detail} label="Loading the Repository" />
  }
  const users = (stacks.data?.items ?? []).filter((s) => s.repository === `${namespace}/${name}`)
  const more = (stacks.data?.total ?? 0) > mostStacks
  const yaml = asYAML('Repository', object)
  return (
    <>
      <PageHead
        title={name}
        over={over}
        badge={<ReadyBadge of={row} />}
        actions={
          access.data?.fetch && (
            <Button
              icon={<Download aria-hidden className="size-4" />}
              busy={fetch.isPending}
              onClick={() => fetch.mutate({ action: 'fetch' })}
            >
              Fetch now
            </Button>
          )
        }
      />
      {detail.error && (
        <div className="mb-3">
          <Problem error={detail.error} retry={() => void detail.refetch()} />
        </div>
      )}
      {fetch.error && (
        <div className="mb-3">
          <Problem error={fetch.error} />
        </div>
      )}
      <div className="panel mb-5">
        {row.message && <p className="border-line border-b p-3 break-words">{safe(row.message)}</p>}
        <Facts
          facts={[
            [
              'Address',
              <span key="url" className="inline-flex max-w-full items-center gap-1">
                <span className="min-w-0 font-mono text-sm break-all">{safe(row.url)}</span>
                <CopyButton text={row.url} label="Copy the address" />
              </span>,
            ],
            ['Fetched', <Ago key="fetched" at={row.fetched} />],
            ['Created', <Ago key="created" at={row.created} />],
          ]}
        />
      </div>
      <Section title="Revisions">
        {row.refs?.length ? (
          <ul className="divide-line divide-y">
            {row.refs.map((r) => (
              <li key={r.name} className="flex items-center gap-3 px-3 py-1.5">
                <span className="min-w-0 break-words">{safe(r.name)}</span>
                <span className="text-muted ml-auto font-mono text-sm" title={r.revision}>
                  <CommitLink repository={`${namespace}/${name}`} revision={r.revision}>
                    {shortRevision(r.revision)}
                  </CommitLink>
                </span>
                {r.revision && <CopyButton text={r.revision} label={`Copy the revision of ${safe(r.name)}`} />}
              </li>
            ))}
          </ul>
        ) : (
          <Empty title="Not fetched yet" />
        )}
      </Section>
      <Section title="Stacks that use it">
        {stacks.error ? (
          <Problem error={stacks.error} retry={() => void stacks.refetch()} />
        ) : users.length > 0 ? (
          <ul className="divide-line divide-y">
            {users.map((s) => (
              <li key={s.uid} className="flex flex-wrap items-center gap-2 px-3 py-1.5">
                <Link
                  to="/stacks/$namespace/$name"
                  params={{ namespace: s.namespace, name: s.name }}
                  className="link font-medium"
                >
                  {s.namespace}/{s.name}
                </Link>
                <ReadyBadge of={s} />
                <span className="text-muted font-mono text-sm">{s.path && safe(s.path)}</span>
              </li>
            ))}
          </ul>
        ) : (
          !more && <Empty title={stacks.data ? 'No Stacks found that use it, or you cannot view them' : 'Loading'} />
        )}
        {more && (
          <p className="border-line border-t p-3">
            Only Stacks among the first {mostStacks} are listed here.{' '}
            <Link to="/stacks" search={{ repository: [name] }} className="link">
              All {stacks.data?.total.toLocaleString('en')} Stacks of Repositories named {name}
            </Link>
          </p>
        )}
      </Section>
      {object.spec.pullRequests && (
        <PullRequests namespace={namespace} name={name} problem={condition(object, 'PullRequests')} />
      )}
      <Section title="Events" bare>
        <Events kind="repositories" namespace={namespace} name={name} />
      </Section>
      <Section title="Spec" actions={<CopyButton text={yaml} label="Copy the YAML" />}>
        <pre className="overflow-x-auto p-3 font-mono text-sm">{safeText(yaml)}</pre>
      </Section>
    </>
  )
}

const mostPulls = 50

/** The open pull requests, and why the list of the Git provider is not known. */
function PullRequests({ namespace, name, problem }: { namespace: string; name: string; problem?: Condition }) {
  const pulls = useQuery(listQuery('pullrequests', { namespace, repository: name, state: 'Open', limit: mostPulls }))
  const { items = [], total = 0 } = pulls.data ?? {}
  return (
    <Section
      title="Pull requests"
      actions={
        total > mostPulls && (
          <Link to="/pullrequests" search={{ namespace: [namespace], repository: [name] }} className="link">
            All {total.toLocaleString('en')}
          </Link>
        )
      }
    >
      {problem?.status === 'False' && (
        <p className="bg-warnbg text-warn p-3 break-words">
          <span className="font-medium">{inWords(problem.reason)}</span>: {safe(problem.message)}
        </p>
      )}
      {pulls.error ? (
        <Problem error={pulls.error} retry={() => void pulls.refetch()} />
      ) : items.length > 0 ? (
        <PullTable label={`Pull requests of ${name}`} rows={items} />
      ) : (
        <Empty title={pulls.data ? 'No open pull requests' : 'Loading'} />
      )}
    </Section>
  )
}
