import { queryOptions } from '@tanstack/react-query'
import { objectPath, send } from '../../api/client'
import type { RunObject } from '../../api/kinds'
import { parseExactly } from '../text/exact'
import type { View } from './types'

type Plan = NonNullable<NonNullable<RunObject['status']>['plan']>

/** The plan of a Run with a digest: it is immutable, so changes of the Run do not invalidate it. */
export function planQuery(namespace: string, run: string, digest: string) {
  return queryOptions({
    queryKey: ['plans', namespace, run, digest],
    queryFn: async ({ signal }) =>
      parseExactly(
        await (await send('GET', objectPath('runs', namespace, run, 'plan'), undefined, signal)).text(),
      ) as View,
    staleTime: Infinity,
    gcTime: 60_000,
  })
}

/** The JSON plan of the engine, of which only a part is used. It may be large. */
export function planJSONQuery(namespace: string, run: string, digest: string) {
  return queryOptions({
    queryKey: ['plans', namespace, run, digest, 'json'],
    queryFn: async ({ signal }) =>
      parseExactly(
        await (await send('GET', objectPath('runs', namespace, run, 'plan?format=json'), undefined, signal)).text(),
      ),
    staleTime: Infinity,
    gcTime: 10_000,
  })
}

/** The summary of the plan in the Run, if the plan is not stored: the first addresses, without attributes. */
export function summaryView(plan: Plan): View {
  return { changes: (plan.resources ?? []).map((r) => ({ address: r.address, action: r.action as never })) }
}
