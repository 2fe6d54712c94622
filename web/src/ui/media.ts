import { useSyncExternalStore } from 'react'

/** Whether the window is as narrow as that of a phone. */
export function useNarrow(): boolean {
  return useSyncExternalStore(
    (changed) => {
      const query = window.matchMedia?.('(max-width: 47.99rem)')
      query?.addEventListener('change', changed)
      return () => query?.removeEventListener('change', changed)
    },
    () => window.matchMedia?.('(max-width: 47.99rem)').matches ?? false,
  )
}
