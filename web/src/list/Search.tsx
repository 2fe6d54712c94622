import { Search as Icon } from 'lucide-react'
import type { ReactNode } from 'react'
import { useEffect, useRef, useState } from 'react'
import { useKeys } from '../ui/keyboard'

/** A field to search with. `/` goes there; the text is applied a moment after the last key. */
export function Search({
  value = '',
  onChange,
  label,
}: {
  value?: string
  onChange: (value: string | undefined) => void
  label: string
}) {
  const field = useRef<HTMLInputElement>(null)
  const [text, setText] = useState(value)
  const [seen, setSeen] = useState(value)
  const [sent, setSent] = useState(value)
  if (value !== seen) {
    setSeen(value)
    setSent(value)
    // The address was changed elsewhere, as by the browser's way back; and not by what was typed here, which may have gone on.
    if (value !== sent) setText(value)
  }
  const latest = useRef(onChange)
  useEffect(() => {
    latest.current = onChange
  })
  useEffect(() => {
    if (text === sent) return
    const timer = setTimeout(() => {
      setSent(text)
      latest.current(text || undefined)
    }, 200)
    return () => clearTimeout(timer)
  }, [text, sent])
  useKeys({
    '/': (event) => {
      event.preventDefault()
      field.current?.focus()
      field.current?.select()
    },
  })
  return (
    <div className="relative min-w-0 grow md:basis-56">
      <Icon aria-hidden className="text-muted pointer-events-none absolute top-2 left-2.5 size-4" />
      <input
        ref={field}
        type="search"
        aria-label={label}
        placeholder={`${label} ( / )`}
        className="field w-full pl-8"
        value={text}
        onChange={(e) => setText(e.target.value)}
        onKeyDown={(e) => e.key === 'Escape' && e.currentTarget.blur()}
        autoComplete="off"
        spellCheck={false}
      />
    </div>
  )
}

/** What a list is searched and filtered by: beside each other, or on a phone the filters in a line of their own. */
export function SearchBar({ search, children }: { search: ReactNode; children: ReactNode }) {
  return (
    <div role="search" className="mb-3 flex shrink-0 flex-col gap-2 md:flex-row md:flex-wrap">
      {search}
      <div className="-m-0.5 flex gap-2 overflow-x-auto p-0.5 md:flex-wrap">{children}</div>
    </div>
  )
}
