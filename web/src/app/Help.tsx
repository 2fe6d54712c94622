import { useState } from 'react'
import { commands } from '../ui/commands'
import { Dialog } from '../ui/Dialog'

/** Whether the list of keys is shown. */
export function useHelp() {
  const [open, setOpen] = useState(false)
  return { open, setOpen }
}

type Place = { label: string; key: string }

/** The keys that the page knows. */
export function Help({
  open,
  onOpenChange,
  places,
}: {
  open: boolean
  onOpenChange: (open: boolean) => void
  places: readonly Place[]
}) {
  const keys: [string, string][] = [
    ['Ctrl K, ⌘ K', 'command palette: actions, pages, objects'],
    ['/', 'search'],
    ['j, k, ↓, ↑', 'next and previous row'],
    ['Enter', 'open the row'],
    ...places.map((p): [string, string] => [`g ${p.key}`, p.label]),
    ['[, ]', 'previous and next tab'],
    ...(open ? commands() : []).flatMap(({ label, hotkey }): [string, string][] => (hotkey ? [[hotkey, label]] : [])),
    ['?', 'this list'],
  ]
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title="Keys">
      <dl className="grid grid-cols-[max-content_1fr] gap-x-4 gap-y-1">
        {keys.map(([key, what]) => (
          <div key={key} className="contents">
            <dt>
              <kbd className="bg-sunken rounded px-1.5 font-mono text-sm">{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
