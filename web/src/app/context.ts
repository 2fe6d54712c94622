import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { createContext, useContext } from 'react'
import { ProblemError } from '../api/client'
import { Live } from '../api/live'

/** Retries requests that may succeed later, but not those that need a user to act. */
export function retries(count: number, error: unknown): boolean {
  if (!(error instanceof ProblemError)) return false
  return (error.status === 0 || error.status >= 502) && count < 3
}

/** Creates the cache of responses. Live invalidates it, so nothing is fetched again only because of its age. */
export function newClient(signedOut: () => void): QueryClient {
  const onError = (error: unknown) => {
    if (error instanceof ProblemError && error.status === 401) signedOut()
  }
  return new QueryClient({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({ onError }),
    defaultOptions: {
      // The server may be on this machine, so that requests do not depend on what the browser knows of networks.
      queries: { staleTime: 30_000, retry: retries, refetchOnWindowFocus: false, networkMode: 'always' },
      mutations: { retry: false, networkMode: 'always' },
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
