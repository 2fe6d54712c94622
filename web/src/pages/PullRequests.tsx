import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import type { PullRequest } from '../api/client'
import { pagesQuery } from '../api/queries'
import type { ListSearch } from '../app/search'
import { DataList } from '../list/DataList'
import { Filter } from '../list/Filter'
import { Search, SearchBar } from '../list/Search'
import { Button } from '../ui/Button'
import { Empty } from '../ui/Empty'
import { PageHead, useTitle } from '../ui/Page'
import { inWords } from '../ui/tone'
import { safe } from '../views/text/escape'
import { PullCard, pullColumns } from './pullrows'

const route = getRouteApi('/app/pullrequests')

const phases = ['Merging', 'Planned', 'AwaitingCommand', 'Draft', 'Conflict', 'Failed', 'Closed']

/** The open pull requests of all Repositories, the last updated first. */
export default function PullRequests() {
  useTitle('Pull requests')
  const { q, namespace, repository, phase, author, stack, sort } = route.useSearch()
  const filters = { q, namespace, repository, phase, author, stack }
  const navigate = route.useNavigate()
  const set = (change: Partial<ListSearch>) => void navigate({ search: (s) => ({ ...s, ...change }), replace: true })
  const pages = useInfiniteQuery(pagesQuery('pullrequests', { ...filters, sort }))
  const seen = pages.data?.pages.flatMap((p) => p.items ?? []) ?? []
  const of = (value: (p: PullRequest) => string | undefined) =>
    [...new Set(seen.flatMap((p) => value(p) ?? []))].slice(0, 100)
  const filtered = Object.values(filters).some((v) => v !== undefined)
  return (
    <>
      <PageHead title="Pull requests" />
      <SearchBar search={<Search label="Search pull requests" value={q} onChange={(q) => set({ q })} />}>
        <Filter label="Phase" chosen={phase} known={phases} word={inWords} onChange={(phase) => set({ phase })} />
        <Filter
          label="Namespace"
          free
          chosen={namespace}
          known={of((p) => p.namespace)}
          onChange={(namespace) => set({ namespace })}
        />
        <Filter
          label="Repository"
          free
          chosen={repository}
          known={of((p) => p.repository)}
          onChange={(repository) => set({ repository })}
        />
        <Filter
          label="Author"
          free
          chosen={author}
          known={of((p) => p.author)}
          word={safe}
          onChange={(author) => set({ author })}
        />
        {stack && <Filter label="Stack" free chosen={stack} known={[]} onChange={(stack) => set({ stack })} />}
        {filtered && (
          <Button kind="bare" onClick={() => void navigate({ search: sort ? { sort } : {}, replace: true })}>
            Clear
          </Button>
        )}
      </SearchBar>
      <DataList
        label="Pull requests"
        pages={pages}
        columns={pullColumns}
        card={(pull) => <PullCard pull={pull} />}
        sort={sort ?? '-updated'}
        onSort={(sort) => set({ sort })}
        empty={
          filtered ? (
            <Empty title="No matching pull requests">Clear the filters, or change the search.</Empty>
          ) : (
            <Empty title="No open pull requests, or you cannot view them">
              Cairn plans the pull requests of a Repository with <code className="font-mono">spec.pullRequests</code>.
            </Empty>
          )
        }
      />
    </>
  )
}
