import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { countActions, filtered, noFilter } from './filter'
import { driftOf, graphOf } from './json'
import type { Row, Toggled } from './rows'
import { changeKey, destroyedKey, foldable, moduleKey, notesOf, reviewOf, rowsOf } from './rows'
import { difference } from './TextDiff'
import type { View } from './types'
import { brief, sides, texts } from './values'

const recorded = (name: string) => JSON.parse(readFileSync(`src/views/testdata/${name}.json`, 'utf8')) as View
const rows = (view: View, toggled: Toggled = new Set()) => rowsOf(view.changes ?? [], view.outputs ?? [], toggled)
const change = (name: string, address: string) => {
  const found = recorded(name).changes?.find((c) => c.address === address)
  if (!found) throw new Error(`${name} has no ${address}`)
  return found
}

describe('the rows of a plan', () => {
  it('are grouped by module, and collapsed at first', () => {
    const moved = recorded('moved')
    expect(rows(moved).map((r) => [r.kind, r.key])).toEqual([
      ['module', 'm:'],
      ['change', 'c:terraform_data.changes|'],
      ['change', 'c:terraform_data.new|'],
      ['module', 'm:module.m'],
      ['change', 'c:module.m.terraform_data.into|'],
    ])
    expect(rows(moved, new Set([moduleKey('')])).filter((r) => r.kind === 'change')).toHaveLength(1)
  })
  it('have notes and attributes where they are expanded', () => {
    const view = recorded('replace')
    const key = changeKey(change('replace', 'terraform_data.first'))
    const open = rows(view, new Set([key]))
    expect(
      open.filter((r): r is Row & { kind: 'attribute' } => r.kind === 'attribute').map((r) => r.attribute.path),
    ).toEqual(['id', 'triggers_replace[1]'])
    expect(new Set(open.map((r) => r.key)).size).toBe(open.length)
  })
  it('show what forces a replacement, is moved, imported and forgotten', () => {
    expect(notesOf(change('replace', 'terraform_data.first'))).toEqual([
      'because it cannot be changed in place',
      'forced by triggers_replace[1]',
      'the new one is created before the old one is destroyed',
    ])
    expect(notesOf(change('moved', 'terraform_data.new'))).toEqual(['moved from terraform_data.old'])
    expect(notesOf(change('imported', 'terraform_data.same'))).toEqual(['imported by 5f0c'])
  })
  const deleted = (module: string, n: number) =>
    Array.from({ length: n }, (_, i) => ({
      address: `${module ? `${module}.` : ''}a.b[${i}]`,
      module,
      action: 'delete' as const,
      attributes: [{ path: 'id', before: i }],
    }))
  it('of a review begin with what is destroyed and replaced in all modules, the first 50 unfolded', () => {
    const kept = { address: 'a.kept', module: '', action: 'update' as const, attributes: [{ path: 'id' }] }
    const replaced = { address: 'module.m.a.c', module: 'module.m', action: 'replace' as const }
    const changes = [...deleted('', 30), ...deleted('module.m', 30), replaced, kept]
    const shown = rowsOf(changes, [], new Set(), reviewOf(changes))
    expect(shown.filter((r) => r.kind === 'destroyed' || r.kind === 'module').map((r) => r.key)).toEqual([
      destroyedKey,
      moduleKey(''),
    ])
    const found = shown.filter((r) => r.kind === 'change')
    expect(found.map((r) => r.change)).toEqual(changes)
    expect(found.map((r) => r.open)).toEqual(found.map((_, i) => i < 50))
    expect(shown.filter((r) => r.kind === 'attribute')).toHaveLength(50)
    const folded = rowsOf(changes, [], new Set([destroyedKey]), reviewOf(changes))
    expect(folded.filter((r) => r.kind === 'change').map((r) => r.change)).toEqual([kept])
  })
  it('of a review without such changes are those of any plan', () => {
    const { changes = [], outputs = [] } = recorded('moved')
    expect(rowsOf(changes, outputs, new Set(), reviewOf(changes))).toEqual(rowsOf(changes, outputs, new Set()))
  })
  it('have modules in the order of their numbers', () => {
    const modules = ['module.m[10]', 'module.m[9]', 'module.m["a"]', '']
    const changes = modules.map((module) => ({ address: `${module}.a.b`, module, action: 'create' as const }))
    expect(rows({ changes }).filter((r) => r.kind === 'module')).toMatchObject(
      ['', 'module.m["a"]', 'module.m[9]', 'module.m[10]'].map((module) => ({ module })),
    )
  })
  it('of 10,000 changes are computed fast', () => {
    const changes = Array.from({ length: 10_000 }, (_, i) => ({
      address: `module.m${i % 50}.a.b[${i}]`,
      module: `module.m${i % 50}`,
      action: 'create' as const,
      attributes: [{ path: 'id', unknown: true }],
    }))
    expect(rows({ changes })).toHaveLength(10_050)
    expect(rows({ changes }, new Set(foldable(changes, [])))).toHaveLength(20_050)
  })
})

