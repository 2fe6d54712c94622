import type { ElkNode } from 'elkjs/lib/elk-api'
import ELK from 'elkjs/lib/elk-api'
import workerUrl from 'elkjs/lib/elk-worker.min.js?url'
import type { Edge } from '../plan/json'
import { besideAll, nodeSize } from './grid'
import type { Place } from './grid'

const good = { 'elk.layered.thoroughness': '7', 'elk.layered.nodePlacement.strategy': 'BRANDES_KOEPF' }
/** For many nodes: good enough soon is better than good. */
const soon = {
  'elk.layered.thoroughness': '1',
  'elk.layered.nodePlacement.strategy': 'SIMPLE',
  'elk.layered.layering.strategy': 'LONGEST_PATH_SOURCE',
  'elk.layered.crossingMinimization.greedySwitch.type': 'OFF',
}

/**
 * Finds places for nodes, in layers from what is used to what uses it, beside the page. Labels of edges need space between the layers.
 * Nodes without edges are in a grid below. The signal ends it.
 */
export async function layout(
  ids: string[],
  edges: Edge[],
  labelled: boolean,
  signal: AbortSignal,
): Promise<Map<string, Place>> {
  const linked = new Set(edges.flatMap((e) => [e.from, e.to]))
  const alone = ids.filter((id) => !linked.has(id))
  if (linked.size === 0) return besideAll(new Map(), alone)
  const elk = new ELK({ workerUrl })
  const end = () => elk.terminateWorker()
  signal.addEventListener('abort', end)
  try {
    const graph: ElkNode = {
      id: 'graph',
      layoutOptions: {
        'elk.algorithm': 'layered',
        'elk.direction': 'RIGHT',
        'elk.spacing.nodeNode': '14',
        'elk.layered.spacing.nodeNodeBetweenLayers': labelled ? '170' : '70',
        'elk.separateConnectedComponents': 'true',
        'elk.spacing.componentComponent': '28',
        'elk.aspectRatio': '1.6',
        // Only positions are requested: the page draws edges itself, and routing edges takes half the time and much memory.
        'elk.edgeRouting': 'POLYLINE',
        ...(linked.size > 400 ? soon : good),
      },
      children: ids.filter((id) => linked.has(id)).map((id) => ({ id, ...nodeSize })),
      edges: edges.map((e, i) => ({ id: `e${i}`, sources: [e.from], targets: [e.to] })),
    }
    const placed = await elk.layout(graph)
    return besideAll(new Map((placed.children ?? []).map((c) => [c.id, { x: c.x ?? 0, y: c.y ?? 0 }])), alone)
  } finally {
    signal.removeEventListener('abort', end)
    elk.terminateWorker()
  }
}
