/*
 * Reads a state as `cairn state` does (internal/cli/statefile): which resources it has, and their attributes with what is secret
 * in them as Secret. A Secret is never shown; it is compared.
 */

import { Exact, parseExactly, writeExactly } from '../text/exact'
import { natural } from '../text/natural'

/** A value that the screen shows only on request. */
export class Secret {
  readonly #value: unknown
  constructor(value: unknown) {
    this.#value = value
  }
  /** Whether both hide the same. */
  same(other: unknown): boolean {
    return other instanceof Secret && equal(this.#value, other.#value)
  }
  /** A text that only the same value has: to compare it, never to show it. */
  key(): string {
    return writeExactly(this.#value ?? null)
  }
  toJSON(): string {
    return '(sensitive)'
  }
}

export type Resource = {
  address: string
  module: string
  mode: string
  type: string
  provider: string
  deposed: string
  tainted: boolean
  attributes: unknown
}

export type Statefile = {
  engine: string
  serial: number
  lineage: string
  outputs: Record<string, unknown>
  resources: Resource[]
}

type Step = { type?: string; value?: unknown }
type Instance = {
  index_key?: string | number
  status?: string
  deposed?: string
  attributes?: unknown
  attributes_flat?: Record<string, string>
  sensitive_attributes?: Step[][]
}
type File = {
  version?: number
  terraform_version?: string
  encryption_version?: string
  serial?: number
  lineage?: string
  outputs?: Record<string, { value?: unknown; sensitive?: boolean }>
  resources?: {
    module?: string
    mode?: string
    type?: string
    name?: string
    provider?: string
    instances?: Instance[]
  }[]
}

/** Reads a state of format 4. The error is a sentence. */
export function parseState(text: string): Statefile {
  const file = parseExactly(text) as File
  if (file.encryption_version) {
    throw new Error(
      'The engine encrypted this state: only an engine that has the key can read it, as with `cairn state pull` and `tofu show`.',
    )
  }
  if (file.version !== 4) throw new Error(`The state has format ${String(file.version)}; known is 4.`)
  const secrets = new Set<string>()
  for (const o of Object.values(file.outputs ?? {})) if (o.sensitive) leaves(o.value, secrets)
  for (const r of file.resources ?? []) {
    for (const i of r.instances ?? [])
      for (const way of i.sensitive_attributes ?? []) leaves(at(i.attributes, way), secrets)
  }
  const outputs: Record<string, unknown> = {}
  for (const [name, o] of Object.entries(file.outputs ?? {})) {
    outputs[name] = o.sensitive ? new Secret(o.value) : mask(o.value, [], isSecretName(name), secrets)
  }
  const resources: Resource[] = []
  for (const r of file.resources ?? []) {
    for (const i of r.instances ?? []) {
      resources.push({
        address: addressOf(r, i),
        module: r.module ?? '',
        mode: r.mode ?? 'managed',
        type: r.type ?? '',
        provider: r.provider ?? '',
        deposed: i.deposed ?? '',
        tainted: i.status === 'tainted',
        attributes: mask(i.attributes ?? i.attributes_flat ?? null, i.sensitive_attributes ?? [], false, secrets),
      })
    }
  }
  resources.sort((a, b) => byAddress(a, b))
  return {
    engine: file.terraform_version ?? '',
    serial: file.serial ?? 0,
    lineage: file.lineage ?? '',
    outputs,
    resources,
  }
}

function byAddress(a: Resource, b: Resource): number {
  return natural(a.module, b.module) || natural(a.mode, b.mode) || natural(a.address, b.address)
}

function addressOf(r: NonNullable<File['resources']>[number], i: Instance): string {
  const key = i.index_key === undefined ? '' : `[${JSON.stringify(i.index_key)}]`
  return `${r.module ? r.module + '.' : ''}${r.mode === 'data' ? 'data.' : ''}${r.type}.${r.name}${key}`
}

const secretName =
  /password|passwd|passphrase|secret|token|private_key|privatekey|access_key|api_key|apikey|credential|connection_string/i

/** Whether a name indicates a secret. Engines do not store in the state which attributes providers mark as sensitive. */
const isSecretName = (name: string) => secretName.test(name)

/** The shortest text that is hidden wherever it is, as part of another one too; shorter ones only where they are marked. */
const shortest = 4

function leaves(value: unknown, into: Set<string>): void {
  if (typeof value === 'string') {
    if (value.length >= shortest) into.add(value)
  } else if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) leaves(inner, into)
  }
}

function keyOf(step: Step): string {
  const v = step.value
  return String(typeof v === 'object' && v !== null && 'value' in v ? v.value : v)
}

function at(value: unknown, way: Step[]): unknown {
  let here = value
  for (const step of way) {
    here = dynamic(here)?.value ?? here
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, keyOf(step))) return here // all of it is hidden
    here = (here as Record<string, unknown>)[keyOf(step)]
  }
  return here
}

/** The value of what may have any type: it is written as {"value": ..., "type": ...}. */
function dynamic(value: unknown): { value: unknown; type: unknown } | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || Object.keys(value).length !== 2)
    return undefined
  const v = value as { value?: unknown; type?: unknown }
  return 'value' in v && isType(v.type) ? { value: v.value, type: v.type } : undefined
}

function isType(v: unknown): boolean {
  if (Array.isArray(v)) return v.length === 2 && ['list', 'set', 'map', 'object', 'tuple'].includes(String(v[0]))
  return typeof v === 'string' && ['string', 'number', 'bool', 'dynamic'].includes(v)
}

/** Hides the values at paths, values with names that indicate a secret, and texts that contain a known secret. A path without a value hides everything. */
function mask(value: unknown, ways: Step[][], named: boolean, secrets: Set<string>): unknown {
  const inner = dynamic(value)
  if (inner) return mask(inner.value, ways, named, secrets)
  const into = new Map<string, Step[][]>()
  for (const way of ways) {
    const [step, ...rest] = way
    if (!step || typeof value !== 'object' || value === null || !Object.hasOwn(value, keyOf(step)))
      return new Secret(value)
    into.set(keyOf(step), [...(into.get(keyOf(step)) ?? []), rest])
  }
  if (value instanceof Exact) return value
  if (Array.isArray(value)) return value.map((v, i) => mask(v, into.get(String(i)) ?? [], named, secrets))
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([k, v]) => [k, mask(v, into.get(k) ?? [], named || isSecretName(k), secrets)]),
    )
  }
  if (typeof value === 'string' && value !== '' && (named || has(value, secrets))) return new Secret(value)
  return value
}

function has(text: string, secrets: Set<string>): boolean {
  if (secrets.has(text)) return true
  for (const secret of secrets) if (text.includes(secret)) return true
  return false
}

/** Whether two values are the same, also where they are hidden. */
export function equal(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true
  if (a instanceof Secret) return a.same(b)
  if (b instanceof Secret || typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const names = Object.keys(a)
  return (
    names.length === Object.keys(b).length &&
    names.every(
      (n) => Object.hasOwn(b, n) && equal((a as Record<string, unknown>)[n], (b as Record<string, unknown>)[n]),
    )
  )
}
