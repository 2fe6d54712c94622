import type { QueryClient } from '@tanstack/react-query'
import type { Plural } from '../api/client'
import { asProblem, objectPath, send } from '../api/client'
import { accessQuery, deniedQuery, objectQuery } from '../api/queries'
import { ownerOf } from '../views/run/actions'
import type { BulkAction, Skipped, Step, Target } from './steps'
import { approval, request, retryOfRun } from './steps'

/** How many requests are sent at a time. */
const atOnce = 4

/** Calls a function for each item, few at a time, until it is stopped. */
export async function each<T>(
  items: T[],
  work: (item: T, index: number) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < items.length && !signal.aborted) {
      const index = next++
      await work(items[index]!, index)
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker))
}

/** Reads a target as it is now, and returns the request for it, or why there is none. */
export async function prepare(
  client: QueryClient,
  kind: 'stacks' | 'runs',
  action: BulkAction,
  target: Target,
): Promise<Step | Skipped> {
  const { namespace, name } = target
  const read = <K extends Plural>(kind: K, name: string) =>
    client.fetchQuery({ ...objectQuery(kind, namespace, name), staleTime: 0, retry: false })
  const access = (kind: Plural, name: string) => client.fetchQuery(accessQuery(kind, namespace, name))
  try {
    if (action === 'approve') {
      const run = kind === 'runs' ? name : (await read('stacks', name)).row.run
      if (!run) return { target, why: 'No Run of the Stack waits for an approval.' }
      const [{ object }, may, noEffect] = await Promise.all([
        read('runs', run),
        access('runs', run),
        client.fetchQuery({ ...deniedQuery(namespace, run), staleTime: 0 }),
      ])
      return approval(target, object, may, noEffect)
    }
    if (kind === 'runs') {
      const { object } = await read('runs', name)
      const stack = object.spec.stack.name
      const owner = ownerOf(object, (await read('stacks', stack)).object)
      return retryOfRun(target, object, owner, await access('stacks', stack))
    }
    const [{ row }, may] = await Promise.all([read('stacks', name), access('stacks', name)])
    return request(action, target, row, may)
  } catch (error) {
    return { target, why: asProblem(error).detail }
  }
}

/** Sends the request of a step. */
export async function perform(step: Step): Promise<void> {
  const path = objectPath(step.kind, step.target.namespace, step.name, step.action)
  await send('POST', path, step.plan ? { planDigest: step.plan.digest } : {})
}
