import { useQuery } from '@tanstack/react-query'
import type { ListParams } from '../api/queries'
import { facetQuery } from '../api/queries'
import { Problem } from '../ui/Problem'
import { Menu } from './Filter'

const fields: [string, string][] = [
  ['namespace', 'Namespace'],
  ['repository', 'Repository'],
  ['reason', 'Reason'],
]

/** A group in words: the name of its field. */
export function fieldWord(group: string): string {
  return fields.find(([field]) => field === group)?.[1] ?? group.replace(/^label:/, '')
}

/** Chooses what Stacks are grouped by: a field, or a label of theirs. */
export function GroupBy({
  params,
  chosen,
  onChange,
}: {
  params: ListParams
  chosen?: string
  onChange: (group: string | undefined) => void
}) {
  return (
    <Menu label="Group" on={chosen !== undefined} value={chosen && fieldWord(chosen)}>
      <Fields params={params} chosen={chosen} onChange={onChange} />
    </Menu>
  )
}

function Fields({ params, chosen, onChange }: Parameters<typeof GroupBy>[0]) {
  const found = useQuery(facetQuery('stacks', 'label', params))
  const keys = new Set(found.data?.values?.map(({ value }) => `label:${value.split('=')[0]}`))
  if (chosen?.startsWith('label:')) keys.add(chosen)
  const labels = [...keys].sort().map((key): [string, string] => [key, fieldWord(key)])
  return (
    <div role="radiogroup" aria-label="Group by" className="min-h-0 overflow-y-auto">
      {[['', 'No groups'], ...fields, ...labels].map(([field, word]) => (
        <label key={field} className="hover:bg-hover flex min-h-8 items-center gap-2 rounded px-1.5">
          <input
            type="radio"
            name="group"
            className="accent-accent"
            checked={(chosen ?? '') === field}
            onChange={() => onChange(field === '' ? undefined : field)}
          />
          <span className="min-w-0 grow break-words">{word}</span>
          {field?.startsWith('label:') && <span className="text-muted text-sm">label</span>}
        </label>
      ))}
      <Problem error={found.error} retry={() => void found.refetch()} />
    </div>
  )
}
