import { queryOptions } from '@tanstack/react-query'
import { objectPath, send } from '../../api/client'
import { parseState } from './statefile'

/** A version of the state with a UID, without secrets. It is immutable. It requires the verb pull on States. */
export function versionQuery(namespace: string, name: string, uid: string, version: number) {
  return queryOptions({
    queryKey: ['versions', namespace, name, version, uid],
    queryFn: async ({ signal }) =>
      parseState(
        await (
          await send('GET', objectPath('states', namespace, name, `versions/${version}`), undefined, signal)
        ).text(),
      ),
    staleTime: Infinity,
    // It has secrets, so it is removed from the cache when it is no longer shown.
    gcTime: 0,
    retry: false,
  })
}
