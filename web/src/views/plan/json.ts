import { different } from '../state/compare'
import type { Action, View } from './types'
import { natural } from '../text/natural'

/*
 * What is read of a plan in the engine's own JSON: what has changed outside, and which resources refer to which. It is without
 * secrets already.
 */

type Expressions = unknown
type ConfigModule = {
  resources?: {
    address?: string
    mode?: string
    type?: string
    name?: string
    expressions?: Expressions
    count_expression?: Expressions
    for_each_expression?: Expressions
    depends_on?: string[]
  }[]
  module_calls?: Record<
    string,
    {
      module?: ConfigModule
      expressions?: Record<string, Expressions>
      count_expression?: Expressions
      for_each_expression?: Expressions
      depends_on?: string[]
    }
  >
  outputs?: Record<string, { expression?: Expressions; depends_on?: string[] }>
}
type ResourceChange = {
  address?: string
  previous_address?: string
  module_address?: string
  mode?: string
  type?: string
  name?: string
  change?: { actions?: string[]; before?: unknown; after?: unknown; importing?: unknown }
}
type PlanJSON = {
  resource_changes?: ResourceChange[]
  resource_drift?: ResourceChange[]
  configuration?: { root_module?: ConfigModule }
}

/** What has changed outside, as a plan. */
export function driftOf(json: unknown): View {
  const drift = (json as PlanJSON).resource_drift ?? []
  return {
    changes: drift
      .map((d) => ({
        address: d.address ?? '',
        action: actionOf(d) ?? 'update',
        type: d.type ?? '',
        module: d.module_address ?? '',
        attributes: different(d.change?.before, d.change?.after),
      }))
      .sort((a, b) => natural(a.address, b.address)),
  }
}

function actionOf(c: ResourceChange): Action | undefined {
  const actions = c.change?.actions ?? []
  if (actions.length > 1) return 'replace'
  if (c.change?.importing && actions[0] === 'no-op') return 'import'
  if (c.previous_address && actions[0] === 'no-op') return 'move'
  return actions[0] === undefined || actions[0] === 'no-op' ? undefined : (actions[0] as Action)
}

/** A resource of the code, with what becomes of its instances. */
export type ResourceNode = { id: string; module: string; label: string; counts: Map<Action, number>; instances: number }
/** An edge goes from what is used to what uses it. */
export type Edge = { from: string; to: string }
export type Graph<N, E = Edge> = { nodes: N[]; edges: E[] }

const keys = /\[(?:"(?:[^"\\]|\\.)*"|\d+)\]/g
/** An address without the keys of instances. */
const withoutKeys = (address: string) => address.replace(keys, '')

/** The resources of a plan and their references, according to the code of the plan. */
export function graphOf(json: unknown): Graph<ResourceNode> {
  const plan = json as PlanJSON
  const nodes = new Map<string, ResourceNode>()
  for (const c of plan.resource_changes ?? []) {
    const module = withoutKeys(c.module_address ?? '')
    const label = `${c.mode === 'data' ? 'data.' : ''}${c.type ?? ''}.${c.name ?? ''}`
    const id = join(module, label)
    const node = nodes.get(id) ?? { id, module, label, counts: new Map<Action, number>(), instances: 0 }
    nodes.set(id, node)
    node.instances++
    const action = actionOf(c)
    if (action) node.counts.set(action, (node.counts.get(action) ?? 0) + 1)
  }
  const edges = new Map<string, Edge>()
  const scopes = new Scopes(plan.configuration?.root_module ?? {})
  for (const scope of scopes.all) {
    for (const r of scope.module.resources ?? []) {
      const to = join(scope.path, r.address ?? '')
      if (!nodes.has(to)) continue
      const used = [...references([r.expressions, r.count_expression, r.for_each_expression]), ...(r.depends_on ?? [])]
      for (const from of scopes.resolve(scope, used)) {
        if (from !== to && nodes.has(from)) edges.set(`${from}|${to}`, { from, to })
      }
    }
  }
  return { nodes: [...nodes.values()], edges: [...edges.values()] }
}

const join = (module: string, address: string) => (module === '' ? address : `${module}.${address}`)

/** All that expressions refer to. */
function references(value: unknown): string[] {
  const found: string[] = []
  const walk = (v: unknown) => {
    if (typeof v !== 'object' || v === null) return
    for (const [name, inner] of Object.entries(v)) {
      if (name === 'references' && Array.isArray(inner)) found.push(...inner.filter((r) => typeof r === 'string'))
      else walk(inner)
    }
  }
  walk(value)
  return found
}

type Scope = {
  path: string
  module: ConfigModule
  parent?: Scope
  call?: NonNullable<ConfigModule['module_calls']>[string]
  children: Map<string, Scope>
}

/** The modules of a configuration, each with what it sees. */
class Scopes {
  readonly all: Scope[] = []
  private readonly known = new Map<string, Set<string>>()

  constructor(root: ConfigModule) {
    this.scope('', root)
  }

  private scope(path: string, module: ConfigModule, parent?: Scope, call?: Scope['call']): Scope {
    const scope: Scope = { path, module, children: new Map(), ...(parent && { parent }), ...(call && { call }) }
    this.all.push(scope)
    for (const [name, c] of Object.entries(module.module_calls ?? {})) {
      scope.children.set(name, this.scope(join(path, `module.${name}`), c.module ?? {}, scope, c))
    }
    return scope
  }

  /** The resources that references lead to, also through variables and outputs of modules. */
  resolve(scope: Scope, used: string[]): Set<string> {
    const found = new Set<string>()
    for (const reference of used) for (const id of this.one(scope, reference)) found.add(id)
    return found
  }

  private one(scope: Scope, reference: string): Set<string> {
    const key = `${scope.path}|${reference}`
    const known = this.known.get(key)
    if (known) return known
    const found = new Set<string>()
    this.known.set(key, found) // before it is looked into: references may go round
    const parts = withoutKeys(reference).split('.')
    if (parts[0] === 'var' && scope.parent && scope.call) {
      this.take(found, scope.parent, references(scope.call.expressions?.[parts[1] ?? '']))
    } else if (parts[0] === 'module') {
      const child = scope.children.get(parts[1] ?? '')
      if (child) {
        const outputs = child.module.outputs ?? {}
        const wanted = parts[2] !== undefined ? [outputs[parts[2]]] : Object.values(outputs)
        for (const o of wanted) this.take(found, child, [...references(o?.expression), ...(o?.depends_on ?? [])])
      }
    } else if (parts[0] === 'data') {
      found.add(join(scope.path, parts.slice(0, 3).join('.')))
    } else if (parts.length >= 2) {
      found.add(join(scope.path, parts.slice(0, 2).join('.')))
    }
    return found
  }

  private take(into: Set<string>, scope: Scope, used: string[]): void {
    for (const reference of used) for (const id of this.one(scope, reference)) into.add(id)
  }
}
