/** What a click on a column's head makes of the order: ascending, then descending, and so on. */
export function flip(sort: string | undefined, by: string): string {
  return sort === by ? `-${by}` : by
}
