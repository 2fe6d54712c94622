import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { Empty } from '../../ui/Empty'
import { Problem } from '../../ui/Problem'
import { Skeletons } from '../../ui/Skeleton'
import { Canvas } from '../graph/Canvas'
import type { ResourceNode } from '../plan/json'
import { graphOf } from '../plan/json'
import { planJSONQuery } from '../plan/queries'
import type { Tone } from '../../ui/tone'
import { actions, wordOf } from '../plan/types'
import { safe } from '../text/escape'

const mostDrawn = 1_000

/** The resources of a plan and which use which, by the code. */
export default function PlanGraph({ namespace, name, digest }: { namespace: string; name: string; digest: string }) {
  const graph = useQuery({ ...planJSONQuery(namespace, name, digest), select: graphOf })
  const [all, setAll] = useState(false)
  const [chosen, setChosen] = useState<string | undefined>()
  const shown = useMemo(() => {
    if (!graph.data) return undefined
    const nodes = graph.data.nodes.filter((n) => all || n.counts.size > 0)
    const ids = new Set(nodes.map((n) => n.id))
    return { nodes, edges: graph.data.edges.filter((e) => ids.has(e.from) && ids.has(e.to)) }
  }, [graph.data, all])
  const drawn = useMemo(
    () =>
      (shown?.nodes ?? []).map((n) => ({
        id: n.id,
        title: n.label,
        ...(n.module && { over: n.module, about: safe(n.module) }),
        under: said(n),
        tone: toneOf(n),
        chosen: n.id === chosen,
      })),
    [shown, chosen],
  )
  if (graph.error) return <Problem error={graph.error} retry={() => void graph.refetch()} />
  if (!graph.data || !shown) return <Skeletons lines={4} label="Loading the resources" />
  const names = new Map(shown.nodes.map((n) => [n.id, n]))
  return (
    <>
      <div className="mb-2 flex flex-wrap items-center gap-3">
        <label className="flex items-center gap-1.5">
          <input type="checkbox" checked={all} onChange={(event) => setAll(event.target.checked)} /> Include unchanged
        </label>
        <span className="text-muted text-sm">
          {shown.nodes.length.toLocaleString('en')} of {graph.data.nodes.length.toLocaleString('en')} resources;
          instances of one are one. References through locals are not included.
        </span>
      </div>
      {shown.nodes.length > mostDrawn ? (
        <Empty title={`${shown.nodes.length.toLocaleString('en')} resources are too many to draw`}>
          The plan has them all.
        </Empty>
      ) : shown.nodes.length === 0 ? (
        <Empty title="No resource changes" />
      ) : (
        <Canvas
          nodes={drawn}
          edges={shown.edges}
          label="Resources and their references; the list below contains the same"
          height="h-[max(18rem,calc(100dvh-26rem))]"
          onChoose={(id) => setChosen(id === chosen ? undefined : id)}
        />
      )}
      <details className="mt-2">
        <summary className="text-muted w-fit py-1">As a list</summary>
        <ul className="panel divide-line max-h-96 divide-y overflow-y-auto">
          {shown.nodes.slice(0, mostDrawn).map((n) => {
            const uses = shown.edges.filter((e) => e.to === n.id).map((e) => names.get(e.from)?.id ?? e.from)
            return (
              <li key={n.id} className="p-2 text-sm">
                <span className="font-mono break-all">{safe(n.id)}</span> <span className="text-muted">{said(n)}</span>
                {uses.length > 0 && (
                  <span className="text-muted font-mono break-all"> uses {uses.map(safe).join(', ')}</span>
                )}
              </li>
            )
          })}
        </ul>
      </details>
    </>
  )
}

function said(n: ResourceNode): string {
  const parts = actions.filter((a) => n.counts.has(a)).map((a) => `${n.counts.get(a)} to ${wordOf(a).done}`)
  return parts.length > 0 ? parts.join(', ') : `${n.instances} as it is`
}

function toneOf(n: ResourceNode): Tone {
  const gravest = actions.find((a) => n.counts.has(a))
  return gravest ? wordOf(gravest).tone : 'none'
}
