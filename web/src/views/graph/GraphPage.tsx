import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useDeferredValue, useMemo, useRef, useState } from 'react'
import type { Stack } from '../../api/client'
import { send } from '../../api/client'
import type { Page } from '../../api/kinds'
import { keys, listPath, listQuery } from '../../api/queries'
import { Badge, ReadyBadge } from '../../ui/Badge'
import { Button } from '../../ui/Button'
import { cx } from '../../ui/cx'
import { Empty } from '../../ui/Empty'
import { PageHead, useTitle } from '../../ui/Page'
import { Problem } from '../../ui/Problem'
import { Skeletons } from '../../ui/Skeleton'
import { inWords, readyTone } from '../../ui/tone'
import type { GraphSearch } from '../search'
import { safe } from '../text/escape'
import { Canvas } from './Canvas'
import type { StackNode } from './stacks'
import { graphOfStacks, notFound, outputsOf, part } from './stacks'
import { edgeLabel, outputsText } from './words'

const route = getRouteApi('/app/graph')

/** With more Stacks than this, they are not all fetched again after each change, but periodically. */
const mostLive = 500
/** More than these are not drawn at once. */
const mostDrawn = 1_500

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
  const [alone, setAlone] = useState(false)
  const set = (to: Partial<GraphSearch>) =>
    void navigate({ search: (was) => ({ ...was, ...to }), replace: !('focus' in to), resetScroll: false })
  const wanted = useDeferredValue(search)
  const graph = useMemo(() => graphOfStacks(stacks), [stacks])
  const depth = wanted.depth ?? 2
  const shown = useMemo(
    () =>
      part(graph, {
        q: wanted.q,
        namespace: wanted.namespace,
        focus: wanted.focus,
        depth,
        alone: alone || graph.edges.length === 0,
      }),
    [graph, wanted, depth, alone],
  )
  const listed = useMemo(
    () => part(graph, { q: wanted.q, namespace: wanted.namespace, focus: wanted.focus, depth, alone: true }).nodes,
    [graph, wanted, depth],
  )
  const drawn = useMemo(
    () =>
      shown.nodes.map((n) => ({
        id: n.id,
        title: n.name,
        over: n.namespace,
        under: `${n.namespace} · ${stateOf(n)}`,
        about: relations(n),
        tone: n.stack ? readyTone(n.stack) : 'bad',
        dashed: !n.stack,
        chosen: n.id === wanted.focus,
      })),
    [shown, wanted.focus],
  )
  const lines = useMemo(
    () =>
      shown.edges.map((e) => ({
        ...e,
        label: edgeLabel(e.outputs),
        dashed: e.outputs.length === 0,
        about: `${e.to} depends on ${e.from}: ${outputsText(e.outputs)}`,
      })),
    [shown],
  )
  const namespaces = useMemo(() => [...new Set(stacks.map((s) => s.namespace))].sort(), [stacks])
  if (stacks.length === 0)
    return <Empty title="No Stacks">Dependencies are shown when there are Stacks that you can view.</Empty>
  return (
    <>
      <div className="mb-2 flex flex-wrap items-center gap-2">
        <input
          type="search"
          aria-label="Search Stacks"
          placeholder="Search Stacks"
          className="field w-full sm:w-56"
          value={search.q ?? ''}
          onChange={(event) => set({ q: event.target.value || undefined, focus: undefined })}
        />
        {namespaces.length > 1 && (
          <select
            aria-label="Namespace"
            className="field max-w-48 px-1.5"
            value={search.namespace ?? ''}
            onChange={(event) => set({ namespace: event.target.value || undefined, focus: undefined })}
          >
            <option value="">All namespaces</option>
            {namespaces.map((n) => (
              <option key={n}>{n}</option>
            ))}
          </select>
        )}
        {search.focus ? (
          <>
            <span>
              Around <span className="font-mono">{search.focus}</span>
            </span>
            <label className="flex items-center gap-1.5">
              up to
              <select
                aria-label="Distance"
                className="field px-1.5"
                value={depth}
                onChange={(event) => set({ depth: Number(event.target.value) })}
              >
                {[1, 2, 3, 5, 9].map((d) => (
                  <option key={d} value={d}>
                    {d} {d === 1 ? 'step' : 'steps'}
                  </option>
                ))}
              </select>
              away
            </label>
            <Button small onClick={() => set({ focus: undefined })}>
              Show all
            </Button>
          </>
        ) : (
          <label className="flex items-center gap-1.5">
            <input type="checkbox" checked={alone} onChange={(event) => setAlone(event.target.checked)} /> Include
            Stacks without dependencies
          </label>
        )}
        <span role="status" className="text-muted ml-auto text-sm tabular-nums">
          {shown.nodes.length.toLocaleString('en')} drawn, {listed.length.toLocaleString('en')} listed
        </span>
      </div>
      <div className="grid grid-cols-1 gap-3 lg:grid-cols-[minmax(0,1fr)_20rem]">
        {shown.nodes.length > mostDrawn ? (
          <Empty title={`${shown.nodes.length.toLocaleString('en')} Stacks are too many to draw`}>
            Search, choose a namespace, or choose a Stack in the list to see what is around it.
          </Empty>
        ) : shown.nodes.length === 0 ? (
          <Empty title={listed.length > 0 ? 'None of these Stacks depends on another one' : 'Nothing matches'}>
            {listed.length > 0 && 'They are in the list.'}
          </Empty>
        ) : (
          <Canvas
            nodes={drawn}
            edges={lines}
            label="Stacks and their dependencies; the list contains the same"
            onChoose={(id) => set({ focus: id })}
          />
        )}
        <StackList nodes={listed} focus={search.focus} onFocus={(id) => set({ focus: id })} />
      </div>
    </>
  )
}

