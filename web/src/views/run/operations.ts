import type { RunObject } from '../../api/kinds'
import type { StreamState } from '../logs/stream'
import { followLog } from '../logs/stream'
import type { Action, Change } from '../plan/types'

type Attempt = NonNullable<NonNullable<RunObject['status']>['attempts']>[number]

/** What an apply did to one resource, as its runner reported it. Done are the actions that succeeded: of a replacement there are two. */
export type Progress = { action: string; from: string; to?: string; running: boolean; failed: boolean; done: string[] }

/** So many resources are kept at most. */
const mostResources = 50_000
/** A line is not longer. */
const longestLine = 1 << 20

/** The operations of an apply by resource, from lines of JSON. */
export class Operations {
  readonly resources = new Map<string, Progress>()
  /** Whether lines are missing: then a resource without an operation may have had some. */
  incomplete = false
  private rest = ''

  add(text: string): void {
    const lines = (this.rest + text).split('\n')
    this.rest = lines.pop() ?? ''
    if (this.rest.length > longestLine) {
      this.rest = ''
      this.incomplete = true
    }
    for (const line of lines) if (line !== '' && !this.addLine(line)) this.incomplete = true
  }

  /** Adds a line, unless it is none: the runner reports lines that it had to leave out as text. */
  private addLine(line: string): boolean {
    const o = parse(line)
    if (!o) return false
    const before = this.resources.get(o.address)
    if (!before && this.resources.size >= mostResources) return false
    const p = before ?? { action: o.action, from: o.at, running: false, failed: false, done: [] }
    this.resources.set(o.address, p)
    p.running = o.state === 'Started'
    p.failed ||= o.state === 'Failed'
    if (o.state === 'Succeeded') p.done.push(o.action)
    if (o.state === 'Started') delete p.to
    else p.to = o.at
    return true
  }
}

function parse(line: string): { at: string; address: string; action: string; state: string } | undefined {
  try {
    const o = JSON.parse(line) as Record<string, unknown>
    const { at, address, action, state } = o
    if ([at, address, action, state].some((v) => typeof v !== 'string')) return undefined
    return o as { at: string; address: string; action: string; state: string }
  } catch {
    return undefined
  }
}

export type ResourceState = 'failed' | 'unknown' | 'running' | 'pending' | 'done'
const states: ResourceState[] = ['failed', 'unknown', 'running', 'pending', 'done']

/** A resource that an apply changes. Half is the action of a replacement that alone was done. */
export type Resource = {
  address: string
  action: Action
  state: ResourceState
  from?: string
  to?: string
  half?: string
}

/** The actions of a plan that are operations of its apply. */
const operates = new Set<Action>(['delete', 'replace', 'update', 'create'])

/**
 * The resources of an apply, failed ones and those in progress first. Without the changes of its plan, they are the reported ones.
 * Once the attempt is over, nothing is in progress: what the runner did not report to its end is unknown, unless all succeeded.
 */
export function resourcesOf(planned: Change[] | undefined, operations: Operations, attempt: Attempt): Resource[] {
  const expected = new Map<string, { action: Action; operations: number }>()
  for (const c of planned ?? []) {
    if (!operates.has(c.action)) continue
    const was = expected.get(c.address)
    const n = (was?.operations ?? 0) + (c.action === 'replace' ? 2 : 1)
    expected.set(c.address, { action: was?.action ?? c.action, operations: n })
  }
  for (const [address, p] of operations.resources) {
    if (!expected.has(address)) expected.set(address, { action: p.action as Action, operations: p.done.length || 1 })
  }
  const over = attempt.finishedAt !== undefined
  const succeeded = over && !attempt.failure
  const skipped =
    attempt.changed === 0 || attempt.steps?.some((s) => s.name === 'apply' && s.state === 'Skipped') === true
  const complete = !operations.incomplete && (operations.resources.size > 0 || skipped)
  const stateOf = (p: Progress | undefined, wanted: number): ResourceState => {
    if (p?.failed) return 'failed'
    if (succeeded || (p && !p.running && p.done.length >= wanted)) return 'done'
    if (p) return over ? 'unknown' : 'running'
    return over && !complete ? 'unknown' : 'pending'
  }
  const all = [...expected].map(([address, { action, operations: wanted }]): Resource => {
    const p = operations.resources.get(address)
    const state = stateOf(p, wanted)
    const half = state !== 'done' && state !== 'running' && p?.done.length ? p.done[0] : undefined
    return { address, action, state, ...(p && { from: p.from, ...(p.to && { to: p.to }) }), ...(half && { half }) }
  })
  return all.sort((a, b) => states.indexOf(a.state) - states.indexOf(b.state))
}

/** How far an apply is: 12 of 70 done, 3 in progress. */
export function progressText(resources: Resource[]): string {
  const count = (state: ResourceState) => resources.filter((r) => r.state === state).length
  const number = (n: number) => n.toLocaleString('en')
  return [
    `${number(count('done'))} of ${number(resources.length)} done`,
    ...(['running', 'failed', 'unknown'] as const)
      .filter((state) => count(state) > 0)
      .map((state) => `${number(count(state))} ${state === 'running' ? 'in progress' : state}`),
  ].join(', ')
}

/** Follows the operations of an apply, for React. It changes version at most some times a second. */
export class OperationsFeed {
  readonly operations = new Operations()
  state: StreamState = { kind: 'connecting' }
  private version = 0
  private offset = '0'
  private timer: ReturnType<typeof setTimeout> | undefined
  private readonly listeners = new Set<() => void>()
  private readonly path: string

  constructor(path: string) {
    this.path = path
  }

  readonly start = (): (() => void) => {
    const close = followLog(this.path, {
      from: this.offset,
      onText: (text, offset) => {
        this.offset = offset
        this.operations.add(text)
        this.changed()
      },
      onState: (state) => {
        this.state = state
        this.changed()
      },
    })
    return () => {
      close()
      clearTimeout(this.timer)
      this.timer = undefined
    }
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  readonly snapshot = (): number => this.version

  private changed(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined
      this.version++
      for (const listener of this.listeners) listener()
    }, 250)
  }
}
