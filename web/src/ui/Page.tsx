import type { ReactNode } from 'react'
import { useEffect } from 'react'

/** Sets the title of the browser tab. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Cairn`
  }, [title])
}

/** The head of a page: where it is, its title, what can be done. */
export function PageHead({
  title,
  over,
  badge,
  actions,
  children,
}: {
  title: ReactNode
  over?: ReactNode
  badge?: ReactNode
  actions?: ReactNode
  children?: ReactNode
}) {
  return (
    <header className="mb-4 flex flex-col gap-2">
      {over && <div className="text-muted text-sm">{over}</div>}
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <h1 className="min-w-0 text-xl font-semibold break-words">{title}</h1>
        {badge}
        {actions && <div className="ml-auto flex flex-wrap gap-2">{actions}</div>}
      </div>
      {children}
    </header>
  )
}

/** A part of a page with a heading. */
export function Section({
  title,
  actions,
  children,
  bare,
}: {
  title: ReactNode
  actions?: ReactNode
  children: ReactNode
  bare?: boolean
}) {
  return (
    <section className="mb-5">
      <div className="mb-1.5 flex min-h-7 items-center gap-2">
        <h2 className="font-semibold">{title}</h2>
        {actions && <div className="ml-auto flex gap-2">{actions}</div>}
      </div>
      {bare ? children : <div className="panel overflow-hidden">{children}</div>}
    </section>
  )
}

/** Names and what they are, side by side. */
export function Facts({ facts }: { facts: [ReactNode, ReactNode][] }) {
  return (
    <dl className="grid grid-cols-[max-content_minmax(0,1fr)] gap-x-4 gap-y-1 p-3 lg:grid-cols-[max-content_minmax(0,1fr)_max-content_minmax(0,1fr)]">
      {facts.map(([name, value], i) => (
        <div key={i} className="contents">
          <dt className="text-muted">{name}</dt>
          <dd className="min-w-0 break-words">{value}</dd>
        </div>
      ))}
    </dl>
  )
}
