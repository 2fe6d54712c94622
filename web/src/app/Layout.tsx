import { useQuery } from '@tanstack/react-query'
import { Link, Outlet, useNavigate } from '@tanstack/react-router'
import { Home, Layers, Network, Search } from 'lucide-react'
import { lazy, Suspense, useEffect, useState } from 'react'
import { useLiveness } from '../api/live'
import { listQuery, meQuery } from '../api/queries'
import type { Plural } from '../kinds'
import { kindOf, plurals } from '../kinds'
import { Problem } from '../ui/Problem'
import { buttonClass } from '../ui/Button'
import { useKeys, useKeysOver } from '../ui/keyboard'
import { useApp } from './context'
import { Help, useHelp } from './Help'
import { Logo } from './Logo'
import { UserMenu } from './UserMenu'
import { Liveness } from './Liveness'

const Palette = lazy(() => import('./Palette'))

const placeOf = (plural: Plural) => {
  const { key, ...kind } = kindOf(plural)
  return key === undefined ? [] : [{ to: `/${plural}` as const, ...kind, key }]
}
const afterStates = plurals.indexOf('states') + 1

const places = [
  { to: '/', label: 'Overview', key: 'o', icon: Home, wide: false } as const,
  ...plurals.slice(0, afterStates).flatMap(placeOf),
  { to: '/resources', label: 'Resources', key: 'e', icon: Layers, wide: false } as const,
  ...plurals.slice(afterStates).flatMap(placeOf),
  { to: '/graph', label: 'Graph', key: 'd', icon: Network, wide: false } as const,
]

/** The frame around every page but the sign-in. */
export function Layout() {
  const { live } = useApp()
  const away = useLiveness(live) === 'away'
  const navigate = useNavigate()
  const help = useHelp()
  const [problem, setProblem] = useState<unknown>()
  const [palette, setPalette] = useState(false)
  const me = useQuery({ ...meQuery, refetchInterval: (q) => (q.state.status === 'error' ? 5_000 : false) })
  useEffect(() => {
    live.start()
    return () => live.stop()
  }, [live])
  useKeysOver(palette)
  useKeys({
    '?': () => help.setOpen(true),
    ...Object.fromEntries(places.map((p) => [`g ${p.key}`, () => void navigate({ to: p.to })])),
  })
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return
      if (document.querySelector('[role=dialog]')) return
      event.preventDefault()
      setPalette(true)
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [])
  return (
    <div className="flex h-dvh flex-col md:flex-row">
      <a
        href="#main"
        className="bg-panel sr-only z-50 rounded-md p-2 focus:not-sr-only focus:absolute focus:top-2 focus:left-2"
      >
        Skip to content
      </a>
      <header className="border-line bg-panel flex shrink-0 items-center gap-2 border-b px-3 py-2 md:w-48 md:flex-col md:items-stretch md:gap-4 md:border-r md:border-b-0 md:py-3">
        <Link to="/" className="flex items-center gap-2 text-lg font-semibold md:px-2">
          <Logo className="size-6" /> Cairn
        </Link>
        <button
          type="button"
          aria-keyshortcuts="Control+K Meta+K"
          className={`${buttonClass()} ml-auto text-muted md:mx-0 md:justify-start md:px-2`}
          onClick={() => setPalette(true)}
        >
          <Search aria-hidden className="size-4" />
          <span className="sr-only md:not-sr-only">Search</span>
          <kbd aria-hidden className="ml-auto hidden font-mono text-xs md:inline">
            Ctrl K
          </kbd>
        </button>
        <Places className="hidden flex-col gap-0.5 md:flex" />
        <div className="flex items-center gap-1 md:mt-auto md:ml-0 md:flex-col md:items-stretch">
          <Liveness />
          <UserMenu me={me.data} onHelp={() => help.setOpen(true)} onProblem={setProblem} />
        </div>
      </header>
      <main
        id="main"
        tabIndex={-1}
        className="flex min-h-0 min-w-0 grow flex-col overflow-y-auto p-3 focus:outline-none md:p-5"
      >
        {away && (
          <p role="status" className="bg-warnbg text-warn mb-3 rounded-md p-2">
            Disconnected: what is shown may be outdated. Connecting again…
          </p>
        )}
        {me.error && (
          <div className="mb-3">
            <Problem error={me.error} retry={() => void me.refetch()} />
          </div>
        )}
        {problem !== undefined && (
          <div className="mb-3">
            <Problem error={problem} />
          </div>
        )}
        <Outlet />
      </main>
      <Places className="border-line bg-panel flex shrink-0 justify-around border-t md:hidden" below />
      <Help open={help.open} onOpenChange={help.setOpen} places={places} />
      {palette && (
        <Suspense>
          <Palette onClose={() => setPalette(false)} places={places} />
        </Suspense>
      )}
    </div>
  )
}

/** The ways to the pages: beside them, or on a phone below. */
function Places({ className, below }: { className: string; below?: boolean }) {
  const waiting = useQuery(listQuery('runs', { phase: 'AwaitingApproval', limit: 1 }))
  return (
    <nav aria-label="Pages" className={className}>
      {places
        .filter((p) => !below || !p.wide)
        .map(({ to, label, icon: Icon }) => (
          <Link
            key={to}
            to={to}
            activeOptions={{ exact: to === '/', includeSearch: false }}
            className={
              below
                ? 'text-muted data-[status=active]:text-accent relative flex min-w-0 grow flex-col items-center gap-0.5 px-px py-1.5 text-[0.625rem]'
                : 'text-muted hover:bg-hover hover:text-ink data-[status=active]:bg-chosen data-[status=active]:text-ink flex h-8 items-center gap-2 rounded-md px-2 font-medium'
            }
          >
            <Icon aria-hidden className={below ? 'size-5' : 'size-4'} />
            <span className="max-w-full truncate">{label}</span>
            {to === '/runs' && !!waiting.data?.total && (
              <span
                aria-label={`${waiting.data.total} await approval`}
                className={`bg-warnbg text-warn rounded px-1 text-xs tabular-nums ${below ? 'absolute top-0.5 ml-7' : 'ml-auto'}`}
              >
                {waiting.data.total > 999 ? '999+' : waiting.data.total}
              </span>
            )}
          </Link>
        ))}
    </nav>
  )
}
