import * as z from 'zod'

// Any user can write an address, so unknown parameters are ignored and are never an error.
const word = z.string().max(500).optional().catch(undefined)
const words = z
  .union([z.string(), z.array(z.string())])
  .transform((v) => [...new Set((Array.isArray(v) ? v : [v]).filter((w) => w !== '' && w.length <= 500))].slice(0, 50))
  .transform((v) => (v.length > 0 ? v : undefined))
  .optional()
  .catch(undefined)
const flag = z
  .union([z.boolean(), z.enum(['true', 'false']).transform((v) => v === 'true')])
  .optional()
  .catch(undefined)

/** A path within the web UI. Other addresses are rejected, because a link could redirect users to another site. */
const inside = z.string().refine(isInside).optional().catch(undefined)

/** Reports whether an address is on this site. */
export function isInside(to: string): boolean {
  return /^\/(?![/\\])[^\\\p{Cc}]*$/u.test(to)
}

export const signinSearch = z.object({ to: inside })

const sorts = ['name', 'created', 'changed', 'reason', 'resources'] as const
const stackSort = z
  .enum([...sorts, ...sorts.map((s) => `-${s}` as const)])
  .optional()
  .catch(undefined)

export const overviewSearch = z.object({ since: z.enum(['24h', '168h', '720h']).optional().catch(undefined) })

export const stacksSearch = z.object({
  q: word,
  namespace: words,
  ready: words,
  reason: words,
  repository: words,
  engine: words,
  label: words,
  drifted: flag,
  suspended: flag,
  deleted: flag,
  sort: stackSort,
  group: z
    .string()
    .regex(/^(namespace|repository|reason|label:[\w./-]{1,317})$/)
    .optional()
    .catch(undefined),
})
export type StacksSearch = z.infer<typeof stacksSearch>

export const stackTabs = ['history', 'resources', 'outputs', 'dependencies', 'events', 'spec'] as const
const stackTab = z.enum(stackTabs)
export type StackTab = z.infer<typeof stackTab>
export const stackSearch = z.object({ tab: stackTab.optional().catch(undefined) })

/** The search of the lists of Runs, States, Repositories, pull requests and resources. */
export const listSearch = z.object({
  q: word,
  namespace: words,
  phase: words,
  stack: words,
  repository: words,
  type: words,
  author: words,
  ready: words,
  locked: flag,
  rescued: flag,
  sort: z
    .string()
    .regex(/^-?[a-z]{1,30}$/)
    .optional()
    .catch(undefined),
})
export type ListSearch = z.infer<typeof listSearch>
