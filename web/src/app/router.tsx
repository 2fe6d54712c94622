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
const runsRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/runs',
  validateSearch: listSearch,
  component: lazyRouteComponent(() => import('../pages/Runs')),
})
const statesRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/states',
  validateSearch: listSearch,
  component: lazyRouteComponent(() => import('../pages/States')),
})
const resourcesRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/resources',
  validateSearch: listSearch,
  component: lazyRouteComponent(() => import('../pages/Resources')),
})
const repositoriesRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/repositories',
  validateSearch: listSearch,
  component: lazyRouteComponent(() => import('../pages/Repositories')),
})
const repositoryRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/repositories/$namespace/$name',
  component: lazyRouteComponent(() => import('../pages/Repository')),
})
const pullRequestsRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/pullrequests',
  validateSearch: listSearch,
  component: lazyRouteComponent(() => import('../pages/PullRequests')),
})
const pullRequestRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/pullrequests/$namespace/$name',
  component: lazyRouteComponent(() => import('../pages/PullRequest')),
})
const commitRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/commits/$commit',
  component: lazyRouteComponent(() => import('../pages/Commit')),
})

const routeTree = rootRoute.addChildren([
  signinRoute,
  appRoute.addChildren([
    overviewRoute,
    stacksRoute,
    stackRoute,
    runsRoute,
    statesRoute,
    resourcesRoute,
    repositoriesRoute,
    repositoryRoute,
    pullRequestsRoute,
    pullRequestRoute,
    commitRoute,
    ...viewRoutes,
  ]),
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
