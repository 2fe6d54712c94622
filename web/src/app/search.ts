import * as z from 'zod/mini'
import type { FilterField, FlagField } from '../kinds'
import { filterFields, flagFields } from '../kinds'

/** A parameter that is optional. Any user can write an address, so an invalid value is ignored and never an error. */
export const lenient = <T extends z.ZodMiniType>(value: T) => z.catch(z.optional(value), undefined)

const word = lenient(z.string().check(z.maxLength(500)))
const words = lenient(
  z.pipe(
    z.union([z.string(), z.array(z.string())]),
    z.transform((v) => {
      const kept = [...new Set((Array.isArray(v) ? v : [v]).filter((w) => w !== '' && w.length <= 500))].slice(0, 50)
      return kept.length > 0 ? kept : undefined
    }),
  ),
)
const flag = lenient(
  z.union([
    z.boolean(),
    z.pipe(
      z.enum(['true', 'false']),
      z.transform((v) => v === 'true'),
    ),
  ]),
)

/** A path within the web UI. Other addresses are rejected, because a link could redirect users to another site. */
const inside = lenient(z.string().check(z.refine(isInside)))

/** Reports whether an address is on this site. */
export function isInside(to: string): boolean {
  return /^\/(?![/\\])[^\\\p{Cc}]*$/u.test(to)
}

export const signinSearch = z.object({ to: inside })

const sorts = ['name', 'created', 'changed', 'reason', 'resources'] as const
const stackSort = lenient(z.enum([...sorts, ...sorts.map((s) => `-${s}` as const)]))

export const overviewSearch = z.object({ since: lenient(z.enum(['24h', '168h', '720h'])) })

export const stacksSearch = z.object({
  q: word,
  namespace: words,
  ready: words,
  reason: words,
  repository: words,
  stackset: words,
  engine: words,
  label: words,
  failing: flag,
  drifted: flag,
  suspended: flag,
  deleted: flag,
  sort: stackSort,
  group: lenient(z.string().check(z.regex(/^(namespace|repository|reason|label:[\w./-]{1,317})$/))),
})
export type StacksSearch = z.infer<typeof stacksSearch>

export const stackTabs = ['history', 'resources', 'outputs', 'dependencies', 'events', 'spec'] as const
const stackTab = z.enum(stackTabs)
export type StackTab = z.infer<typeof stackTab>
export const stackSearch = z.object({ tab: lenient(stackTab) })

const all = <F extends string, T>(fields: F[], of: T) => Object.fromEntries(fields.map((f) => [f, of])) as Record<F, T>

/** The search of the lists of all kinds but Stacks, and of resources. */
export const listSearch = z.object({
  q: word,
  type: words,
  ...all<FilterField, typeof words>(filterFields, words),
  ...all<FlagField, typeof flag>(flagFields, flag),
  sort: lenient(z.string().check(z.regex(/^-?[a-z]{1,30}$/))),
})
export type ListSearch = z.infer<typeof listSearch>
