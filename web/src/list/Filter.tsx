import { Popover } from '@base-ui/react/popover'
import { useQuery } from '@tanstack/react-query'
import { ChevronDown } from 'lucide-react'
import type { ReactNode } from 'react'
import { useState } from 'react'
import type { Plural } from '../api/client'
import type { ListParams } from '../api/queries'
import { facetQuery } from '../api/queries'
import { Button, buttonClass } from '../ui/Button'
import { cx } from '../ui/cx'
import { Problem } from '../ui/Problem'

type Props = {
  label: string
  kind: Plural | 'resources'
  /** The field that is filtered. */
  field: string
  /** All parameters of the list. */
  params: ListParams
  chosen?: string[]
  onChange: (values: string[] | undefined) => void
  /** Whether a value that the server does not list can be typed. */
  free?: boolean
  word?: (value: string) => string
}

/** A filter that lets some values of a field through. The server counts the values of the rows that match the other filters. */
export function Filter(props: Props) {
  const { label, chosen = [], word = (v) => v } = props
  return (
    <Menu
      label={label}
      on={chosen.length > 0}
      value={chosen.length > 0 && (chosen.length === 1 ? word(chosen[0]!) : chosen.length)}
    >
      <Values {...props} chosen={chosen} word={word} />
    </Menu>
  )
}

/** A button that opens choices. The children exist while it is open. */
export function Menu({
  label,
  on,
  value,
  children,
}: {
  label: string
  on: boolean
  value: ReactNode
  children: ReactNode
}) {
  return (
    <Popover.Root>
      <Popover.Trigger className={cx(buttonClass('plain'), on && 'border-accent bg-chosen')}>
        {label}
        {on && <span className="max-w-32 truncate">: {value}</span>}
        <ChevronDown aria-hidden className="size-3.5" />
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner sideOffset={4} align="start" className="z-50">
          <Popover.Popup
            className="panel flex max-h-80 w-72 max-w-[calc(100vw-1rem)] flex-col gap-2 p-2 shadow-lg"
            aria-label={label}
          >
            {children}
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  )
}

/** How many values are shown without a field to search them. */
const few = 8

function Values({
  label,
  kind,
  field,
  params,
  chosen,
  onChange,
  free,
  word,
}: Required<Pick<Props, 'chosen' | 'word'>> & Props) {
  const found = useQuery(facetQuery(kind, field, params))
  const [text, setText] = useState('')
  const { values = [], more = 0 } = found.data ?? {}
  const missing = chosen.filter((c) => !values.some((v) => v.value === c)).map((value) => ({ value, count: undefined }))
  const all = [...missing, ...(values as { value: string; count?: number }[])]
  const typed = text.trim()
  const shown = all.filter((v) => `${v.value} ${word(v.value)}`.toLowerCase().includes(typed.toLowerCase()))
  const toggle = (value: string) => {
    const next = chosen.includes(value) ? chosen.filter((v) => v !== value) : [...chosen, value]
    onChange(next.length > 0 ? next : undefined)
  }
  const isNew = free === true && typed !== '' && !all.some((v) => v.value === typed)
  const isValid = field !== 'label' || /^[^=]+=/.test(typed)
  return (
    <>
      {(free === true || all.length > few) && (
        <form
          className="flex gap-1"
          onSubmit={(event) => {
            event.preventDefault()
            if (!isNew || !isValid) return
            toggle(typed)
            setText('')
          }}
        >
          <input
            className="field min-w-0 grow"
            aria-label={`Find in ${label}`}
            placeholder={field === 'label' ? 'Find, or key=value' : 'Find…'}
            value={text}
            onChange={(e) => setText(e.target.value)}
            autoComplete="off"
            spellCheck={false}
          />
          {isNew && isValid && <Button type="submit">Add</Button>}
        </form>
      )}
      <Problem error={found.error} retry={() => void found.refetch()} />
      <div className="min-h-0 overflow-y-auto" aria-busy={found.isPending}>
        {shown.map(({ value, count }) => (
          <label key={value} className="hover:bg-hover flex min-h-8 items-center gap-2 rounded px-1.5">
            <input
              type="checkbox"
              className="accent-accent"
              checked={chosen.includes(value)}
              onChange={() => toggle(value)}
            />
            <span className="min-w-0 grow break-words">{word(value)}</span>
            <span className="text-muted text-sm tabular-nums">{count?.toLocaleString('en')}</span>
          </label>
        ))}
        {shown.length === 0 && !found.error && (
          <p className="text-muted px-1.5 py-1">{found.isPending ? 'Loading…' : 'No such values'}</p>
        )}
        {more > 0 && (
          <p className="text-muted px-1.5 py-1 text-sm">
            {more.toLocaleString('en')} more values{free ? ': type one to add it' : ''}
          </p>
        )}
      </div>
    </>
  )
}

/** A filter that is on or off. */
export function Toggle({ on, label, onChange }: { on: boolean; label: string; onChange: (on: boolean) => void }) {
  return (
    <button
      type="button"
      aria-pressed={on}
      className={cx(buttonClass('plain'), on && 'border-accent bg-chosen')}
      onClick={() => onChange(!on)}
    >
      {label}
    </button>
  )
}
