import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parseExactly, writeExactly } from '../text/exact'
import { compare } from './compare'
import { parseState, Secret } from './statefile'
import { sides } from '../plan/values'
import { size } from './size'

type Instance = Record<string, unknown>
const state = (resources: [string, Instance[]][], outputs: object = {}) =>
  parseState(
    JSON.stringify({
      version: 4,
      terraform_version: '1.12.6',
      serial: 1,
      lineage: 'l',
      outputs,
      resources: resources.map(([name, instances]) => ({
        mode: 'managed',
        type: 'a',
        name,
        provider: 'provider["x/y"]',
        instances,
      })),
    }),
  )

const canary = 'correct horse'

describe('a state', () => {
  it('has its numbers with all digits, and distinguishes them', () => {
    const of = (id: string) =>
      parseState(
        `{"version":4,"resources":[{"mode":"managed","type":"a","name":"b","instances":[{"attributes":{"id":${id}}}]}]}`,
      )
    const view = compare(of('9007199254740992'), of('9007199254740993'))
    const [id] = view.changes?.[0]?.attributes ?? []
    expect(id).toMatchObject({ path: 'id' })
    expect(sides(id!)).toEqual({ before: '9007199254740992', after: '9007199254740993' })
    expect(compare(of('9007199254740993'), of('9007199254740993')).changes).toEqual([])
  })
  it('has its resources with their addresses', () => {
    const s = state([['n', [{ index_key: 10 }, { index_key: 2 }, { index_key: 'k"' }]]])
    expect(s.resources.map((r) => r.address)).toEqual(['a.n["k\\""]', 'a.n[2]', 'a.n[10]'])
  })
  it('hides values that are marked sensitive, equal to one, or have a name of a secret', () => {
    const s = state(
      [
        [
          'n',
          [
            {
              attributes: {
                marked: { inner: canary },
                copy: `the ${canary} is here`,
                password: 'other',
                tags: { api_token: ['t'] },
                open: 'open',
                dynamic: { value: canary, type: 'string' },
              },
              sensitive_attributes: [
                [
                  { type: 'get_attr', value: 'marked' },
                  { type: 'get_attr', value: 'inner' },
                ],
              ],
            },
          ],
        ],
      ],
      { secret: { value: 'quiet one', sensitive: true }, open: { value: 1 } },
    )
    const text = JSON.stringify(s)
    expect(text).not.toContain(canary)
    expect(text).not.toContain('other')
    expect(text).not.toContain('quiet')
    expect(s.resources[0]?.attributes).toMatchObject({ open: 'open', tags: { api_token: [expect.any(Secret)] } })
    expect(s.outputs).toMatchObject({ open: 1 })
  })
  it('hides everything if a sensitive path does not exist', () => {
    const s = state([['n', [{ attributes: { set: [canary] }, sensitive_attributes: [[{ value: 'gone' }]] }]]])
    expect(s.resources[0]?.attributes).toBeInstanceOf(Secret)
  })
  it('that is encrypted, or of another format, is rejected with a message', () => {
    expect(() => parseState('{"encryption_version":"v0"}')).toThrow(/encrypted/)
    expect(() => parseState('{"version":3}')).toThrow(/format 3/)
  })
})

describe('the difference of two states', () => {
  const one = (attributes: object, more: object = {}) => state([['n', [{ attributes, ...more }]]])
  it('is shown as a plan', () => {
    const view = compare(
      state(
        [
          ['gone', [{ attributes: { id: '1' } }]],
          ['n', [{ attributes: { id: '2', x: [1] } }]],
        ],
        { o: { value: 1 } },
      ),
      state(
        [
          ['n', [{ attributes: { id: '2', x: [2] } }]],
          ['new', [{ attributes: { id: '3', none: null } }]],
        ],
        { p: { value: 1 } },
      ),
    )
    expect(view.changes?.map((c) => [c.address, c.action, c.attributes])).toEqual([
      ['a.gone', 'delete', [{ path: 'id', before: '1' }]],
      ['a.n', 'update', [{ path: 'x[0]', before: 1, after: 2 }]],
      ['a.new', 'create', [{ path: 'id', after: '3' }]],
    ])
    expect(view.outputs?.map((o) => [o.name, o.action])).toEqual([
      ['o', 'delete'],
      ['p', 'create'],
    ])
  })
  it('shows that secrets differ, without their values', () => {
    const view = compare(one({ password: canary, same: 1 }), one({ password: canary + '2', same: 1 }))
    expect(view.changes?.[0]?.attributes).toEqual([{ path: 'password', sensitive: true, before: '', after: '' }])
    expect(JSON.stringify(view)).not.toContain(canary)
    expect(compare(one({ password: canary }), one({ password: canary })).changes).toEqual([])
  })
  it('shows tainted resources', () => {
    expect(compare(one({ id: 1 }), one({ id: 1 }, { status: 'tainted' })).changes?.[0]).toMatchObject({
      action: 'update',
      reason: expect.stringContaining('tainted') as string,
    })
  })
})

describe('cairn state diff decides the same', () => {
  type Case = { name: string; from: Spec[]; to: Spec[]; want: string[] }
  type Spec = Record<string, unknown> & { key?: string | number; sensitive?: string[] }
  // Parsed exactly, as a state is.
  const cases = parseExactly(readFileSync('../internal/cli/statefile/testdata/compare.json', 'utf8')) as Case[]
  const build = (specs: Spec[]) =>
    parseState(
      writeExactly({
        version: 4,
        resources: specs.map(({ key, attributes, deposed, sensitive = [], ...r }) => ({
          mode: 'managed',
          type: 't',
          provider: 'provider["x/y"]',
          ...r,
          instances: [
            {
              ...(key !== undefined && { index_key: key }),
              deposed,
              attributes,
              sensitive_attributes: sensitive.map((value) => [{ type: 'get_attr', value }]),
            },
          ],
        })),
      }),
    )
  it.each(cases)('$name', ({ from, to, want }) => {
    const view = compare(build(from), build(to))
    expect(
      view.changes?.map(({ action, address, deposed, previous, attributes = [] }) => {
        const paths = action === 'create' || action === 'delete' ? [] : attributes.map((a) => a.path)
        return (
          `${action} ${address}` +
          (deposed ? ` (${deposed})` : '') +
          (previous ? ` from ${previous}` : '') +
          (paths.length > 0 ? `: ${paths.join(', ')}` : '')
        )
      }),
    ).toEqual(want)
    expect(JSON.stringify(view)).not.toMatch(/horse|battery|staple/)
  })
})

it('formats sizes', () => {
  expect([size(0), size(1153), size(50 * 2 ** 20)]).toEqual(['0 B', '1.1 KiB', '50 MiB'])
})