describe('the filter of a plan', () => {
  const view = recorded('moved')
  const addresses = (f: Partial<typeof noFilter>) => filtered(view, { ...noFilter, ...f }).changes.map((c) => c.address)
  it('matches action, address and text', () => {
    expect(addresses({})).toHaveLength(3)
    expect(addresses({ actions: ['move'] })).toEqual(['module.m.terraform_data.into', 'terraform_data.new'])
    expect(addresses({ address: 'module.m.*' })).toEqual(['module.m.terraform_data.into'])
    expect(addresses({ address: '*.into' })).toEqual(['module.m.terraform_data.into'])
    expect(addresses({ address: 'terraform_data.old' })).toEqual(['terraform_data.new']) // its previous address
    expect(addresses({ text: 'INPUT changes' })).toEqual(['terraform_data.changes'])
    expect(addresses({ text: 'nowhere' })).toEqual([])
  })
  it('does not match sensitive values', () => {
    const secret: View = {
      changes: [
        { address: 'a.b', action: 'create', attributes: [{ path: 'p', after: '(sensitive value)', sensitive: true }] },
      ],
    }
    expect(filtered(secret, { ...noFilter, text: 'value' }).changes).toEqual([])
  })
  it('counts the changes', () => {
    expect([...countActions(view.changes ?? [])]).toEqual([
      ['update', 1],
      ['move', 2],
    ])
  })
})

