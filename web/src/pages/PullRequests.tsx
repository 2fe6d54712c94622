import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
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

/** The open pull requests of all Repositories, the last updated first. */
export default function PullRequests() {
  useTitle('Pull requests')
  const { q, namespace, repository, phase, author, stack, sort } = route.useSearch()
  const filters = { q, namespace, repository, phase, author, stack }
  const navigate = route.useNavigate()
  const set = (change: Partial<ListSearch>) => void navigate({ search: (s) => ({ ...s, ...change }), replace: true })
  const pages = useInfiniteQuery(pagesQuery('pullrequests', { ...filters, sort }))
  const filtered = Object.values(filters).some((v) => v !== undefined)
  const of = { kind: 'pullrequests', params: filters } as const
  return (
    <>
      <PageHead title="Pull requests" />
      <SearchBar search={<Search label="Search pull requests" value={q} onChange={(q) => set({ q })} />}>
        <Filter
          {...of}
          label="Phase"
          field="phase"
          chosen={phase}
          word={inWords}
          onChange={(phase) => set({ phase })}
        />
        <Filter
          {...of}
          label="Namespace"
          field="namespace"
          free
          chosen={namespace}
          onChange={(namespace) => set({ namespace })}
        />
        <Filter
          {...of}
          label="Repository"
          field="repository"
          free
          chosen={repository}
          onChange={(repository) => set({ repository })}
        />
        <Filter
          {...of}
          label="Author"
          field="author"
          free
          chosen={author}
          word={safe}
          onChange={(author) => set({ author })}
        />
        <Filter {...of} label="Stack" field="stack" free chosen={stack} onChange={(stack) => set({ stack })} />
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
