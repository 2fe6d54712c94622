import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useRouter } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useState } from 'react'
import { send } from '../api/client'
import { signinQuery } from '../api/queries'
import { useApp } from '../app/context'
import { Logo } from '../app/Logo'
import { isInside } from '../app/search'
import { Button, buttonClass } from '../ui/Button'
import { useTitle } from '../ui/Page'
import { Problem } from '../ui/Problem'
import { Skeletons } from '../ui/Skeleton'

const route = getRouteApi('/signin')

/** What to do after a sign-in failed, by the reason that the server reports. */
const failures: Record<string, ReactNode> = {
  LinkExpired: (
    <>
      This link was used already, or is older than ten minutes. <code className="font-mono">cairn dev link</code> prints
      a new one.
    </>
  ),
  OtherSite: 'Another site opened the sign-in link. If you trust it, copy the link into the address bar.',
  SignInExpired: 'The sign-in took too long, or was started in another browser. Sign in again.',
  ProviderDenied:
    'The identity provider did not sign you in. Ask its administrator whether you are assigned to this application.',
  ProviderError:
    'The identity provider is unavailable, or its response is not valid. Sign in again; if that fails too, contact the administrator of Cairn.',
  IdentityRejected:
    'The identity provider sent a user name or groups that cannot be used: a name that is missing, that is not verified, or that begins with system:. Contact the administrator of Cairn.',
  TooLarge: 'You are in too many groups for the session of a browser. Contact the administrator of Cairn.',
  TokenRejected: 'Kubernetes rejected the token: it expired, or is for another audience. Create a new one.',
  Failed: 'The sign-in failed. The server log has the reason: contact the administrator of Cairn.',
}

/** The ways to sign in. */
export default function Signin() {
  useTitle('Sign in')
  const { to = '/' } = route.useSearch()
  const signin = useQuery(signinQuery)
  const methods = signin.data?.methods ?? []
  const failure = signin.data?.failure
  const others = methods.filter((m) => m.type !== 'Token' && m.url && isInside(m.url))
  return (
    <main className="mx-auto flex min-h-dvh w-full max-w-sm flex-col justify-center gap-4 p-4">
      <div className="flex items-center gap-2">
        <Logo className="size-8" />
        <h1 className="text-xl font-semibold">Sign in to Cairn</h1>
      </div>
      {failure && (
        <div role="alert" className="border-bad/40 bg-badbg rounded-md border p-3 break-words">
          {failures[failure] ?? failures.Failed}
        </div>
      )}
      {signin.error && <Problem error={signin.error} retry={() => void signin.refetch()} />}
      {signin.isPending && <Skeletons label="Loading the ways to sign in" />}
      {others.map((m) => (
        <a key={m.url} href={`${m.url}?to=${encodeURIComponent(to)}`} className={buttonClass('main')}>
          Sign in with {m.name ?? m.type}
        </a>
      ))}
      {methods.some((m) => m.type === 'Token') && (
        <>
          {others.length > 0 && <p className="text-muted text-center text-sm">or</p>}
          <WithToken to={to} />
        </>
      )}
    </main>
  )
}

/** Signs in with a Kubernetes token. The web UI drops it at once: the server keeps it in a cookie that no script can read. */
function WithToken({ to }: { to: string }) {
  const { client } = useApp()
  const router = useRouter()
  const [token, setToken] = useState('')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const signIn = async () => {
    setBusy(true)
    setError(undefined)
    try {
      await send('POST', '/api/v1/session', { token: token.trim() })
      setToken('')
      client.clear()
      await router.navigate({ href: to, replace: true })
    } catch (problem) {
      setError(problem)
    } finally {
      setBusy(false)
    }
  }
  return (
    <form
      className="panel flex flex-col gap-3 p-4"
      onSubmit={(event) => {
        event.preventDefault()
        if (token.trim() && !busy) void signIn()
      }}
    >
      <label className="flex flex-col gap-1">
        <span className="font-medium">Kubernetes token</span>
        <input
          type="password"
          name="token"
          className="field font-mono"
          value={token}
          onChange={(e) => setToken(e.target.value)}
          autoComplete="off"
          spellCheck={false}
        />
      </label>
      <p className="text-muted text-sm">
        <code className="font-mono">kubectl create token NAME</code> prints one. You can do here what its ServiceAccount
        can do in Kubernetes. On your own machine, <code className="font-mono">cairn dev link</code> prints a link that
        signs you in.
      </p>
      <Problem error={error} />
      <Button type="submit" kind="main" busy={busy} disabled={busy || !token.trim()}>
        Sign in
      </Button>
    </form>
  )
}
