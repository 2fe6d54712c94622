import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { createContext, useContext } from 'react'
import { ProblemError } from '../api/client'
import { Live } from '../api/live'

/** Asks again what may be answered another time, and never what a person has to act on. */
export function retries(count: number, error: unknown): boolean {
  if (!(error instanceof ProblemError)) return false
  return (error.status === 0 || error.status >= 502) && count < 3
}

/** Makes what the page keeps of answers. Live tells what is old, so nothing is read again just because time goes by. */
export function newClient(signedOut: () => void): QueryClient {
  const onError = (error: unknown) => {
    if (error instanceof ProblemError && error.status === 401) signedOut()
  }
  return new QueryClient({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({ onError }),
    defaultOptions: {
      queries: { staleTime: 30_000, retry: retries, refetchOnWindowFocus: false },
      mutations: { retry: false },
    },
  })
}

export type AppContext = { client: QueryClient; live: Live }

/** What all of the page shares. `signedOut` is called when the server does not know any more who is there. */
export function newContext(signedOut: () => void): AppContext {
  const client = newClient(signedOut)
  return { client, live: new Live(client) }
}

const Context = createContext<AppContext | undefined>(undefined)
export const AppProvider = Context.Provider

export function useApp(): AppContext {
  const app = useContext(Context)
  if (!app) throw new Error('useApp is used outside of the page')
  return app
}
