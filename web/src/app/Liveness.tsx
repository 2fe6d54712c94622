import { useLiveness } from '../api/live'
import { useApp } from './context'

const states = {
  live: ['bg-good', 'Live', 'Changes are shown immediately.'],
  connecting: ['bg-strong', 'Connecting', 'Connecting to the server.'],
  away: ['bg-bad', 'Disconnected', 'Disconnected, reconnecting. Reload to see recent changes.'],
} as const

/** Shows whether the web UI receives changes. */
export function Liveness() {
  const { live } = useApp()
  const [color, word, help] = states[useLiveness(live)]
  return (
    <span role="status" title={help} className="text-muted flex items-center gap-1.5 px-2 text-sm">
      <span aria-hidden className={`size-2 rounded-full ${color}`} />
      {word}
    </span>
  )
}
