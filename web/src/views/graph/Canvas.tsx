import { Background, Controls, Handle, MiniMap, Position, ReactFlow } from '@xyflow/react'
import type { Edge as FlowEdge, Node, NodeProps } from '@xyflow/react'
import '@xyflow/react/dist/base.css'
import './canvas.css'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useMemo } from 'react'
import { cx } from '../../ui/cx'
import { Problem } from '../../ui/Problem'
import { Skeletons } from '../../ui/Skeleton'
import type { Tone } from '../../ui/tone'
import type { Edge } from '../plan/json'
import { safe } from '../text/escape'
import { layout, nodeSize } from './elk'

/** What is drawn of a node. */
export type Drawn = { id: string; title: string; over?: string; under?: ReactNode; tone: Tone; chosen?: boolean }

type Data = Drawn & Record<string, unknown>

/** Nodes that require a user to act are visible when zoomed out. */
const ground: Record<Tone, string> = {
  good: 'bg-panel',
  busy: 'bg-busybg',
  warn: 'bg-warnbg',
  bad: 'bg-badbg',
  none: 'bg-panel',
}
const bar: Record<Tone, string> = {
  good: 'bg-good',
  busy: 'bg-busy',
  warn: 'bg-warn',
  bad: 'bg-bad',
  none: 'bg-strong',
}

function Box({ data }: NodeProps<Node<Data>>) {
  return (
    <div
      className={cx(
        'border-strong flex items-stretch overflow-hidden rounded-md border text-left text-sm',
        ground[data.tone],
        data.chosen && 'outline-accent outline-2',
      )}
      style={{ width: nodeSize.width, height: nodeSize.height }}
      title={safe(data.over ? `${data.over} ${data.title}` : data.title)}
    >
      <Handle type="target" position={Position.Left} className="graph-handle" isConnectable={false} />
      <span aria-hidden className={cx('w-1 shrink-0', bar[data.tone])} />
      <span className="min-w-0 grow px-2 py-1">
        <span className="block truncate font-mono leading-5">{safe(data.title)}</span>
        <span className="text-muted block truncate text-xs leading-4">
          {data.under ?? (data.over && safe(data.over))}
        </span>
      </span>
      <Handle type="source" position={Position.Right} className="graph-handle" isConnectable={false} />
    </div>
  )
}

const nodeTypes = { box: Box }

type Props = { nodes: Drawn[]; edges: Edge[]; label: string; height?: string; onChoose?: (id: string) => void }

/** A graph in layers. What it shows has to be in a list beside it too. */
export function Canvas({ nodes, edges, label, height = 'h-[max(20rem,calc(100dvh-14rem))]', onChoose }: Props) {
  // Places follow from what there is and what uses what; not from the states of the nodes.
  const shape = useMemo(
    () => JSON.stringify([nodes.map((n) => n.id), edges.map((e) => [e.from, e.to])]),
    [nodes, edges],
  )
  const places = useQuery({
    queryKey: ['layout', shape],
    queryFn: ({ signal }) =>
      layout(
        nodes.map((n) => n.id),
        edges,
        signal,
      ),
    staleTime: Infinity,
    gcTime: 30_000,
    retry: false,
  })
  const flow = useMemo(() => {
    if (!places.data) return undefined
    const flowNodes: Node<Data>[] = nodes.map((n) => ({
      id: n.id,
      type: 'box',
      position: places.data.get(n.id) ?? { x: 0, y: 0 },
      data: n,
      ...nodeSize,
      draggable: false,
      connectable: false,
      ariaLabel: safe(`${n.over ?? ''} ${n.title}`.trim()),
    }))
    const chosen = new Set(nodes.filter((n) => n.chosen).map((n) => n.id))
    const flowEdges: FlowEdge[] = edges.map((e) => ({
      id: `${e.from}|${e.to}`,
      source: e.from,
      target: e.to,
      focusable: false,
      className: chosen.has(e.from) || chosen.has(e.to) ? 'graph-edge-chosen' : 'graph-edge',
    }))
    return { nodes: flowNodes, edges: flowEdges }
  }, [places.data, nodes, edges])

  if (places.error) return <Problem error={places.error} retry={() => void places.refetch()} />
  return (
    <div role="group" aria-label={label} className={cx('panel overflow-hidden', height)}>
      {!flow ? (
        <div className="p-3">
          <Skeletons label="Laying out the graph" />
        </div>
      ) : (
        <ReactFlow
          key={shape}
          nodes={flow.nodes}
          edges={flow.edges}
          nodeTypes={nodeTypes}
          onNodeClick={(_, node) => onChoose?.(node.id)}
          fitView
          fitViewOptions={{ maxZoom: 1.1, padding: 0.1 }}
          minZoom={0.05}
          onlyRenderVisibleElements={nodes.length > 150}
          nodesDraggable={false}
          nodesConnectable={false}
          elementsSelectable={false}
          nodesFocusable={false}
          edgesFocusable={false}
        >
          <Background gap={24} className="graph-background" />
          <Controls showInteractive={false} />
          {nodes.length > 60 && (
            <MiniMap
              pannable
              zoomable
              className="graph-map"
              nodeClassName={(node) => `graph-map-${String(node.data.tone)}`}
            />
          )}
        </ReactFlow>
      )}
    </div>
  )
}
