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
import { runColumns, RunCard } from './runrows'

const route = getRouteApi('/app/runs')

const phases = [
  'Queued',
  'Planning',
  'AwaitingApproval',
  'Applying',
  'Shell',
  'Succeeded',
  'Failed',
  'Canceled',
  'Superseded',
]

/** The Runs of all Stacks, newest first. */
export default function Runs() {
  useTitle('Runs')
  const { q, namespace, phase, stack, sort } = route.useSearch()
  const navigate = route.useNavigate()
  const set = (change: Partial<ListSearch>) => void navigate({ search: (s) => ({ ...s, ...change }), replace: true })
  const pages = useInfiniteQuery(pagesQuery('runs', { q, namespace, phase, stack, sort }))
  const seen = pages.data?.pages.flatMap((p) => p.items ?? []) ?? []
  const filtered = [q, namespace, phase, stack].some((v) => v !== undefined)
  return (
    <>
      <PageHead title="Runs" />
      <SearchBar search={<Search label="Search Runs" value={q} onChange={(q) => set({ q })} />}>
        <Filter label="Phase" chosen={phase} known={phases} word={inWords} onChange={(phase) => set({ phase })} />
        <Filter
          label="Namespace"
          free
          chosen={namespace}
          known={[...new Set(seen.map((r) => r.namespace))]}
          onChange={(namespace) => set({ namespace })}
        />
        <Filter
          label="Stack"
          free
          chosen={stack}
          known={[...new Set(seen.map((r) => r.stack))].slice(0, 100)}
          onChange={(stack) => set({ stack })}
        />
        {filtered && (
          <Button kind="bare" onClick={() => void navigate({ search: sort ? { sort } : {}, replace: true })}>
            Clear
          </Button>
        )}
      </SearchBar>
      <DataList
        label="Runs"
        pages={pages}
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
    </>
  )
}
