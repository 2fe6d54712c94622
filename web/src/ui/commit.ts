import { webAddress } from './address'

/** The page of a commit at the Git provider, undefined if the revision is no commit or the provider has no address of the web. */
export function commitAddress(url: string, provider: string | undefined, revision: string): string | undefined {
  const commit = /@sha(?:1|256):([0-9a-f]{40,64})$/.exec(revision)?.[1]
  if (!commit) return undefined
  const [, host, inside] =
    /^ssh:\/\/(?:[^@/]+@)?([^:/]+)(?::\d+)?\/(.+)$/.exec(url) ?? /^[^@/:]+@([^:/]+):(.+)$/.exec(url) ?? []
  const address = webAddress(host ? `https://${host}/${inside}` : url)
  if (!address) return undefined
  const page = new URL(address)
  page.username = page.password = ''
  const path = page.pathname.replace(/\/$/, '').replace(/\.git$/, '')
  const known = provider ?? { 'gitlab.com': 'GitLab', 'bitbucket.org': 'Bitbucket' }[page.hostname]
  if (known === 'BitbucketDataCenter') return undefined // its pages have other paths than its repositories
  const part = known === 'GitLab' ? '/-/commit/' : known === 'Bitbucket' ? '/commits/' : '/commit/'
  return page.origin + path + part + commit
}
