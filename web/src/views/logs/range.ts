/** Lines that a link names: #L12 or #L12-L20. */
export type Range = { from: number; to: number }

export function parseRange(hash: string): Range | undefined {
  const found = /^#?L(\d{1,9})(?:-L?(\d{1,9}))?$/.exec(hash)
  if (!found) return undefined
  const a = Number(found[1])
  const b = found[2] ? Number(found[2]) : a
  if (a < 1 || b < 1) return undefined
  return { from: Math.min(a, b), to: Math.max(a, b) }
}

export function formatRange(r: Range): string {
  return r.from === r.to ? `L${r.from}` : `L${r.from}-L${r.to}`
}

/** What is named after a click on a line: with shift all from the line that was named before. */
export function extended(before: Range | undefined, line: number, shift: boolean): Range {
  if (!shift || !before) return { from: line, to: line }
  return { from: Math.min(before.from, line), to: Math.max(before.from, line) }
}
