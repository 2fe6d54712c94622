import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useDeferredValue, useMemo } from 'react'
import type { Stack } from '../../api/client'
import { send } from '../../api/client'
import type { Page } from '../../api/kinds'
import { keys, listPath, listQuery } from '../../api/queries'
import { cx } from '../../ui/cx'
import { Empty } from '../../ui/Empty'
import { useNarrow } from '../../ui/media'
import { PageHead, useTitle } from '../../ui/Page'
import { Problem } from '../../ui/Problem'
import { Skeletons } from '../../ui/Skeleton'
import type { GraphSearch } from '../search'
import type { Drawn } from './Canvas'
import { Canvas } from './Canvas'
import { Controls } from './Controls'
import type { By, Group } from './groups'
import { choices, grouped, isGroup, summary, toneOf } from './groups'
import { byLayer, StackList } from './StackList'
import type { StackNode } from './stacks'
import { graphOfStacks, layersOf, matches, part } from './stacks'
import { edgeLabel, outputsText, relations, stateOf } from './words'

const route = getRouteApi('/app/graph')

/** With more Stacks than this, they are not all fetched again after each change, but periodically. */
const mostLive = 500
/** More than these are not drawn at once. */
const mostDrawn = 1_500
/** More than these are grouped by namespace, unless a user chose something else. */
const mostUngrouped = 100

async function allStacks(signal: AbortSignal): Promise<Stack[]> {
  const stacks: Stack[] = []
  let after: string | undefined
  do {
    const answer = await send('GET', listPath('stacks', { limit: 500 }, after), undefined, signal)
    const page = (await answer.json()) as Page<'stacks'>
    stacks.push(...(page.items ?? []))
    after = page.next
  } while (after)
  return stacks
}

/** Dependencies of Stacks. */
export default function GraphPage() {
  useTitle('Graph')
  const size = useQuery(listQuery('stacks', { limit: 1 }))
  const live = (size.data?.total ?? 0) <= mostLive
  const stacks = useQuery({
    queryKey: live ? keys.list('stacks', { graph: true }) : ['graph', 'stacks'],
    queryFn: ({ signal }) => allStacks(signal),
    enabled: size.data !== undefined,
    ...(!live && { refetchInterval: 30_000 }),
  })
  const error = size.error ?? stacks.error
  return (
    <>
      <PageHead title="Graph">
        <p className="text-muted">
          Dependencies of Stacks. A line with a name passes outputs; a dashed line, by dependsOn, is only the order.
        </p>
      </PageHead>
      {error ? (
        <Problem error={error} retry={() => void (size.error ? size.refetch() : stacks.refetch())} />
      ) : stacks.data ? (
        <Graph stacks={stacks.data} />
      ) : (
        <Skeletons lines={5} label="Loading the Stacks" />
      )}
    </>
  )
}

