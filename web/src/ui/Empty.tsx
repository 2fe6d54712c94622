import type { ReactNode } from 'react'

/** A text for an empty list. The children explain what to do. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="text-muted flex flex-col items-center gap-1 px-4 py-10 text-center">
      <p className="text-ink font-medium">{title}</p>
      {children && <div className="max-w-prose">{children}</div>}
    </div>
  )
}
