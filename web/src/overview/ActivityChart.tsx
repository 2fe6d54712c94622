import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { activityQuery } from '../api/queries'
import { Section } from '../ui/Page'
import { Problem } from '../ui/Problem'
import { Skeleton } from '../ui/Skeleton'
import { cx } from '../ui/cx'
import { sums } from './activity'

// Recharts is large, and nothing waits for it.
const Bars = lazy(() => import('./Bars'))

const spans = {
  '24h': { label: 'Day', step: '1h' },
  '168h': { label: 'Week', step: '4h' },
  '720h': { label: 'Month', step: '24h' },
} as const
export type Since = keyof typeof spans

/** How many Runs ended, and how, over time. */
export function ActivityChart({ since, onSince }: { since: Since; onSince: (since: Since) => void }) {
  const activity = useQuery(activityQuery(since, spans[since].step))
  const steps = activity.data?.steps ?? []
  const { succeeded, failed, others } = sums(steps)
  return (
    <Section
      title="Completed runs"
      actions={
        <div role="group" aria-label="Of which time" className="border-strong flex overflow-hidden rounded-md border">
          {(Object.keys(spans) as Since[]).map((s) => (
            <button
              key={s}
              type="button"
              aria-pressed={s === since}
              className={cx('h-7 px-2.5 text-sm', s === since ? 'bg-chosen text-ink' : 'text-muted hover:bg-hover')}
              onClick={() => onSince(s)}
            >
              {spans[s].label}
            </button>
          ))}
        </div>
      }
    >
      <div className="p-3">
        {activity.error ? (
          <Problem error={activity.error} retry={() => void activity.refetch()} />
        ) : (
          <>
            <p className="mb-2 flex flex-wrap gap-x-4 text-sm">
              <Legend color="bg-good" text={`${succeeded.toLocaleString('en')} succeeded`} />
              <Legend color="bg-bad" text={`${failed.toLocaleString('en')} failed`} />
              <Legend color="bg-strong" text={`${others.toLocaleString('en')} canceled, rejected or superseded`} />
            </p>
            <div className="h-44">
              <Suspense fallback={<Skeleton className="h-full w-full" />}>
                {activity.data ? <Bars steps={steps} days={since !== '24h'} /> : <Skeleton className="h-full w-full" />}
              </Suspense>
            </div>
          </>
        )}
      </div>
    </Section>
  )
}

function Legend({ color, text }: { color: string; text: string }) {
  return (
    <span className="inline-flex items-center gap-1.5">
      <span aria-hidden className={`size-2.5 rounded-sm ${color}`} />
      {text}
    </span>
  )
}
