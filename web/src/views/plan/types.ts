/** The changes of a plan, as in the API (plan.View). */
export type View = { engineVersion?: string; refreshOnly?: boolean; changes?: Change[]; outputs?: Output[] }

export type Action =
  'delete' | 'replace' | 'forget' | 'invoke' | 'update' | 'create' | 'import' | 'refresh' | 'move' | 'read'

/** Actions as the API sorts them: destructive changes first. */
export const actions: Action[] = [
  'delete',
  'replace',
  'forget',
  'invoke',
  'update',
  'create',
  'import',
  'refresh',
  'move',
  'read',
]

/** Whether a change destroys a resource, also to create it again. */
export const destroys = (c: { action: string }): boolean => c.action === 'delete' || c.action === 'replace'

export type Change = {
  address: string
  previous?: string
  deposed?: string
  action: Action
  createFirst?: boolean
  reason?: string
  type?: string
  module?: string
  provider?: string
  importing?: string
  attributes?: Attribute[]
  unchanged?: number
}

export type Output = { name: string; action: Action; attributes?: Attribute[] }

export type Attribute = {
  path: string
  before?: unknown
  after?: unknown
  sensitive?: boolean
  unknown?: boolean
  forces?: boolean
}

/** Words and signs of an action. */
type Words = { sign: string; will: string; done: string; past?: string; tone: Tone }
const words: Partial<Record<Action, Words>> = {
  delete: { sign: '-', will: 'will be destroyed', done: 'destroy', past: 'removed', tone: 'bad' },
  replace: { sign: '-/+', will: 'will be replaced', done: 'replace', tone: 'bad' },
  forget: { sign: '.', will: 'is removed from the state, but not destroyed', done: 'forget', tone: 'warn' },
  invoke: { sign: '!', will: 'will be invoked', done: 'invoke', past: 'invoked', tone: 'warn' },
  update: { sign: '~', will: 'will be changed', done: 'change', past: 'changed', tone: 'warn' },
  create: { sign: '+', will: 'will be created', done: 'add', past: 'added', tone: 'good' },
  import: { sign: '&', will: 'will be imported', done: 'import', tone: 'good' },
  refresh: {
    sign: '<~',
    will: 'changed outside of Cairn, and the state will have this',
    done: 'refresh',
    past: 'refreshed in the state',
    tone: 'busy',
  },
  move: { sign: '>', will: 'is moved', done: 'move', past: 'moved', tone: 'busy' },
  read: { sign: '<=', will: 'is read during the apply', done: 'read', tone: 'busy' },
}

export type Tone = 'good' | 'warn' | 'bad' | 'busy'

/** The colors of tones. */
export const toneText: Record<Tone, string> = {
  good: 'text-good',
  warn: 'text-warn',
  bad: 'text-bad',
  busy: 'text-busy',
}

/** The words of an action; also of one that this page does not know yet. */
export function wordOf(action: Action): Words {
  return words[action] ?? { sign: '?', will: action, done: action, tone: 'warn' }
}

/** The word of an action: what a plan would do or, with past, what was done. */
export function doneWord(action: Action, past: boolean): string {
  const { done, past: was = done } = wordOf(action)
  return past ? was : done
}
