import { useLiveness } from '../api/live'
import { useApp } from './context'

const said = {
  live: ['bg-good', 'Live', 'What changes is shown at once.'],
  connecting: ['bg-strong', 'Connecting', 'The page is about to hear of changes.'],
  away: [
    'bg-bad',
    'Not live',
    'Changes are not heard of: the page connects again by itself. Until then, reload to see what is new.',
  ],
} as const

/** Tells whether the page hears of changes. */
export function Liveness() {
  const { live } = useApp()
  const [color, word, help] = said[useLiveness(live)]
  return (
    <span role="status" title={help} className="text-muted flex items-center gap-1.5 px-2 text-sm">
      <span aria-hidden className={`size-2 rounded-full ${color}`} />
      {word}
    </span>
  )
}
