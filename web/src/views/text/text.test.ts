import { describe, expect, it } from 'vitest'
import { plain, segments } from './ansi'
import { safe, safeLine, safeText } from './escape'
import { classOfLogLine, classOfPlanLine } from './lineClass'

describe('untrusted text', () => {
  it('shows bidirectional controls and invisible characters as escapes', () => {
    expect(safe('user\u202e txt.exe\u2066')).toBe('user\\u202e txt.exe\\u2066')
    expect(safe('a\u200bb\ufeffc\u3164\u2800\ufe0f')).toBe('a\\u200bb\\ufeffc\\u3164\\u2800\\ufe0f')
    expect(safe('\u{e0101}')).toBe('\\U000e0101')
    expect(safe('a\nb\tc\r\x1b')).toBe('a\\nb\\tc\\r\\u001b')
  })
  it('does not change ordinary text', () => {
    const text = 'Größe 東京 <script>alert(1)</script> "é" 😀 ─ ✓'
    expect(safe(text)).toBe(text)
    expect(safeLine('a\tb')).toBe('a\tb')
    expect(safeText('a\n\tb\r')).toBe('a\n\tb\\r')
  })
})

describe('terminal colors', () => {
  it('use the colors of the web UI', () => {
    expect(segments('\x1b[31mred\x1b[0m and \x1b[1;32mbold\x1b[0m')).toEqual([
      { text: 'red', className: 'text-bad' },
      { text: ' and ', className: '' },
      { text: 'bold', className: 'text-good font-semibold' },
    ])
  })
  it('drop cursor movements, and show sequences for titles and links', () => {
    const shown = (line: string) => segments(line).map((s) => s.text).join('') // prettier-ignore
    expect(shown('\x1b[2Ja\x1b[1Ab\x1b[10;10Hc')).toBe('abc')
    expect(shown('\x1b]0;title\x07x')).toBe('\\u001b]0;title\\u0007x')
    expect(shown('\x1b]8;;https://evil.example\x1b\\x')).toContain('\\u001b]8;;https://evil.example')
  })
  it('split a line into a bounded number of segments', () => {
    const bomb = Array.from({ length: 10_000 }, (_, i) => `\x1b[3${i % 7}mx`).join('')
    const pieces = segments(bomb)
    expect(pieces.length).toBeLessThanOrEqual(300)
    expect(pieces.map((p) => p.text).join('')).toBe('x'.repeat(10_000))
  })
  it('are excluded from searches', () => {
    expect(plain('er\x1b[31mror\x1b[0m')).toBe('error')
  })
})

describe('line styles', () => {
  it('depend on the sign at the start', () => {
    expect(classOfPlanLine('      + id = 1')).toBe('text-good')
    expect(classOfPlanLine('-/+ resource')).toBe('text-bad')
    expect(classOfPlanLine('  # a.b will be created')).toBe('font-semibold')
    expect(classOfPlanLine('    }')).toBe('')
    expect(classOfLogLine('── init ──')).not.toBe('')
    expect(classOfLogLine('init ──')).toBe('')
  })
})
