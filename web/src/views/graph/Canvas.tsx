import { Background, Controls, Handle, MiniMap, Position, ReactFlow } from '@xyflow/react'
import type { Edge as FlowEdge, Node, NodeProps, ReactFlowInstance } from '@xyflow/react'
import '@xyflow/react/dist/base.css'
import './canvas.css'
import { useQuery } from '@tanstack/react-query'
import type { FocusEvent, KeyboardEvent } from 'react'
import { useEffect, useMemo, useState } from 'react'
import { cx } from '../../ui/cx'
import { Problem } from '../../ui/Problem'
import { Skeletons } from '../../ui/Skeleton'
import type { Tone } from '../../ui/tone'
import type { Edge } from '../plan/json'
import { safe } from '../text/escape'
import { layout } from './elk'
import { nodeSize } from './grid'

/**
 * What is drawn of a node: with dashes, what is not found; as several sheets, a group; highlighted and in view, what is marked. A screen
 * reader reads `about` after the visible text.
 */
export type Drawn = {
  id: string
  title: string
  over?: string
  under?: string
  about?: string
  tone: Tone
  chosen?: boolean
  dashed?: boolean
  group?: boolean
  marked?: boolean
}

/** What is drawn of an edge: a label, which is shown where there is room, and dashes. A screen reader reads `about`. */
export type Line = Edge & { label?: string; dashed?: boolean; about?: string }

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
        data.dashed && 'border-dashed',
        data.group && 'shadow-[3px_3px_0_0_var(--color-strong)]',
        data.marked && 'outline-warn outline-3',
        data.chosen && 'outline-accent outline-2',
      )}
      style={{ width: nodeSize.width, height: nodeSize.height }}
      title={safe(data.over ? `${data.over} ${data.title}` : data.title)}
    >
      <Handle type="target" position={Position.Left} className="graph-handle" isConnectable={false} />
      <span aria-hidden className={cx('w-1 shrink-0', bar[data.tone])} />
      <div className="min-w-0 grow px-2 py-1">
        {/* The space separates the two for tools that read the text without its layout. */}
        <div className="truncate font-mono leading-5">{safe(data.title)}</div>{' '}
        <div className="text-muted truncate text-xs leading-4">{safe(data.under ?? data.over ?? '')}</div>
      </div>
      <Handle type="source" position={Position.Right} className="graph-handle" isConnectable={false} />
    </div>
  )
}

const nodeTypes = { box: Box }

/** Where edges are attached, so that nodes out of view need not be rendered. */
const handles = [
  { type: 'target' as const, position: Position.Left, x: 0, y: nodeSize.height / 2, width: 1, height: 1 },
  { type: 'source' as const, position: Position.Right, x: nodeSize.width, y: nodeSize.height / 2, width: 1, height: 1 },
]

const fit = { maxZoom: 1.1, padding: 0.1 }

/** With more edges than this, only those of one node have their labels. */
const mostLabels = 40

/** The node that an event is about. */
const nodeAt = (event: { target: EventTarget }) =>
  (event.target as Element).closest<HTMLElement>('.react-flow__node')?.dataset.id

type Props = { nodes: Drawn[]; edges: Line[]; label: string; height?: string; onChoose?: (id: string) => void }

/** A graph in layers. What it shows has to be in a list beside it too. */
export function Canvas({ nodes, edges, label, height = 'h-[max(20rem,calc(100dvh-14rem))]', onChoose }: Props) {
  // Places follow from what there is and what uses what; not from the states of the nodes.
  const shape = useMemo(
    () => JSON.stringify([nodes.map((n) => n.id), edges.map((e) => [e.from, e.to])]),
    [nodes, edges],
  )
  const labelled = edges.some((e) => e.label)
  const places = useQuery({
    queryKey: ['layout', shape, labelled],
    queryFn: ({ signal }) =>
      layout(
        nodes.map((n) => n.id),
        edges,
        labelled,
        signal,
      ),
    staleTime: Infinity,
    gcTime: 30_000,
    retry: false,
  })
  // The node under the pointer or with the keyboard focus.
  const [pointed, setPointed] = useState<string | undefined>()
  const flowNodes = useMemo(() => {
    if (!places.data) return undefined
    return nodes.map((n): Node<Data> => ({
      id: n.id,
      type: 'box',
      position: places.data.get(n.id) ?? { x: 0, y: 0 },
      data: n,
      ...nodeSize,
      measured: nodeSize,
      handles,
      draggable: false,
      connectable: false,
      ariaRole: 'button' as const,
      // It begins with the visible text, so that users of speech input can say that.
      ariaLabel: [safe(`${n.title} ${n.under ?? n.over ?? ''}`.trim()), n.about].filter(Boolean).join(', '),
      domAttributes: {
        'aria-roledescription': undefined,
        'aria-describedby': undefined,
        ...(n.group && { 'aria-expanded': false }),
      },
    }))
  }, [places.data, nodes])
  const flowEdges = useMemo(() => {
    const chosen = new Set(nodes.filter((n) => n.chosen).map((n) => n.id))
    if (pointed) chosen.add(pointed)
    const few = edges.length <= mostLabels
    return edges.map((e): FlowEdge => {
      const isChosen = chosen.has(e.from) || chosen.has(e.to)
      return {
        id: `${e.from}|${e.to}`,
        source: e.from,
        target: e.to,
        focusable: false,
        ...(e.about && { ariaLabel: e.about }),
        className: cx(isChosen ? 'graph-edge-chosen' : 'graph-edge', e.dashed && 'graph-edge-dashed'),
        ...(e.label && (few || isChosen) && { label: e.label }),
        ...(isChosen && { zIndex: 1 }),
      }
    })
  }, [nodes, edges, pointed])

  const [instance, setInstance] = useState<ReactFlowInstance<Node<Data>>>()
  const markedIds = JSON.stringify(nodes.filter((n) => n.marked).map((n) => n.id))
  useEffect(() => {
    const ids = JSON.parse(markedIds) as string[]
    void instance?.fitView({ ...fit, ...(ids.length > 0 && { nodes: ids.map((id) => ({ id })) }) })
  }, [instance, markedIds])

  if (places.error) return <Problem error={places.error} retry={() => void places.refetch()} />
  return (
    <div role="group" aria-label={label} className={cx('panel overflow-hidden', height)}>
      {!flowNodes ? (
        <div className="p-3">
          <Skeletons label="Laying out the graph" />
        </div>
      ) : (
        <ReactFlow
          key={shape}
          nodes={flowNodes}
          edges={flowEdges}
          nodeTypes={nodeTypes}
          onNodeClick={(_, node) => onChoose?.(node.id)}
          onNodeMouseEnter={(_, node) => setPointed(node.id)}
          onNodeMouseLeave={() => setPointed(undefined)}
          onFocus={(event: FocusEvent) => setPointed(nodeAt(event))}
          onBlur={() => setPointed(undefined)}
          onKeyDown={(event: KeyboardEvent) => {
            const node = nodeAt(event)
            if (node === undefined || (event.key !== 'Enter' && event.key !== ' ')) return
            event.preventDefault()
            onChoose?.(node)
          }}
          fitView
          fitViewOptions={fit}
          onInit={setInstance}
          minZoom={0.05}
          onlyRenderVisibleElements={nodes.length > 150}
          nodesDraggable={false}
          nodesConnectable={false}
          elementsSelectable={false}
          nodesFocusable={!!onChoose}
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
