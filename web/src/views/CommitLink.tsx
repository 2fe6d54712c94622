import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ExternalLink } from 'lucide-react'
import type { ReactNode } from 'react'
import { objectQuery } from '../api/queries'
import { commitOf, providerPages } from '../ui/commit'

type Props = { repository: string | undefined; revision: string | undefined; path?: string }

/** The pages of a commit and a path at the Git provider; none if the user may not read the Repository. */
function useProviderPages({ repository = '', revision = '', path }: Props): ReturnType<typeof providerPages> {
  const [namespace = '', name = ''] = repository.split('/')
  const found = useQuery({
    ...objectQuery('repositories', namespace, name),
    enabled: name !== '',
    retry: false,
    staleTime: Infinity,
  })
  const spec = found.data?.object?.spec
  return spec ? providerPages(spec.url, spec.pullRequests?.provider, revision, path) : {}
}

/** A link to a page of the Git provider. */
function ToProvider({ address, label }: { address: string | undefined; label: string }) {
  if (!address) return null
  return (
    <a href={address} target="_blank" rel="noopener noreferrer" className="link inline-flex" title={address}>
      <ExternalLink aria-label={label} className="size-3.5" />
    </a>
  )
}

/** A revision, with links to the page of its commit, here and at the Git provider. */
export function CommitLink({ children, ...props }: Props & { children: ReactNode }) {
  const pages = useProviderPages(props)
  const commit = commitOf(props.revision)
  if (!commit) return <>{children}</>
  return (
    <span className="inline-flex items-center gap-1">
      <Link to="/commits/$commit" params={{ commit }} className="link">
        {children}
      </Link>
      <ToProvider address={pages.commit} label="The commit at the Git provider" />
    </span>
  )
}

/** A path of a repository, with a link to it at the Git provider. */
export function PathLink({ children, ...props }: Props & { children: ReactNode }) {
  const pages = useProviderPages(props)
  return (
    <span className="inline-flex items-center gap-1">
      {children}
      <ToProvider address={pages.file} label="The path at the Git provider" />
    </span>
  )
}

/** A link to the page of a commit at the Git provider; empty if it has none. */
export function ProviderCommit(props: Props) {
  return <ToProvider address={useProviderPages(props).commit} label="The commit at the Git provider" />
}
