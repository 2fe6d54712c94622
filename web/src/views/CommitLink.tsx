import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { objectQuery } from '../api/queries'
import { commitAddress } from '../ui/commit'

/** A revision, with a link to its commit at the Git provider if the user may see the Repository. */
export function CommitLink({
  repository = '',
  revision,
  children,
}: {
  repository: string | undefined
  revision: string
  children: ReactNode
}) {
  const [namespace = '', name = ''] = repository.split('/')
  const found = useQuery({
    ...objectQuery('repositories', namespace, name),
    enabled: name !== '',
    retry: false,
    staleTime: Infinity,
  })
  const spec = found.data?.object?.spec
  const address = spec && commitAddress(spec.url, spec.pullRequests?.provider, revision)
  if (!address) return <>{children}</>
  return (
    <a href={address} target="_blank" rel="noopener noreferrer" className="link" title={address}>
      {children}
    </a>
  )
}
