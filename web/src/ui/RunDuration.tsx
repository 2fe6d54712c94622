import type { Run } from '../api/client'
import { useNow } from './Time'
import { duration } from './time'

type Timed = Pick<Run, 'created' | 'finished' | 'waited' | 'waitingSince' | 'approvedBy' | 'reason'>

/** How long a Run was active until now or its end, and how long it waited for an approval meanwhile, in milliseconds. */
export function activeFor(run: Timed, now: number): { active: number; waited: number } {
  const end = run.finished ? Date.parse(run.finished) : now
  const current = run.waitingSince ? Math.max(0, end - Date.parse(run.waitingSince)) : 0
  const waited = 1000 * (run.waited ?? 0) + current
  return { active: Math.max(0, end - Date.parse(run.created) - waited), waited }
}

/** The wait of a Run in words: waited 3h 2m for an approval. Empty if it did not wait. */
export function waitText(run: Timed, now: number): string {
  const { waited } = activeFor(run, now)
  if (waited < 1000) return ''
  const forUser = run.approvedBy !== undefined || run.reason === 'AwaitingApproval' || run.reason === 'Rejected'
  return `${run.waitingSince ? 'waiting' : 'waited'} ${duration(waited)}${forUser ? ' for an approval' : ''}`
}

/** How long a Run was active, without the time that it waited for an approval. That is shown beside it, or else as a tooltip. */
export function RunDuration({ run, beside = false }: { run: Timed; beside?: boolean }) {
  const now = useNow().getTime()
  const wait = waitText(run, now)
  return (
    <>
      <span className="whitespace-nowrap tabular-nums" title={beside ? undefined : wait || undefined}>
        {duration(activeFor(run, now).active)}
      </span>
      {beside && wait && <span className="text-muted">, {wait}</span>}
    </>
  )
}
