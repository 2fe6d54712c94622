/** How much of a log the page keeps: the newest. All of it can be downloaded. Browsers draw nothing that is as high as 900,000 lines. */
export type Limits = { lines: number; characters: number }

const usual: Limits = { lines: 650_000, characters: 96 * 2 ** 20 }

/** A part that the log is dropped by, so that what is kept does not move with every line. */
const together = 10_000

/** A heading in the log that the runner writes where a step begins. */
export type Section = { line: number; step: string }

const heading = /^── ([\w-]{1,60}) ──$/

/** The lines of a log, numbered from 1. The last one may be incomplete. */
export class LogStore {
  /** The number of the first line that is kept. */
  first = 1
  sections: Section[] = []
  private lines: string[] = []
  private open = false
  private characters = 0
  private readonly limits: Limits

  constructor(limits: Limits = usual) {
    this.limits = limits
  }

  /** How many lines are kept. */
  get kept(): number {
    return this.lines.length
  }

  /** How many lines there were. */
  get total(): number {
    return this.first - 1 + this.lines.length
  }

  line(number: number): string | undefined {
    return this.lines[number - this.first]
  }

  clear(): void {
    this.first = 1
    this.sections = []
    this.lines = []
    this.open = false
    this.characters = 0
  }

  add(text: string): void {
    if (text === '') return
    this.characters += text.length
    const pieces = text.split('\n')
    const last = pieces.pop() ?? ''
    for (const piece of pieces) {
      this.extend(piece)
      this.close()
    }
    if (last !== '') this.extend(last)
    this.drop()
  }

  private extend(piece: string): void {
    const at = this.lines.length - 1
    if (!this.open) {
      this.lines.push(piece)
      this.open = true
      return
    }
    const before = this.lines[at] ?? ''
    // A line without an end must not take all memory: its beginning is what is shown.
    this.lines[at] = before.length > this.limits.characters / 2 ? before : before + piece
  }

  private close(): void {
    const at = this.lines.length - 1
    const line = this.lines[at] ?? ''
    if (line.endsWith('\r')) this.lines[at] = line.slice(0, -1)
    const step = line.length < 80 ? heading.exec(line)?.[1] : undefined
    if (step) this.sections.push({ line: this.first + at, step })
    this.open = false
  }

  private drop(): void {
    while (
      this.lines.length > this.limits.lines ||
      (this.characters > this.limits.characters && this.lines.length > 1)
    ) {
      const n = Math.min(together, Math.max(1, this.lines.length >> 1))
      const gone = this.lines.splice(0, n)
      this.first += n
      for (const line of gone) this.characters -= line.length + 1
      this.sections = this.sections.filter((s) => s.line >= this.first)
    }
    if (this.lines.length <= 1) this.characters = Math.min(this.characters, this.lines[0]?.length ?? 0)
  }
}
