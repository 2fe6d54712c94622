import { queryOptions } from '@tanstack/react-query'
import type { Stack } from '../api/client'
import { send } from '../api/client'
import type { Page } from '../api/kinds'
import { keys, listPath } from '../api/queries'

/** All Stacks of a namespace. */
export function stacksOf(namespace: string) {
  return queryOptions({
    queryKey: keys.list('stacks', { namespace, all: true }),
    queryFn: async ({ signal }) => {
      const all: Stack[] = []
      for (let after: string | undefined = ''; after !== undefined;) {
        const path: string = listPath('stacks', { namespace, limit: 500 }, after)
        const page = (await (await send('GET', path, undefined, signal)).json()) as Page<'stacks'>
        all.push(...(page.items ?? []))
        after = page.next
      }
      return all
    },
  })
}
