import { createRootRouteWithContext, createRoute, Outlet } from '@tanstack/react-router'
import { meQuery } from '../api/queries'
import type { AppContext } from './context'
import { Layout } from './Layout'
import { Broken, NotFound } from './Broken'

export const rootRoute = createRootRouteWithContext<AppContext>()({
  component: Outlet,
  errorComponent: Broken,
  notFoundComponent: () => (
    <main className="p-4">
      <NotFound />
    </main>
  ),
})

/** The parent of all that only who is signed in may see. */
export const appRoute = createRoute({
  id: 'app',
  getParentRoute: () => rootRoute,
  component: Layout,
  errorComponent: Broken,
  notFoundComponent: NotFound,
  // It is not waited for: all that is shown is asked for at once, and a 401 to any of it leads to the sign-in (start.tsx).
  beforeLoad: ({ context }) => void context.client.prefetchQuery(meQuery),
})
