import { webAddress } from './address'

/** Where the pages of commits and files are, after the address of the repository. */
const paths: Record<string, { commit: string; file?: string }> = {
  GitHub: { commit: '/commit/', file: '/tree/' },
  GitLab: { commit: '/-/commit/', file: '/-/tree/' },
  Gitea: { commit: '/commit/', file: '/src/commit/' },
  Forgejo: { commit: '/commit/', file: '/src/commit/' },
  Bitbucket: { commit: '/commits/', file: '/src/' },
  // Its pages have other addresses than its repositories.
  BitbucketDataCenter: { commit: '' },
}
const hosts: Record<string, string> = {
  'github.com': 'GitHub',
  'gitlab.com': 'GitLab',
  'codeberg.org': 'Forgejo',
  'bitbucket.org': 'Bitbucket',
}

/** The commit of a revision such as main@sha1:1f3c…; undefined if the revision is no commit. */
export function commitOf(revision: string | undefined): string | undefined {
  return /@sha1:([0-9a-f]{40,64})$/.exec(revision ?? '')?.[1]
}

/**
 * The pages of a commit, and of a path in it, at the Git provider. Undefined if the revision is no commit, the provider has no
 * address of the web, or its paths are unknown.
 */
export function providerPages(
  url: string,
  provider: string | undefined,
  revision: string,
  path = '',
): { commit?: string; file?: string } {
  const commit = commitOf(revision)
  const [, host, inside] =
    /^ssh:\/\/(?:[^@/]+@)?([^:/]+)(?::\d+)?\/(.+)$/.exec(url) ?? /^[^@/:]+@([^:/]+):(.+)$/.exec(url) ?? []
  const address = webAddress(host ? `https://${host}/${inside}` : url)
  if (!commit || !address) return {}
  const page = new URL(address)
  page.username = page.password = ''
  const base = page.origin + page.pathname.replace(/\/$/, '').replace(/\.git$/, '')
  const of = paths[provider ?? hosts[page.hostname] ?? ''] ?? { commit: '/commit/' }
  return {
    ...(of.commit && { commit: base + of.commit + commit }),
    ...(of.file && { file: `${base}${of.file}${commit}/${path.split('/').map(encodeURIComponent).join('/')}` }),
  }
}
