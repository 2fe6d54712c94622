import { Popover } from '@base-ui/react/popover'
import { ChevronDown } from 'lucide-react'
import { useState } from 'react'
import { Button, buttonClass } from '../ui/Button'
import { cx } from '../ui/cx'

/** A filter that lets some values through: those that were seen can be chosen, and with `free` any can be typed. */
export function Filter({
  label,
  chosen = [],
  known,
  onChange,
  free,
  word = (v) => v,
}: {
  label: string
  chosen?: string[]
  known: string[]
  onChange: (values: string[] | undefined) => void
  free?: boolean
  word?: (value: string) => string
}) {
  const [text, setText] = useState('')
  const values = [...new Set([...chosen, ...known])].sort()
  const toggle = (value: string) => {
    const next = chosen.includes(value) ? chosen.filter((v) => v !== value) : [...chosen, value]
    onChange(next.length > 0 ? next : undefined)
  }
  return (
    <Popover.Root>
      <Popover.Trigger className={cx(buttonClass('plain'), chosen.length > 0 && 'border-accent bg-chosen')}>
        {label}
        {chosen.length > 0 && (
          <span className="max-w-32 truncate">: {chosen.length === 1 ? word(chosen[0]!) : chosen.length}</span>
        )}
        <ChevronDown aria-hidden className="size-3.5" />
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner sideOffset={4} align="start" className="z-50">
          <Popover.Popup className="panel flex max-h-80 w-64 flex-col gap-2 p-2 shadow-lg" aria-label={label}>
            {free && (
              <form
                className="flex gap-1"
                onSubmit={(event) => {
                  event.preventDefault()
                  const value = text.trim()
                  if (value && !chosen.includes(value)) toggle(value)
                  setText('')
                }}
              >
                <input
                  className="field min-w-0 grow"
                  aria-label={`Another ${label.toLowerCase()}`}
                  placeholder="Another…"
                  value={text}
                  onChange={(e) => setText(e.target.value)}
                  spellCheck={false}
                />
                <Button type="submit">Add</Button>
              </form>
            )}
            <div className="min-h-0 overflow-y-auto">
              {values.map((value) => (
                <label key={value} className="hover:bg-hover flex min-h-8 items-center gap-2 rounded px-1.5">
                  <input
                    type="checkbox"
                    className="accent-accent"
                    checked={chosen.includes(value)}
                    onChange={() => toggle(value)}
                  />
                  <span className="min-w-0 break-words">{word(value)}</span>
                </label>
              ))}
              {values.length === 0 && <p className="text-muted px-1.5 py-1">None here yet</p>}
            </div>
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
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
