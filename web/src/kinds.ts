import type { LucideIcon } from 'lucide-react'
import { Activity, Bell, Blocks, Boxes, CircleStop, Database, GitBranch, GitPullRequest, Route } from 'lucide-react'
import { inWords } from './ui/tone'
import { safe } from './views/text/escape'

/** A field to filter a list by. */
export type Filter = {
  label: string
  /** Whether a value that the server does not list can be typed. */
  free?: boolean
  /** How a value is shown. */
  word?: (value: string) => string
}

type Kind = {
  /** The name in the API of Kubernetes. */
  kind: string
  /** The name of the page, and in a sentence. */
  label: string
  many?: string
  /** The second key of the shortcut to the page, after g. A kind without it is not in the navigation: pages link to it. */
  key?: string
  /** Whether the navigation of a phone leaves the page out: it has no room for all. */
  wide?: boolean
  icon: LucideIcon
  /** Whether the command palette finds objects by their names. */
  found?: boolean
  /** What the list is filtered by, and filters that are on or off. A page of its own has its own filters. */
  filters: Record<string, Filter>
  flags?: Record<string, string>
  /** What the list is sorted by first. */
  sort: string
}

const namespace: Filter = { label: 'Namespace', free: true }
const stack: Filter = { label: 'Stack', free: true }

/** The kinds of objects by their names in routes and in the API. Lists, sidebar, command palette and live changes read it. */
export const kinds = {
  stacks: { kind: 'Stack', label: 'Stacks', key: 's', icon: Boxes, found: true, filters: {}, sort: 'name' },
  stacksets: {
    kind: 'StackSet',
    label: 'StackSets',
    key: 'n',
    icon: Blocks,
    found: true,
    filters: {
      namespace,
      ready: { label: 'Ready' },
      reason: { label: 'Reason', word: inWords },
      mode: { label: 'Mode' },
      repository: { label: 'Repository', free: true },
    },
    sort: 'name',
  },
  runs: {
    kind: 'Run',
    label: 'Runs',
    key: 'r',
    icon: Activity,
    found: true,
    filters: { phase: { label: 'Phase', word: inWords }, namespace, stack },
    sort: '-created',
  },
  states: {
    kind: 'State',
    label: 'States',
    key: 't',
    icon: Database,
    filters: { namespace },
    flags: { locked: 'Locked', rescued: 'To be rescued' },
    sort: 'name',
  },
  repositories: {
    kind: 'Repository',
    label: 'Repositories',
    key: 'p',
    icon: GitBranch,
    found: true,
    filters: { namespace, ready: { label: 'Ready' } },
    sort: 'name',
  },
  pullrequests: {
    kind: 'PullRequest',
    label: 'Pull requests',
    many: 'pull requests',
    key: 'q',
    icon: GitPullRequest,
    found: true,
    filters: {
      phase: { label: 'Phase', word: inWords },
      namespace,
      repository: { label: 'Repository', free: true },
      author: { label: 'Author', free: true, word: safe },
      stack,
    },
    sort: '-updated',
  },
  notifications: {
    kind: 'Notification',
    label: 'Notifications',
    key: 'm',
    icon: Bell,
    filters: { namespace, ready: { label: 'Ready' }, destination: { label: 'Destination' } },
    sort: 'name',
  },
  driftpauses: {
    kind: 'DriftPause',
    label: 'Drift pauses',
    many: 'drift pauses',
    icon: CircleStop,
    filters: { namespace, ready: { label: 'Ready' } },
    sort: 'name',
  },
  pipelines: {
    kind: 'Pipeline',
    label: 'Pipelines',
    key: 'l',
    wide: true,
    icon: Route,
    found: true,
    filters: {
      namespace,
      ready: { label: 'Ready' },
      reason: { label: 'Reason', word: inWords },
      repository: { label: 'Repository', free: true },
    },
    sort: 'name',
  },
} as const satisfies Record<string, Kind>

export type Plural = keyof typeof kinds
export const plurals = Object.keys(kinds) as Plural[]

/** A kind, without what only one has. */
export const kindOf = (plural: Plural): Kind => kinds[plural]

type KeysOf<T> = T extends unknown ? keyof T & string : never
type FlagsOf<T> = T extends { flags: infer F } ? keyof F & string : never
/** The parameters that lists are filtered by. */
export type FilterField = KeysOf<(typeof kinds)[Plural]['filters']>
export type FlagField = FlagsOf<(typeof kinds)[Plural]>

const fieldsOf = (of: (kind: Kind) => object) => [...new Set(plurals.flatMap((p) => Object.keys(of(kindOf(p)))))]
export const filterFields = fieldsOf((k) => k.filters) as FilterField[]
export const flagFields = fieldsOf((k) => k.flags ?? {}) as FlagField[]
