import * as z from 'zod'
import { actions } from './plan/types'

// Any user can write an address, so unknown parameters are ignored.
const text = z.coerce.string().max(500).optional().catch(undefined)
const number = z.coerce
  .number()
  .int()
  .positive()
  .max(2 ** 31)
  .optional()
  .catch(undefined)

export const runTabs = ['plan', 'text', 'apply', 'log', 'graph', 'events'] as const

export const runSearch = z.object({
  tab: z.enum(runTabs).optional().catch(undefined),
  // One is a word, several are a list.
  action: z
    .preprocess((a) => (typeof a === 'string' ? [a] : a), z.array(z.enum(actions as [string, ...string[]])).optional())
    .catch(undefined),
  address: text,
  q: text,
  attempt: number,
  step: text,
})
export type RunSearch = z.infer<typeof runSearch>

export const stateTabs = ['versions', 'diff', 'resources', 'events'] as const

export const stateSearch = z.object({
  tab: z.enum(stateTabs).optional().catch(undefined),
  from: number,
  to: number,
  q: text,
})
export type StateSearch = z.infer<typeof stateSearch>

export const graphSearch = z.object({
  q: text,
  namespace: text,
  focus: text,
  depth: z.coerce.number().int().min(1).max(9).optional().catch(undefined),
  /** Includes Stacks without dependencies. */
  alone: z.preprocess((a) => a === true || a === 'true' || undefined, z.boolean().optional()),
  /** What Stacks are grouped by: namespace, repository or label:KEY; none for no groups. Absent, it depends on their number. */
  group: text,
  /** The groups that are expanded. */
  open: z
    .preprocess((o) => (typeof o === 'string' ? [o] : o), z.array(z.string().max(500)).max(50).optional())
    .catch(undefined),
  /** A drawing with a list, or only the list. Absent, a phone has the list. */
  view: z.enum(['graph', 'list']).optional().catch(undefined),
})
export type GraphSearch = z.infer<typeof graphSearch>
