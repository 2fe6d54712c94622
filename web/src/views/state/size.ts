/** A human-readable number of bytes. */
export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  const units = ['KiB', 'MiB', 'GiB']
  let n = bytes
  let unit = 'B'
  for (const u of units) {
    if (n < 1024) break
    n /= 1024
    unit = u
  }
  return `${n < 10 ? n.toFixed(1) : Math.round(n)} ${unit}`
}
