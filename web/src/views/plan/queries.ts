import { queryOptions } from '@tanstack/react-query'
import { objectPath, send } from '../../api/client'
import type { RunObject } from '../../api/kinds'
import { parseExactly } from '../text/exact'
import type { View } from './types'

type Plan = NonNullable<NonNullable<RunObject['status']>['plan']>

/** The plan of a Run with a digest: it never changes, so changes of the Run do not make it old. */
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

/** The plan as its engine tells it in JSON, of which only some is read. It may be large. */
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

/** What the Run itself says of its plan, where the plan is not kept: the first addresses, without attributes. */
export function summaryView(plan: Plan): View {
  return { changes: (plan.resources ?? []).map((r) => ({ address: r.address, action: r.action as never })) }
}
