import type { RouterHistory } from '@tanstack/react-router'
import { createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import { Skeletons } from '../ui/Skeleton'
import { viewRoutes } from '../views/routes'
import { pagesQuery } from '../api/queries'
import type { AppContext } from './context'
import { parseQuery, writeQuery } from './query'
import { appRoute, rootRoute } from './root'
import { overviewSearch, signinSearch, stackSearch, stacksSearch, listSearch } from './search'

const signinRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/signin',
  validateSearch: signinSearch,
  component: lazyRouteComponent(() => import('../pages/Signin')),
})
const overviewRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/',
  validateSearch: overviewSearch,
  component: lazyRouteComponent(() => import('../pages/Overview')),
})
const stacksRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/stacks',
  validateSearch: stacksSearch,
  loaderDeps: ({ search }) => search,
  // The list is on its way while the page's code is.
  loader: ({ context, deps }) => void context.client.prefetchInfiniteQuery(pagesQuery('stacks', deps)),
  component: lazyRouteComponent(() => import('../pages/Stacks')),
})
const stackRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/stacks/$namespace/$name',
  validateSearch: stackSearch,
  component: lazyRouteComponent(() => import('../pages/Stack')),
})
/** What the pages of lists have in common, and those of objects. */
const object = { getParentRoute: () => appRoute }
const list = { ...object, validateSearch: listSearch }

const kindRoutes = [
  createRoute({
    ...list,
    path: '/stacksets',
    component: lazyRouteComponent(() => import('../pages/StackSets')),
  }),
  createRoute({
    ...object,
    path: '/stacksets/$namespace/$name',
    component: lazyRouteComponent(() => import('../pages/StackSet')),
  }),
  createRoute({
    ...list,
    path: '/runs',
    component: lazyRouteComponent(() => import('../pages/Runs')),
  }),
  createRoute({
    ...list,
    path: '/states',
    component: lazyRouteComponent(() => import('../pages/States')),
  }),
  createRoute({
    ...list,
    path: '/resources',
    component: lazyRouteComponent(() => import('../pages/Resources')),
  }),
  createRoute({
    ...list,
    path: '/repositories',
    component: lazyRouteComponent(() => import('../pages/Repositories')),
  }),
  createRoute({
    ...object,
    path: '/repositories/$namespace/$name',
    component: lazyRouteComponent(() => import('../pages/Repository')),
  }),
  createRoute({
    ...list,
    path: '/pullrequests',
    component: lazyRouteComponent(() => import('../pages/PullRequests')),
  }),
  createRoute({
    ...object,
    path: '/pullrequests/$namespace/$name',
    component: lazyRouteComponent(() => import('../pages/PullRequest')),
  }),
  createRoute({
    ...list,
    path: '/notifications',
    component: lazyRouteComponent(() => import('../pages/Notifications')),
  }),
  createRoute({
    ...object,
    path: '/notifications/$namespace/$name',
    component: lazyRouteComponent(() => import('../pages/Notification')),
  }),
  createRoute({
    ...list,
    path: '/driftpauses',
    component: lazyRouteComponent(() => import('../pages/DriftPauses')),
  }),
  createRoute({
    ...object,
    path: '/driftpauses/$namespace/$name',
    component: lazyRouteComponent(() => import('../pages/DriftPause')),
  }),
  createRoute({
    ...list,
    path: '/pipelines',
    component: lazyRouteComponent(() => import('../pages/Pipelines')),
  }),
  createRoute({
    ...object,
    path: '/pipelines/$namespace/$name',
    component: lazyRouteComponent(() => import('../pages/Pipeline')),
  }),
] as const
const commitRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/commits/$commit',
  component: lazyRouteComponent(() => import('../pages/Commit')),
})

const routeTree = rootRoute.addChildren([
  signinRoute,
  appRoute.addChildren([overviewRoute, stacksRoute, stackRoute, ...kindRoutes, commitRoute, ...viewRoutes]),
])

/** Creates the router. search.ts validates the parameters of the address before pages read them. */
export function newRouter(context: AppContext, history?: RouterHistory) {
  return createRouter({
    routeTree,
    context,
    history,
    // The frame is there before the page's code is.
    defaultPendingMs: 50,
    defaultPendingMinMs: 0,
    defaultPendingComponent: () => <Skeletons lines={6} label="Loading the page" />,
    parseSearch: parseQuery,
    stringifySearch: writeQuery,
    defaultPreload: 'intent',
    defaultPreloadStaleTime: 0,
    scrollRestoration: true,
    // The page of another object is another page: it keeps neither rows of the one before nor a question that was asked about it.
    defaultRemountDeps: ({ params }) => params,
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof newRouter>
  }
}
