/** Where a node is drawn. */
export type Place = { x: number; y: number }

export const nodeSize = { width: 200, height: 46 }

const cell = { width: nodeSize.width + 14, height: nodeSize.height + 14 }

/** Adds places for nodes without edges: a grid below the others, about as wide as a screen or as the others. */
export function besideAll(placed: Map<string, Place>, alone: string[]): Map<string, Place> {
  const all = [...placed.values()]
  const right = Math.max(0, ...all.map((p) => p.x + cell.width))
  const top = all.length === 0 ? 0 : Math.max(...all.map((p) => p.y)) + nodeSize.height + 42
  const screen = Math.ceil(Math.sqrt((1.6 * alone.length * cell.height) / cell.width))
  const columns = Math.max(screen, Math.floor(right / cell.width))
  alone.forEach((id, i) => {
    placed.set(id, { x: (i % columns) * cell.width, y: top + Math.floor(i / columns) * cell.height })
  })
  return placed
}
