import type { ErrorComponentProps } from '@tanstack/react-router'
import { Link } from '@tanstack/react-router'
import { Empty } from '../ui/Empty'
import { Problem } from '../ui/Problem'

/** Shown in place of what could not be shown. */
export function Broken({ error, reset }: ErrorComponentProps) {
  return (
    <div className="p-4">
      <Problem error={error} retry={reset} />
    </div>
  )
}

/** Shown for an address that is none. */
export function NotFound() {
  return (
    <Empty title="Page not found">
      <Link to="/" className="link">
        Overview
      </Link>
    </Empty>
  )
}
