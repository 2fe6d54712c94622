/** A short revision: seven digits of a commit or a hash, without the branch. */
export function shortRevision(revision?: string): string {
  return revision ? revision.replace(/^(.*@)?(sha\d+:)?/, '').slice(0, 7) : ''
}

/** How much that is: 12 B, 3.4 KiB. */
export function bytes(size: number): string {
  if (size < 1024) return `${size} B`
  const units = ['KiB', 'MiB', 'GiB']
  let n = size / 1024
  let unit = 0
  while (n >= 1024 && unit < units.length - 1) {
    n /= 1024
    unit++
  }
  return `${n < 10 ? n.toFixed(1) : Math.round(n)} ${units[unit]}`
}
