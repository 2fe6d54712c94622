import { QueryClientProvider } from '@tanstack/react-query'
import type { RouterHistory } from '@tanstack/react-router'
import { RouterProvider } from '@tanstack/react-router'
import { AppProvider, newContext } from './context'
import { newRouter } from './router'

/** Puts the page together. Who is not signed in any more is sent to sign in, and comes back to where they were. */
export function newApp(history?: RouterHistory) {
  const context = newContext(() => {
    const at = router.state.location
    if (at.pathname !== '/signin') void router.navigate({ to: '/signin', search: { to: at.href } })
  })
  const router = newRouter(context, history)
  const element = (
    <AppProvider value={context}>
      <QueryClientProvider client={context.client}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </AppProvider>
  )
  return { context, router, element }
}
