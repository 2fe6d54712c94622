const signs: [string, string][] = [
  ['-/+ ', 'text-bad'],
  ['+/- ', 'text-bad'],
  ['<= ', 'text-busy'],
  ['+ ', 'text-good'],
  ['- ', 'text-bad'],
  ['~ ', 'text-warn'],
  ['. ', 'text-warn'],
]
const headings = ['# ', 'Plan: ', 'No changes.', 'Changes to Outputs:', 'Error: ', 'Warning: ']

/** The CSS class of a line of an engine's own text of a plan, by the sign that it begins with. */
export function classOfPlanLine(line: string): string {
  const begin = line.slice(0, 200).trimStart()
  for (const [sign, name] of signs) if (begin.startsWith(sign)) return name
  return headings.some((h) => begin.startsWith(h)) ? 'font-semibold' : ''
}

/** The CSS class of a line of a log: the runner writes headings where steps begin, engines write what went wrong. */
export function classOfLogLine(line: string): string {
  if (line.startsWith('── ') && line.endsWith(' ──')) return 'font-semibold text-accent'
  if (line.startsWith('Error: ')) return 'font-semibold text-bad'
  return line.startsWith('Warning: ') ? 'font-semibold text-warn' : ''
}
