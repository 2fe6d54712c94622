import { describe, expect, it } from 'vitest'
import type { Stack } from '../../api/client'
import { graphOfStacks, near, part } from './stacks'

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
      { from: 'a/vpc', to: 'a/cluster' },
      { from: 'a/cluster', to: 'a/app' },
      { from: 'a/vpc', to: 'a/dns' },
    ])
    expect(graph.nodes[0]?.usedBy).toEqual(['a/cluster', 'a/dns'])
  })
  it('is split into components', () => {
    expect(ids(part(graph, { ...all, alone: false }))).toEqual(['a/vpc', 'a/cluster', 'a/app', 'a/dns'])
    expect(ids(part(graph, { ...all, namespace: 'b' }))).toEqual(['b/vpc'])
    const found = part(graph, { ...all, q: 'A/ vpc' })
    expect([ids(found), found.edges]).toEqual([['a/vpc'], []])
  })
  it('around one Stack has its dependencies and dependents', () => {
    expect([...(near(graph, 'a/cluster', 1) ?? [])].sort()).toEqual(['a/app', 'a/cluster', 'a/vpc'])
    expect([...(near(graph, 'a/app', 1) ?? [])].sort()).toEqual(['a/app', 'a/cluster'])
    expect(ids(part(graph, { ...all, focus: 'a/app', depth: 9 }))).toEqual(['a/vpc', 'a/cluster', 'a/app'])
    expect(near(graph, 'none/there', 1)).toBeUndefined()
  })
  it('with a cycle is finite', () => {
    const round = graphOfStacks([stack('a/x', 'y'), stack('a/y', 'x')])
    expect([...(near(round, 'a/x', 9) ?? [])].sort()).toEqual(['a/x', 'a/y'])
  })
})
