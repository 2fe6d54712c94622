import type { ComponentProps, ReactNode } from 'react'
import { cx } from './cx'

const kinds = {
  plain: 'border-strong bg-panel text-ink hover:bg-hover border',
  main: 'border-accent bg-accent text-onaccent border hover:brightness-110',
  danger: 'border-bad text-bad bg-panel hover:bg-badbg border',
  bare: 'text-muted hover:bg-hover hover:text-ink border border-transparent',
}

export type ButtonProps = ComponentProps<'button'> & {
  kind?: keyof typeof kinds
  icon?: ReactNode
  /** While the action is in progress, the button is disabled and shows that. */
  busy?: boolean
  small?: boolean
}

/** The classes of a button, for links that have its style. */
export function buttonClass(kind: keyof typeof kinds = 'plain', small = false): string {
  return cx(
    'inline-flex items-center justify-center gap-1.5 rounded-md font-medium whitespace-nowrap select-none disabled:opacity-50',
    small ? 'h-7 px-2 text-sm' : 'h-8 px-3',
    kinds[kind],
  )
}

/** A button. One without words has an aria-label. */
export function Button({ kind = 'plain', icon, busy, small, className, children, disabled, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      disabled={disabled === true || busy === true}
      aria-busy={busy}
      className={cx(buttonClass(kind, small), className)}
    >
      {icon}
      {children}
      {busy && <span className="animate-pulse">…</span>}
    </button>
  )
}
