import { Tabs as Base } from '@base-ui/react/tabs'
import type { ReactNode } from 'react'
import { useKeys } from './keyboard'

export type Tab = { id: string; label: ReactNode; content: ReactNode }

/**
 * Tabs; arrow keys move between them. Which one is shown belongs into the address: value and onChange. Who chooses the one that is
 * shown calls onChange too: it may be shown only until there is other content.
 */
export function Tabs({
  tabs,
  value,
  onChange,
  label,
}: {
  tabs: Tab[]
  value: string
  onChange: (id: string) => void
  label: string
}) {
  const step = (by: number) => {
    const to = tabs[tabs.findIndex((t) => t.id === value) + by]
    if (to) onChange(to.id)
  }
  useKeys({ '[': () => step(-1), ']': () => step(1) })
  return (
    <Base.Root value={value} onValueChange={(id) => onChange(String(id))}>
      <Base.List aria-label={label} className="border-line flex gap-1 overflow-x-auto border-b" activateOnFocus>
        {tabs.map((t) => (
          <Base.Tab
            key={t.id}
            value={t.id}
            onClick={() => t.id === value && onChange(t.id)}
            className="text-muted hover:text-ink data-[active]:border-accent data-[active]:text-ink -mb-px h-9 border-b-2 border-transparent px-3 font-medium whitespace-nowrap"
          >
            {t.label}
          </Base.Tab>
        ))}
      </Base.List>
      {tabs.map((t) => (
        <Base.Panel key={t.id} value={t.id} className="pt-3">
          {t.content}
        </Base.Panel>
      ))}
    </Base.Root>
  )
}