describe('values', () => {
  it('hide sensitive and unknown parts', () => {
    for (const c of recorded('sensitive').changes ?? []) {
      for (const a of c.attributes ?? []) {
        if (!a.sensitive) continue
        const { before, after } = sides(a)
        for (const side of [before, after])
          if (side !== undefined) expect(['(sensitive)', '(known after apply)']).toContain(side)
        expect(texts(a)).toBeUndefined()
      }
    }
    expect(sides({ path: 'p', before: 1, unknown: true })).toEqual({ before: '1', after: '(known after apply)' })
    expect(sides({ path: 'p', before: 'secret', after: 'secret2', sensitive: true })).toEqual({
      before: '(sensitive)',
      after: '(sensitive)',
    })
  })
  it('with control characters are on one line, escaped and truncated', () => {
    const hostile = recorded('hostile').changes?.[0]?.attributes ?? []
    for (const a of hostile) {
      const { after } = sides(a)
      // eslint-disable-next-line no-control-regex -- escapes are tested
      expect(after ?? '').not.toMatch(/[\x00-\x1f\x7f\u200b-\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/)
      expect((after ?? '').length).toBeLessThan(1_000)
    }
    expect(brief('x'.repeat(10_000_000))).toMatch(/^"x{400}" … and 9,999,600 characters more$/)
  })
  it('of several lines are compared by line', () => {
    expect(texts({ path: 'p', before: 'a', after: 'b' })).toBeUndefined()
    expect(texts({ path: 'p', before: '{"a":1}', after: '{"a":2,"b":3}' })).toEqual({
      before: '{\n  "a": 1\n}',
      after: '{\n  "a": 2,\n  "b": 3\n}',
    })
    expect(difference('a\nb\nc', 'a\nB\nc')).toEqual([' a', '-b', '+B', ' c'])
    expect(difference('', 'x\n'.repeat(5_000))).toHaveLength(1_001)
  })
})

describe('the JSON of the plan', () => {
  const refer = (...references: string[]) => ({ input: { references } })
  const json = {
    resource_changes: [
      { address: 'a.x', mode: 'managed', type: 'a', name: 'x', change: { actions: ['no-op'] } },
      { address: 'data.d.y', mode: 'data', type: 'd', name: 'y', change: { actions: ['read'] } },
      {
        address: 'module.m["k.]\\"1"].b.z[0]',
        module_address: 'module.m["k.]\\"1"]',
        mode: 'managed',
        type: 'b',
        name: 'z',
        change: { actions: ['delete', 'create'] },
      },
      {
        address: 'module.m["k2"].b.z[0]',
        module_address: 'module.m["k2"]',
        mode: 'managed',
        type: 'b',
        name: 'z',
        change: { actions: ['create'] },
      },
      { address: 'c.last', mode: 'managed', type: 'c', name: 'last', change: { actions: ['update'] } },
    ],
    resource_drift: [
      {
        address: 'a.x',
        type: 'a',
        change: { actions: ['update'], before: { n: 1, same: true }, after: { n: 2, same: true } },
      },
    ],
    configuration: {
      root_module: {
        resources: [
          { address: 'a.x', expressions: {} },
          { address: 'data.d.y', expressions: refer('a.x.id', 'a.x') },
          { address: 'c.last', expressions: { list: [refer('module.m.out', 'module.m')] }, depends_on: ['data.d.y'] },
        ],
        module_calls: {
          m: {
            expressions: { v: { references: ['a.x.id', 'a.x'] } },
            module: {
              resources: [{ address: 'b.z', expressions: refer('var.v', 'var.none', 'local.l') }],
              outputs: { out: { expression: { references: ['b.z'] } } },
            },
          },
        },
      },
    },
  }
  it('has the dependencies of resources, through variables and outputs of modules', () => {
    const graph = graphOf(json)
    expect(graph.nodes.map((n) => [n.id, n.instances, [...n.counts.keys()]])).toEqual([
      ['a.x', 1, []],
      ['data.d.y', 1, ['read']],
      ['module.m.b.z', 2, ['replace', 'create']],
      ['c.last', 1, ['update']],
    ])
    expect(graph.edges.map((e) => `${e.from} ${e.to}`).sort()).toEqual([
      'a.x data.d.y',
      'a.x module.m.b.z',
      'data.d.y c.last',
      'module.m.b.z c.last',
    ])
  })
  it('may have a resource that refers to itself', () => {
    const round = {
      configuration: {
        root_module: {
          module_calls: {
            m: {
              expressions: { v: { references: ['module.m.o'] } },
              module: { outputs: { o: { expression: { references: ['var.v'] } } } },
            },
          },
        },
      },
    }
    expect(graphOf(round).edges).toEqual([])
  })
  it('has the drift', () => {
    expect(driftOf(json).changes).toEqual([
      { address: 'a.x', action: 'update', type: 'a', module: '', attributes: [{ path: 'n', before: 1, after: 2 }] },
    ])
    expect(driftOf({})).toEqual({ changes: [] })
    const many = { resource_drift: [10, 9].map((i) => ({ address: `a.x[${i}]`, change: { actions: ['update'] } })) }
    expect(driftOf(many).changes?.map((c) => c.address)).toEqual(['a.x[9]', 'a.x[10]'])
  })
})