function Graph({ stacks }: { stacks: Stack[] }) {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const narrow = useNarrow()
  const set = (to: Partial<GraphSearch>) =>
    void navigate({ search: (was) => ({ ...was, ...to }), replace: !('focus' in to), resetScroll: false })
  const { q = '', namespace, focus, depth = 2, alone, group, open } = useDeferredValue(search)
  const view = search.view ?? (narrow ? 'list' : 'graph')
  const graph = useMemo(() => graphOfStacks(stacks), [stacks])
  const found = useMemo(
    () => part(graph, { namespace, focus, depth, alone: (alone ?? false) || graph.edges.length === 0 }),
    [graph, namespace, focus, depth, alone],
  )
  const groups = useMemo(() => choices(found.nodes), [found])
  const by = groupBy(group, groups, focus ? 0 : found.nodes.length)
  const shown = useMemo(() => grouped(found, by, open ?? []), [found, by, open])
  const listed = useMemo(() => {
    const all = part(graph, { namespace, focus, depth, alone: true }).nodes
    return byLayer(q === '' ? all : all.filter((n) => matches(n, q)), layersOf(graph))
  }, [graph, namespace, focus, depth, q])
  const drawn = useMemo(() => shown.nodes.map((n) => drawnOf(n, q, focus)), [shown, q, focus])
  const lines = useMemo(() => {
    const names = new Map(shown.nodes.map((n) => [n.id, isGroup(n) ? n.value : n.id]))
    return shown.edges.map((e) => ({
      ...e,
      label: edgeLabel(e.outputs),
      dashed: e.outputs.length === 0,
      about: `${names.get(e.to)} depends on ${names.get(e.from)}: ${outputsText(e.outputs)}`,
    }))
  }, [shown])
  const namespaces = useMemo(() => [...new Set(stacks.map((s) => s.namespace))].sort(), [stacks])
  if (stacks.length === 0)
    return <Empty title="No Stacks">Dependencies are shown when there are Stacks that you can view.</Empty>
  const choose = (id: string) => {
    const node = shown.nodes.find((n) => n.id === id)
    if (node && isGroup(node)) set({ open: [...(open ?? []), node.value] })
    else set({ focus: id })
  }
  return (
    <>
      <Controls {...{ search, set, namespaces, groups, by, depth, view }} />
      <p role="status" className="text-muted mb-2 text-sm tabular-nums">
        {view === 'graph' && `${shown.nodes.length.toLocaleString('en')} drawn, `}
        {listed.length.toLocaleString('en')} listed
        {view === 'graph' && q !== '' && `, ${drawn.filter((n) => n.marked).length.toLocaleString('en')} highlighted`}
      </p>
      <div className={cx('grid grid-cols-1 gap-3', view === 'graph' && 'lg:grid-cols-[minmax(0,1fr)_20rem]')}>
        {view === 'list' ? null : shown.nodes.length > mostDrawn ? (
          <Empty title={`${shown.nodes.length.toLocaleString('en')} Stacks are too many to draw`}>
            Group them, choose a namespace, or choose a Stack in the list to see what is around it.
          </Empty>
        ) : shown.nodes.length === 0 ? (
          <Empty title={listed.length > 0 ? 'None of these Stacks depends on another one' : 'Nothing matches'}>
            {listed.length > 0 && 'They are in the list.'}
          </Empty>
        ) : (
          <div className="relative min-w-0">
            <a
              href="#stack-list"
              className="bg-panel sr-only z-10 rounded-md p-2 focus:not-sr-only focus:absolute focus:top-2 focus:left-2"
            >
              Skip to the list
            </a>
            <Canvas
              nodes={drawn}
              edges={lines}
              label="Stacks and their dependencies; the list contains the same"
              onChoose={choose}
            />
          </div>
        )}
        {listed.length > 0 && <StackList rows={listed} focus={search.focus} onFocus={(id) => set({ focus: id })} />}
        {view === 'list' && listed.length === 0 && <Empty title="Nothing matches" />}
      </div>
    </>
  )
}

/** What the Stacks are grouped by: what a user chose, or else the namespace if there are too many to read one by one. */
function groupBy(chosen: string | undefined, groups: By[], nodes: number): By | undefined {
  if (nodes === 0) return undefined
  const by = chosen ?? (nodes > mostUngrouped ? 'namespace' : undefined)
  return by !== undefined && groups.includes(by) ? by : undefined
}

function drawnOf(n: StackNode | Group, q: string, focus: string | undefined): Drawn {
  const isMatch = (m: StackNode) => q !== '' && matches(m, q)
  if (isGroup(n)) {
    const { tone, text } = summary(n)
    const title = `${n.value} (${n.members.length.toLocaleString('en')})`
    return {
      id: n.id,
      title,
      under: text,
      about: 'expands',
      tone,
      group: true,
      marked: n.members.some(isMatch),
    }
  }
  return {
    id: n.id,
    title: n.name,
    over: n.namespace,
    under: `${n.namespace} · ${stateOf(n)}`,
    about: relations(n),
    tone: toneOf(n),
    dashed: !n.stack,
    chosen: n.id === focus,
    marked: isMatch(n),
  }
}
