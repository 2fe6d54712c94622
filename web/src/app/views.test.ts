import { expect, test } from 'vitest'
import { plurals } from '../kinds'
import { runTabs, stateTabs } from '../views/search'
import { newContext } from './context'
import { newRouter } from './router'
import { stackTabs } from './search'

const list = import.meta.glob<{ views: { path: string }[] }>('../../../test/browser/viewlist.mjs', { eager: true })
const paths = Object.values(list).flatMap((m) => m.views.map((v) => v.path))

test('every route and every tab is in the list of views that the browser tests check', () => {
  const router = newRouter(newContext(() => undefined))
  const tabs: Record<string, readonly string[]> = {
    '/stacks/$namespace/$name': stackTabs,
    '/runs/$namespace/$name': runTabs,
    '/states/$namespace/$name': stateTabs,
  }
  const missing = Object.keys(router.routesByPath).flatMap((route) => {
    const of = new RegExp(`^${route.replace(/\$\w+/g, '[^/]+')}$`)
    const shown = paths.filter((path) => of.test(path.split('?')[0]!))
    const wanted = (tabs[route] ?? []).map((tab) => `tab=${tab}`)
    // The first tab is shown without the parameter.
    return [
      ...(shown.length > 0 ? [] : [route]),
      ...wanted
        .slice(1)
        .flatMap((tab) => (shown.some((path) => path.split(/[?&]/).includes(tab)) ? [] : [`${route}?${tab}`])),
    ]
  })
  expect(missing).toEqual(['/signin']) // which is checked without a session
})

test('every kind has a list and a page for an object', () => {
  const routes = Object.keys(newRouter(newContext(() => undefined)).routesByPath)
  const wanted = plurals.flatMap((plural) => [`/${plural}`, `/${plural}/$namespace/$name`])
  expect(wanted.filter((route) => !routes.includes(route))).toEqual([])
})
