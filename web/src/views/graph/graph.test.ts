import { describe, expect, it } from 'vitest'
import type { Stack } from '../../api/client'
import { graphOfStacks, near, part } from './stacks'
import { edgeLabel, outputsText } from './words'

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
  it('has a node without a row for a Stack that is not found', () => {
    const missing = graph.nodes.filter((n) => !n.stack)
    expect(missing).toEqual([{ id: 'a/gone', namespace: 'a', name: 'gone', uses: [], usedBy: ['a/cluster'] }])
    expect(ids(part(graph, { ...all, q: 'not found' }))).toEqual(['a/gone'])
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
    const found = part(graph, { ...all, q: 'A/ vpc' })
    expect([ids(found), found.edges]).toEqual([['a/vpc'], []])
  })
  it('around one Stack has its dependencies and dependents', () => {
    expect([...(near(graph, 'a/cluster', 1) ?? [])].sort()).toEqual(['a/app', 'a/cluster', 'a/gone', 'a/vpc'])
    expect([...(near(graph, 'a/app', 1) ?? [])].sort()).toEqual(['a/app', 'a/cluster'])
    expect(ids(part(graph, { ...all, focus: 'a/app', depth: 9 }))).toEqual(['a/vpc', 'a/cluster', 'a/app', 'a/gone'])
    expect(near(graph, 'none/there', 1)).toBeUndefined()
  })
  it('with a cycle is finite', () => {
    const round = graphOfStacks([stack('a/x', 'y'), stack('a/y', 'x')])
    expect([...(near(round, 'a/x', 9) ?? [])].sort()).toEqual(['a/x', 'a/y'])
  })
})
