import * as z from 'zod/mini'
import { lenient } from '../app/search'
import { actions } from './plan/types'

const text = lenient(z.coerce.string().check(z.maxLength(500)))
const number = lenient(z.coerce.number().check(z.int(), z.positive(), z.maximum(2 ** 31)))
/** One is a word, several are a list. */
const list = <T extends z.ZodMiniType>(of: T) =>
  lenient(
    z.pipe(
      z.transform((value: unknown) => (typeof value === 'string' ? [value] : value)),
      z.array(of).check(z.maxLength(50)),
    ),
  )

export const runTabs = ['plan', 'text', 'apply', 'log', 'graph', 'events'] as const

export const runSearch = z.object({
  tab: lenient(z.enum(runTabs)),
  action: list(z.enum(actions as [string, ...string[]])),
  address: text,
  q: text,
  attempt: number,
  step: text,
})
export type RunSearch = z.infer<typeof runSearch>

export const stateTabs = ['versions', 'diff', 'resources', 'events'] as const

export const stateSearch = z.object({
  tab: lenient(z.enum(stateTabs)),
  from: number,
  to: number,
  q: text,
})
export type StateSearch = z.infer<typeof stateSearch>

export const graphSearch = z.object({
  q: text,
  namespace: text,
  focus: text,
  depth: lenient(z.coerce.number().check(z.int(), z.minimum(1), z.maximum(9))),
  /** Includes Stacks without dependencies. */
  alone: lenient(
    z.pipe(
      z.transform((value) => value === true || value === 'true'),
      z.literal(true),
    ),
  ),
  /** What Stacks are grouped by: namespace, repository or label:KEY; none for no groups. Absent, it depends on their number. */
  group: text,
  /** The groups that are expanded. */
  open: list(z.string().check(z.maxLength(500))),
  /** A drawing with a list, or only the list. Absent, a phone has the list. */
  view: lenient(z.enum(['graph', 'list'])),
})
export type GraphSearch = z.infer<typeof graphSearch>
