import type { kinds, Plural } from '../kinds'
import type { Facet, Group } from './client'
import type { components } from './kinds.d'
import type { components as Api } from './schema'

type Kinds = components['schemas']
export type Metadata = Kinds['Metadata']
export type StackObject = Kinds['Stack']
export type StackSetObject = Kinds['StackSet']
export type RunObject = Kinds['Run']
export type RepositoryObject = Kinds['Repository']
export type StateObject = Kinds['State']
export type NotificationObject = Kinds['Notification']
export type PipelineObject = Kinds['Pipeline']
export type PullRequestObject = Kinds['PullRequest']

/** Rows of lists, and objects as Kubernetes has them, of each kind. */
export type Rows = { [K in Plural]: Api['schemas'][(typeof kinds)[K]['kind']] }
export type Objects = { [K in Plural]: Kinds[(typeof kinds)[K]['kind']] }
export type Detail<K extends Plural> = { row: Rows[K]; object: Objects[K] }
export type Page<K extends Plural> = {
  items?: Rows[K][]
  next?: string
  total: number
  facets?: Facet[]
  groups?: Group[]
}

export type Condition = {
  type: string
  status: string
  reason: string
  message: string
  lastTransitionTime: string
  observedGeneration?: number
}

/** A condition by its type. */
export function condition(
  object: { status?: { conditions?: unknown[] } } | undefined,
  type: string,
): Condition | undefined {
  return (object?.status?.conditions as Condition[] | undefined)?.find((c) => c.type === type)
}
