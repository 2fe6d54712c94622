import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { pagesQuery } from '../api/queries'
import type { Run } from '../api/client'
import type { ListSearch } from '../app/search'
import { BulkBar } from '../bulk/BulkBar'
import { DataList } from '../list/DataList'
import { Filter } from '../list/Filter'
import { Search, SearchBar } from '../list/Search'
import { useSelection } from '../list/selection'
import { Button } from '../ui/Button'
import { Empty } from '../ui/Empty'
import { PageHead, useTitle } from '../ui/Page'
import { inWords } from '../ui/tone'
import { runColumns, RunCard } from './runrows'

const route = getRouteApi('/app/runs')

/** The Runs of all Stacks, newest first. */
export default function Runs() {
  useTitle('Runs')
  const { q, namespace, phase, stack, sort } = route.useSearch()
  const navigate = route.useNavigate()
  const set = (change: Partial<ListSearch>) => void navigate({ search: (s) => ({ ...s, ...change }), replace: true })
  const filters = { q, namespace, phase, stack }
  const pages = useInfiniteQuery(pagesQuery('runs', { ...filters, sort }))
  const selection = useSelection<Run>(filters)
  const filtered = Object.values(filters).some((v) => v !== undefined)
  const of = { kind: 'runs', params: filters } as const
  return (
    <>
      <PageHead title="Runs" />
      <SearchBar search={<Search label="Search Runs" value={q} onChange={(q) => set({ q })} />}>
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
        <Filter {...of} label="Stack" field="stack" free chosen={stack} onChange={(stack) => set({ stack })} />
        {filtered && (
          <Button kind="bare" onClick={() => void navigate({ search: sort ? { sort } : {}, replace: true })}>
            Clear
          </Button>
        )}
      </SearchBar>
      <DataList
        label="Runs"
        pages={pages}
        selection={selection}
        columns={runColumns}
        card={(run) => <RunCard run={run} />}
        sort={sort ?? '-created'}
        onSort={(sort) => set({ sort })}
        empty={
          filtered ? (
            <Empty title="No matching Runs">Clear the filters, or change the search.</Empty>
          ) : (
            <Empty title="No Runs that you can view">A Stack creates a Run when its code or its spec changes.</Empty>
          )
        }
      />
      <BulkBar
        kind="runs"
        actions={['approve', 'retry']}
        rows={pages.data?.pages.flatMap((p) => p.items ?? []) ?? []}
        all={!pages.hasNextPage}
        selection={selection}
      />
    </>
  )
}
