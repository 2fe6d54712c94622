/** The order after a click on the head of a column: ascending, then descending, and so on. */
export function flip(sort: string | undefined, by: string): string {
  return sort === by ? `-${by}` : by
}
