import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import { appRoute } from '../app/root'
import { graphSearch, runSearch, stateSearch } from './search'

const runRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/runs/$namespace/$name',
  validateSearch: runSearch,
  component: lazyRouteComponent(() => import('./run/RunPage')),
})

const stateRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/states/$namespace/$name',
  validateSearch: stateSearch,
  component: lazyRouteComponent(() => import('./state/StatePage')),
})

const graphRoute = createRoute({
  getParentRoute: () => appRoute,
  path: '/graph',
  validateSearch: graphSearch,
  component: lazyRouteComponent(() => import('./graph/GraphPage')),
})

export const viewRoutes = [runRoute, stateRoute, graphRoute] as const
