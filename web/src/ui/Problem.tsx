import { CircleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { asProblem } from '../api/client'
import { safeText } from '../views/text/escape'
import { Button } from './Button'

/** What went wrong, and what to do: a problem of the API, or anything that was thrown. */
export function Problem({ error, retry, children }: { error: unknown; retry?: () => void; children?: ReactNode }) {
  if (error === undefined || error === null) return null
  const problem = asProblem(error)
  return (
    <div role="alert" className="border-bad/40 bg-badbg text-ink flex gap-2 rounded-md border p-3">
      <CircleAlert aria-hidden className="text-bad mt-0.5 size-4 shrink-0" />
      <div className="min-w-0 grow">
        <p className="font-medium">
          {problem.title}
          {problem.status > 0 && <span className="text-muted font-normal"> ({problem.status})</span>}
        </p>
        <p className="break-words">{safeText(problem.detail)}</p>
        {children}
      </div>
      {retry && (
        <Button small onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  )
}
