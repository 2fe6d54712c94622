import { describe, expect, it } from 'vitest'
import type { Stack } from '../../api/client'
import { besideAll } from './grid'
import { choices, grouped, isGroup, summary } from './groups'
import { byLayer } from './StackList'
import { graphOfStacks, layersOf, matches, near, part } from './stacks'
import { edgeLabel, outputsText, relations } from './words'

const stack = (id: string, ...uses: string[]): Stack => {
  const [namespace = '', name = ''] = id.split('/')
  return { namespace, name, uses } as Stack
}
const graph = graphOfStacks([
  stack('a/vpc'),
  stack('a/cluster', 'vpc', 'vpc', 'gone'),
  stack('a/app', 'cluster'),
  stack('a/dns', 'vpc'),
  stack('a/alone', 'alone'),
  stack('b/vpc'),
])
const ids = (g: typeof graph) => g.nodes.map((n) => n.id)
const all = { depth: 2, alone: true }

describe('the graph of Stacks', () => {
  it('has edges from dependencies to dependents within a namespace', () => {
    expect(graph.edges).toEqual([
      { from: 'a/vpc', to: 'a/cluster', outputs: [] },
      { from: 'a/gone', to: 'a/cluster', outputs: [] },
      { from: 'a/cluster', to: 'a/app', outputs: [] },
      { from: 'a/vpc', to: 'a/dns', outputs: [] },
    ])
    expect(graph.nodes[0]?.usedBy).toEqual(['a/cluster', 'a/dns'])
  })
  it('has edges to Stacks of other namespaces, which have their namespace in words', () => {
    const used = [{ stack: 'b/vpc', output: 'id', variable: 'id' }]
    const shop = { ...stack('a/shop', 'vpc', 'b/vpc'), usedOutputs: used }
    const both = graphOfStacks([stack('a/vpc'), shop, stack('b/vpc')])
    expect(both.edges).toEqual([
      { from: 'a/vpc', to: 'a/shop', outputs: [] },
      { from: 'b/vpc', to: 'a/shop', outputs: used },
    ])
    const words = both.nodes.map(relations)
    expect(words).toEqual(['required by shop', 'depends on vpc (order only), b/vpc (id)', 'required by a/shop'])
  })
  it('has a node without a row for a Stack that is not found', () => {
    const missing = graph.nodes.filter((n) => !n.stack)
    expect(missing).toEqual([{ id: 'a/gone', namespace: 'a', name: 'gone', uses: [], usedBy: ['a/cluster'] }])
    expect(graph.nodes.filter((n) => matches(n, 'not found')).map((n) => n.id)).toEqual(['a/gone'])
  })
  it('names the outputs that an edge passes, and not those of another edge', () => {
    const used = [
      { stack: 'vpc', output: 'id', variable: 'vpc' },
      { stack: 'dns', output: 'zone', variable: 'zone' },
      { stack: 'vpc', output: 'zone', variable: 'zone' },
    ]
    const app = { ...stack('a/app', 'vpc', 'dns', 'log'), usedOutputs: used }
    const { edges } = graphOfStacks([app, stack('a/vpc'), stack('a/dns'), stack('a/log')])
    expect(edges.map((e) => [e.from, outputsText(e.outputs), edgeLabel(e.outputs)])).toEqual([
      ['a/vpc', 'id → var.vpc, zone', 'id, zone'],
      ['a/dns', 'zone', 'zone'],
      ['a/log', 'order only', undefined],
    ])
  })
  it('has short labels of safe text', () => {
    const outputs = ['a'.repeat(40), 'b\u202e', 'c', 'd'].map((output) => ({ stack: 'vpc', output, variable: 'x' }))
    expect(edgeLabel(outputs)).toBe(`${'a'.repeat(21)}…, b\\u202e and 2 more`)
    expect(outputsText([{ stack: 'vpc', output: 'b\u202e', variable: 'x' }])).toBe('b\\u202e → var.x')
    expect([edgeLabel([{ stack: 'db' }]), outputsText([{ stack: 'db' }])]).toEqual(['any output', 'any output'])
  })
  it('is split into components', () => {
    expect(ids(part(graph, { ...all, alone: false }))).toEqual(['a/vpc', 'a/cluster', 'a/app', 'a/dns', 'a/gone'])
    expect(ids(part(graph, { ...all, namespace: 'b' }))).toEqual(['b/vpc'])
    expect(graph.nodes.filter((n) => matches(n, 'A/ vpc')).map((n) => n.id)).toEqual(['a/vpc'])
  })
  it('around one Stack has its dependencies and dependents', () => {
    expect([...(near(graph, 'a/cluster', 1) ?? [])].sort()).toEqual(['a/app', 'a/cluster', 'a/gone', 'a/vpc'])
    expect([...(near(graph, 'a/app', 1) ?? [])].sort()).toEqual(['a/app', 'a/cluster'])
    expect(ids(part(graph, { ...all, focus: 'a/app', depth: 9 }))).toEqual(['a/vpc', 'a/cluster', 'a/app', 'a/gone'])
    expect(near(graph, 'none/there', 1)).toBeUndefined()
  })
  it('has layers by the longest chain of dependencies', () => {
    const more = graphOfStacks([stack('a/d', 'a', 'c'), stack('a/c', 'b'), stack('a/b', 'a'), stack('a/a')])
    expect(Object.fromEntries(layersOf(more))).toEqual({ 'a/a': 1, 'a/b': 2, 'a/c': 3, 'a/d': 4 })
  })
  it('is listed by layer, last what has no dependencies', () => {
    expect(byLayer(graph.nodes, layersOf(graph)).map((l) => [l.heading, l.node.id])).toEqual([
      ['Layer 1 (2)', 'a/gone'],
      [undefined, 'a/vpc'],
      ['Layer 2 (2)', 'a/cluster'],
      [undefined, 'a/dns'],
      ['Layer 3 (1)', 'a/app'],
      ['No dependencies (2)', 'a/alone'],
      [undefined, 'b/vpc'],
    ])
  })
  it('with a cycle is finite', () => {
    const cycle = graphOfStacks([stack('a/x', 'y'), stack('a/y', 'x'), stack('a/z', 'y')])
    expect(Math.max(...layersOf(cycle).values())).toBeLessThan(4)
    const round = graphOfStacks([stack('a/x', 'y'), stack('a/y', 'x')])
    expect([...(near(round, 'a/x', 9) ?? [])].sort()).toEqual(['a/x', 'a/y'])
  })
})

