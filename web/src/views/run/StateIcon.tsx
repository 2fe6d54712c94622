import { Check, CircleDashed, LoaderCircle, Minus, X } from 'lucide-react'
import { cx } from '../../ui/cx'
import type { Step } from './words'

/** The state of a step as an icon. */
export function StateIcon({ state, className }: { state: Step['state']; className?: string }) {
  const shape = cx('size-4 shrink-0', className)
  return {
    Succeeded: <Check aria-hidden className={cx(shape, 'text-good')} />,
    Failed: <X aria-hidden className={cx(shape, 'text-bad')} />,
    Running: <LoaderCircle aria-hidden className={cx(shape, 'text-busy animate-spin')} />,
    Skipped: <Minus aria-hidden className={cx(shape, 'text-muted')} />,
    Waiting: <CircleDashed aria-hidden className={cx(shape, 'text-muted')} />,
  }[state]
}
