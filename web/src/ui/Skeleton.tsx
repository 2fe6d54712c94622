import { cx } from './cx'

/** A placeholder for content that loads. */
export function Skeleton({ className }: { className?: string }) {
  return <span aria-hidden className={cx('bg-sunken block animate-pulse rounded', className ?? 'h-4 w-full')} />
}

/** Some lines of what will be there. */
export function Skeletons({ lines = 3, label = 'Loading' }: { lines?: number; label?: string }) {
  return (
    <div role="status" aria-label={label} className="flex flex-col gap-2 py-1">
      {Array.from({ length: lines }, (_, i) => (
        <Skeleton key={i} className={cx('h-4', ['w-full', 'w-5/6', 'w-2/3'][i % 3])} />
      ))}
    </div>
  )
}