function StackList({
  nodes,
  focus,
  onFocus,
}: {
  nodes: StackNode[]
  focus: string | undefined
  onFocus: (id: string) => void
}) {
  const box = useRef<HTMLDivElement>(null)
  const rows = useVirtualizer({
    count: nodes.length,
    getScrollElement: () => box.current,
    estimateSize: () => 62,
    getItemKey: (i) => nodes[i]?.id ?? i,
    overscan: 8,
    initialRect: { width: 320, height: 600 },
  })
  return (
    <div ref={box} className="panel max-h-[max(20rem,calc(100dvh-14rem))] overflow-y-auto">
      <ul
        aria-label="Stacks, what each depends on, and what depends on it"
        className="relative"
        style={{ height: rows.getTotalSize() }}
      >
        {rows.getVirtualItems().map((row) => {
          const n = nodes[row.index]
          if (!n) return null
          return (
            <li
              key={row.key}
              data-index={row.index}
              ref={rows.measureElement}
              aria-setsize={nodes.length}
              aria-posinset={row.index + 1}
              className={cx('border-line absolute inset-x-0 border-b p-2 text-sm', n.id === focus && 'bg-chosen')}
              style={{ top: row.start }}
            >
              <div className="flex items-center gap-2">
                {n.stack ? (
                  <Link
                    className="link min-w-0 truncate font-mono"
                    to="/stacks/$namespace/$name"
                    params={{ namespace: n.namespace, name: n.name }}
                  >
                    {n.name}
                  </Link>
                ) : (
                  <span className="min-w-0 truncate font-mono">{safe(n.name)}</span>
                )}
                <span className="ml-auto shrink-0">
                  {n.stack ? <ReadyBadge of={n.stack} /> : <Badge tone="bad">{notFound}</Badge>}
                </span>
              </div>
              <div className="text-muted flex items-baseline gap-2 text-xs">
                <span className="min-w-0 break-words">{relations(n)}</span>
                <button
                  type="button"
                  className="link ml-auto shrink-0"
                  aria-label={`around it: show what is around ${n.id}`}
                  onClick={() => onFocus(n.id)}
                >
                  around it
                </button>
              </div>
            </li>
          )
        })}
      </ul>
    </div>
  )
}

/** The state of a Stack in words. */
const stateOf = (n: StackNode) => (n.stack ? inWords(n.stack.reason ?? n.stack.ready) : notFound)

/** What a Stack depends on, with the outputs that it uses, and what depends on it. */
function relations(n: StackNode): string {
  const parts = []
  const { stack } = n
  if (stack && n.uses.length > 0)
    parts.push(`depends on ${few(n.uses, (name) => ` (${outputsText(outputsOf(stack, name))})`)}`)
  if (n.usedBy.length > 0) parts.push(`required by ${few(n.usedBy)}`)
  return parts.join('; ') || 'has no dependencies'
}

function few(ids: string[], more: (name: string) => string = () => ''): string {
  const names = ids.slice(0, 5).map((id) => id.slice(id.indexOf('/') + 1))
  return names.map((name) => name + more(name)).join(', ') + (ids.length > 5 ? ` and ${ids.length - 5} more` : '')
}