describe('groups of Stacks', () => {
  const of = (id: string, labels: string[], more: Partial<Stack> = {}, ...uses: string[]): Stack => ({
    ...stack(id, ...uses),
    ready: 'True',
    labels,
    ...more,
  })
  const teams = graphOfStacks([
    of('a/net', ['team=base'], {}, 'gone'),
    of('a/dns', ['team=base'], { ready: 'False', reason: 'RunFailed' }, 'net'),
    of('a/app', ['team=shop'], { usedOutputs: [{ stack: 'net', output: 'id', variable: 'id' }] }, 'net', 'dns'),
    of('b/app', ['team=shop'], { ready: 'Unknown', reason: 'Running' }),
    of('b/one', ['team=one']),
  ])
  const names = (expanded: string[]) =>
    grouped(teams, 'label:team', expanded).nodes.map((n) => (isGroup(n) ? `${n.value}*${n.members.length}` : n.id))

  it('are one node each with the edges between them, and the rest stays', () => {
    expect(names([])).toEqual(['base*2', 'shop*2', 'b/one', 'a/gone'])
    expect(grouped(teams, 'label:team', []).edges).toEqual([
      { from: 'a/gone', to: 'group:base', outputs: [] },
      { from: 'group:base', to: 'group:shop', outputs: [{ stack: 'net', output: 'id', variable: 'id' }] },
    ])
  })
  it('expand one by one', () => {
    expect(names(['base'])).toEqual(['a/net', 'a/dns', 'shop*2', 'b/one', 'a/gone'])
    expect(grouped(teams, 'label:team', ['base']).edges.map((e) => `${e.from} ${e.to}`)).toEqual([
      'a/gone a/net',
      'a/net a/dns',
      'a/net group:shop',
      'a/dns group:shop',
    ])
  })
  it('count what is ready and what fails, and have the worst tone', () => {
    const groups = grouped(teams, 'label:team', []).nodes.filter(isGroup)
    expect(groups.map(summary)).toEqual([
      { tone: 'bad', text: '1 failing, 1 ready' },
      { tone: 'busy', text: '1 in progress, 1 ready' },
    ])
  })
  it('are by what has several values', () => {
    expect(choices(teams.nodes)).toEqual(['namespace', 'label:team'])
    expect(choices(teams.nodes.filter((n) => n.id === 'b/one'))).toEqual([])
  })
})

describe('nodes without edges', () => {
  const ids = Array.from({ length: 200 }, (_, i) => `${i}`)
  const size = (places: { x: number; y: number }[]) => [
    new Set(places.map((p) => p.x)).size,
    new Set(places.map((p) => p.y)).size,
  ]
  it('are in a grid about as wide as a screen', () => {
    expect(size([...besideAll(new Map(), ids).values()])).toEqual([10, 20])
  })
  it('are below the others, and as wide as these', () => {
    const places = besideAll(new Map([['a', { x: 4_000, y: 500 }]]), ids)
    const grid = ids.map((id) => places.get(id)!)
    expect(size(grid)).toEqual([19, 11])
    expect(Math.min(...grid.map((p) => p.y))).toBeGreaterThan(546)
  })
})
