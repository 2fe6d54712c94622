import type { ElkNode } from 'elkjs/lib/elk-api'
import ELK from 'elkjs/lib/elk-api'
import workerUrl from 'elkjs/lib/elk-worker.min.js?url'
import type { Edge } from '../plan/json'

/** Where a node is drawn. */
export type Place = { x: number; y: number }

export const nodeSize = { width: 200, height: 46 }

const good = { 'elk.layered.thoroughness': '7', 'elk.layered.nodePlacement.strategy': 'BRANDES_KOEPF' }
/** For many nodes: good enough soon is better than good. */
const soon = {
  'elk.layered.thoroughness': '1',
  'elk.layered.nodePlacement.strategy': 'SIMPLE',
  'elk.layered.layering.strategy': 'LONGEST_PATH_SOURCE',
  'elk.layered.crossingMinimization.greedySwitch.type': 'OFF',
}

/**
 * Finds places for nodes, in layers from what is used to what uses it, beside the page. Labels of edges need space between the layers. The
 * signal ends it.
 */
export async function layout(
  ids: string[],
  edges: Edge[],
  labelled: boolean,
  signal: AbortSignal,
): Promise<Map<string, Place>> {
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
        ...(ids.length > 400 ? soon : good),
      },
      children: ids.map((id) => ({ id, ...nodeSize })),
      edges: edges.map((e, i) => ({ id: `e${i}`, sources: [e.from], targets: [e.to] })),
    }
    const placed = await elk.layout(graph)
    return new Map((placed.children ?? []).map((c) => [c.id, { x: c.x ?? 0, y: c.y ?? 0 }]))
  } finally {
    signal.removeEventListener('abort', end)
    elk.terminateWorker()
  }
}
