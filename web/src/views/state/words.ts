/** The number of resources in a state in words: it is not known of one that its engine encrypts. */
export function resourceCount(n: number): string {
  if (n < 0) return 'resources'
  return n === 1 ? '1 resource' : `${n.toLocaleString('en')} resources`
}
