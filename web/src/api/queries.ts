import type { QueryClient } from '@tanstack/react-query'
import {
  infiniteQueryOptions,
  keepPreviousData,
  queryOptions,
  useMutation,
  useQueryClient,
} from '@tanstack/react-query'
import type { Activity, Me, ObjectEvent, Plural, SignInMethod, Stack } from './client'
import { objectPath, send } from './client'
import type { Detail, Page } from './kinds'

/*
 * Keys of queries, by which live.ts finds what has changed:
 *   [plural, 'list', params]              lists: fetched again when any object of the resource changes
 *   [plural, namespace, name, ...what]    one object: fetched again when it changes
 */
export const keys = {
  list: (kind: Plural, params: ListParams) => [kind, 'list', params] as const,
  object: (kind: Plural, namespace: string, name: string, ...what: string[]) =>
    [kind, namespace, name, ...what] as const,
}

/** What a list is filtered, sorted and searched by; as in the API. */
export type ListParams = Record<string, string | number | boolean | string[] | undefined>

/** The address of a list with its parameters. One that is an array is given once for each. */
export function listPath(kind: Plural | 'resources', params: ListParams, after?: string): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(params)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== '') query.append(name, String(one))
    }
  }
  if (after) query.set('after', after)
  const text = query.toString()
  return `/api/v1/${kind}${text && '?' + text}`
}

async function json<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await send('GET', path, undefined, signal)).json()) as T
}

/** The first page of a list. */
export function listQuery<K extends Plural>(kind: K, params: ListParams) {
  return queryOptions({
    queryKey: keys.list(kind, params),
    queryFn: ({ signal }) => json<Page<K>>(listPath(kind, params), signal),
    placeholderData: keepPreviousData,
  })
}

/** The last Runs of a Stack, and none of an earlier Stack of its name. */
export const runsOf = ({ namespace, name, uid }: Pick<Stack, 'namespace' | 'name' | 'uid'>) =>
  listQuery('runs', { namespace, stack: name, stackUID: uid, limit: 50 })

/** How many values of a parameter the API accepts. */
const mostValues = 50

/**
 * A list that fetches more pages on scrolling. Pages that are fetched from now on have no rows of the collapsed groups; the list hides
 * those that it has already.
 */
export function pagesQuery<K extends Plural>(kind: K, params: ListParams, collapsed: string[] = []) {
  return infiniteQueryOptions({
    queryKey: keys.list(kind, { ...params, pages: 'all' }),
    queryFn: ({ signal, pageParam }) =>
      json<Page<K>>(
        listPath(
          kind,
          { limit: pageParam ? 500 : 100, ...params, collapsed: collapsed.slice(0, mostValues) },
          pageParam,
        ),
        signal,
      ),
    initialPageParam: '',
    getNextPageParam: (page) => page.next,
    placeholderData: keepPreviousData,
  })
}

/** The values of a field to filter a list by, each with the number of rows that match all other filters. */
export function facetQuery(kind: Plural | 'resources', field: string, params: ListParams) {
  const filters = { ...params, sort: undefined, group: undefined }
  return queryOptions({
    queryKey: [kind, 'list', { ...filters, facet: field }],
    queryFn: async ({ signal }) =>
      (await json<Page<Plural>>(listPath(kind, { ...filters, facet: field, limit: 1 }), signal)).facets?.[0] ?? null,
    placeholderData: keepPreviousData,
  })
}

/** An object: its row, and as Kubernetes has it. */
export function objectQuery<K extends Plural>(kind: K, namespace: string, name: string) {
  return queryOptions({
    queryKey: keys.object(kind, namespace, name),
    queryFn: ({ signal }) => json<Detail<K>>(objectPath(kind, namespace, name), signal),
  })
}

export type Access = Record<string, boolean>

/** The reasons why actions of the user would have no effect. */
export type Denied = Record<string, string>

/** The actions on an object that the roles of the user allow, whether or not they apply now. */
export function accessQuery(kind: Plural, namespace: string, name: string) {
  return queryOptions({
    queryKey: keys.object(kind, namespace, name, 'access'),
    queryFn: async ({ signal }) => (await accessOf(kind, namespace, name, signal)).actions ?? {},
    staleTime: 60_000,
  })
}

const accessOf = (kind: Plural, namespace: string, name: string, signal: AbortSignal) =>
  json<{ actions?: Access; denied?: Denied }>(objectPath(kind, namespace, name, 'access'), signal)

/** The actions on a Run that would have no effect for the user. Whether they do can change with its Stack. */
export function deniedQuery(namespace: string, name: string) {
  return queryOptions({
    queryKey: keys.object('runs', namespace, name, 'denied'),
    queryFn: async ({ signal }) => (await accessOf('runs', namespace, name, signal)).denied ?? {},
  })
}

/** The Kubernetes events of an object, newest first. */
export function eventsQuery(kind: Plural, namespace: string, name: string) {
  return queryOptions({
    queryKey: keys.object(kind, namespace, name, 'events'),
    queryFn: async ({ signal }) =>
      (await json<{ items?: ObjectEvent[] }>(objectPath(kind, namespace, name, 'events'), signal)).items ?? [],
  })
}

/** How many Runs ended in which way. */
export function activityQuery(since: string, step: string) {
  return queryOptions({
    queryKey: ['runs', 'list', { activity: since, step }],
    queryFn: ({ signal }) => json<Activity>(`/api/v1/activity?since=${since}&step=${step}`, signal),
    placeholderData: keepPreviousData,
  })
}

/** The signed-in user. A 401 means that no user is signed in. */
export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: ({ signal }) => json<Me>('/api/v1/me', signal),
  staleTime: Infinity,
  // It decides what is shown first, so it does not wait; the layout asks again.
  retry: false,
})

/** The ways to sign in here. */
export const signinQuery = queryOptions({
  queryKey: ['signin'],
  queryFn: ({ signal }) => json<{ methods?: SignInMethod[]; failure?: string }>('/api/v1/signin', signal),
})

/** Fetches an object and the lists that contain it again. */
export async function refresh(client: QueryClient, kind: Plural, namespace: string, name: string): Promise<void> {
  await Promise.all([
    client.invalidateQueries({ queryKey: [kind, namespace, name] }),
    client.invalidateQueries({ queryKey: [kind, 'list'] }),
  ])
}

/** Performs an action on an object: `useAction('runs', ns, name).mutate({ action: 'approve', body: { planDigest } })`. */
export function useAction(kind: Plural, namespace: string, name: string) {
  const client = useQueryClient()
  return useMutation({
    mutationFn: ({ action, body }: { action: string; body?: object }) =>
      send('POST', objectPath(kind, namespace, name, action), body ?? {}),
    onSettled: () => refresh(client, kind, namespace, name),
  })
}
