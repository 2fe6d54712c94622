import { ChevronDown, ChevronRight } from 'lucide-react'
import type { Group } from '../api/client'
import type { Groups } from './DataList'

/** The line above a group: its value, how many rows it has and how many of them are not ready. It collapses the group. */
export function GroupHead({ group, collapsed, onToggle, word }: { group: Group } & Groups) {
  const open = !collapsed.includes(group.value)
  const Icon = open ? ChevronDown : ChevronRight
  return (
    <button
      type="button"
      aria-expanded={open}
      onClick={() => onToggle(group.value)}
      className="border-line bg-sunken hover:bg-hover flex h-10 w-full items-center gap-2 border-b px-3 text-left"
    >
      <Icon aria-hidden className="text-muted size-4 shrink-0" />
      <span className="min-w-0 truncate font-medium">{word(group.value)}</span>{' '}
      <span className="text-muted shrink-0 text-sm tabular-nums">{group.count.toLocaleString('en')}</span>{' '}
      {group.notReady ? (
        <span className="text-bad shrink-0 text-sm tabular-nums">{group.notReady.toLocaleString('en')} not ready</span>
      ) : null}
    </button>
  )
}
