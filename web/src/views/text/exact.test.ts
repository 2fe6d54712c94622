import { describe, expect, it } from 'vitest'
import { brief } from '../plan/values'
import { parseExactly, writeExactly } from './exact'

describe('numbers', () => {
  it('are shown with the digits of the source', () => {
    for (const n of [
      '9007199254740993',
      '-123456789012345678901234567890',
      '0.12345678901234567890123',
      '1e400000000000000',
    ])
      expect(brief((parseExactly(`{"v":${n}}`) as { v: unknown }).v)).toBe(n)
  })
  it('are found anywhere in the document, and not in strings', () => {
    const n = '9007199254740993'
    for (const text of [
      n,
      ` [${n},${n}] `,
      `{"a":{"b":[1,${n},"x"]},"${n}":"${n}"}`,
      `["\\"${n}","\\\\",${n},"${n}"]`,
      `{"__proto__":${n},"c":""}`,
    ])
      expect(writeExactly(parseExactly(text))).toBe(text.trim())
  })
  it('that JavaScript represents exactly are numbers', () => {
    const text = '[1,0.30000000000000004,1234567890123456,null,true,"a"]'
    expect(parseExactly(text)).toEqual(JSON.parse(text))
  })
  it('are not created from strings of the same text', () => {
    const mark = JSON.stringify(parseExactly('9007199254740993')).slice(1, -'9007199254740993"'.length)
    expect(mark).toMatch(/^exact-\d+-\d+-\d+-\d+:$/)
    const text = '["exact-1-2-3-4:7",{"exact-1-2-3-4:":"7"}]'
    expect(writeExactly(parseExactly(text))).toBe(text)
  })
  it('in invalid JSON are an error', () => {
    for (const text of ['', '{', '"a', '[9007199254740993', '9007199254740993-'])
      expect(() => parseExactly(text)).toThrow()
  })
  it('of a large plan are parsed fast', () => {
    const text = `[${'{"id":9007199254740993,"text":"a \\\\ \\"b"},'.repeat(100_000)}0]`
    expect((parseExactly(text) as unknown[]).length).toBe(100_001)
  })
})
