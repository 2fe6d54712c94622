// The sidebar follows from the files of docs/: a title is that of the page. A new page of how-to/ needs a group here, or
// the build fails.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { DefaultTheme } from 'vitepress'

const docs = join(import.meta.dirname, '..')

// How-to pages by task.
const howTo: Record<string, string[]> = {
  'Install and operate': ['install', 'cli', 'production', 'upgrade', 'upgrade-changes', 'leave', 'bucket', 'keys', 'expose', 'sso', 'network-policies', 'engines', 'build-cairn'],
  'Namespaces, users and tenants': ['namespaces', 'teams', 'tenants', 'access', 'access-audit', 'access-limits', 'shells', 'pod-templates'],
  'Git and credentials': ['git', 'share-repository', 'stacksets', 'stackset-values', 'stacksets-namespaces', 'stack-policies', 'pull-requests', 'pull-requests-approve', 'pull-requests-before', 'pull-requests-after', 'gitops', 'cloud-credentials'],
  'Variables': ['variables', 'variable-sets'],
  'Plans and approvals': ['environments', 'promotion', 'approvals', 'roll-back', 'self-approval', 'requests', 'drift', 'policies', 'policy-inputs', 'hooks', 'commands'],
  'States': ['state', 'move-resources', 'find-resources', 'state-backup', 'restore', 'backends', 'local-plans', 'partial'],
  'Images and engines': ['images', 'image-builds', 'provider-images', 'terragrunt'],
  'Migrate': ['migrate', 'adopt-root-modules', 'migrate-states', 'migrate-checks', 'metacontroller', 'metacontroller-details'],
  'Monitor': ['monitoring', 'metrics', 'notifications', 'notifications-webhook'],
}

// The first pages of other sections; the rest follows by title.
const first: Record<string, string[]> = {
  tutorials: ['index', 'first-stack', 'monorepo', 'stackset', 'promotion', 'pull-requests', 'to-production', 'approvals', 'aws'],
  concepts: ['index', 'stacks-and-runs', 'inputs', 'approval', 'state-and-journal', 'dependencies', 'availability', 'security-model'],
  troubleshooting: ['index', 'reasons', 'reasons-stack', 'reasons-configuration', 'reasons-run', 'reasons-repository', 'reasons-pull-request', 'reasons-stackset', 'reasons-notification', 'reasons-pipeline', 'reasons-state', 'failures'],
  reference: ['api', 'cli', 'helm', 'environment', 'metrics', 'http-api'],
  about: ['comparison', 'guarantees', 'faq'],
  contributing: ['architecture', 'packages', 'testing', 'reliability', 'simulation', 'faults', 'mutants', 'performance'],
}

function pages(folder: string): string[] {
  if (!existsSync(join(docs, folder))) return []
  return readdirSync(join(docs, folder)).filter((file) => file.endsWith('.md')).map((file) => file.slice(0, -3))
}

export function title(page: string): string {
  const heading = /^# (.+)$/m.exec(readFileSync(join(docs, page + '.md'), 'utf8'))
  if (!heading) throw new Error(`docs/${page}.md has no title: a line that begins with "# "`)
  return heading[1].replaceAll('`', '')
}

function item(folder: string, page: string): DefaultTheme.SidebarItem {
  if (page === 'index') return { text: 'Overview', link: `/${folder}/` }
  return { text: title(`${folder}/${page}`), link: `/${folder}/${page}` }
}

function items(folder: string): DefaultTheme.SidebarItem[] {
  const order = first[folder] ?? []
  const rank = (page: string) => (order.includes(page) ? order.indexOf(page) : order.length)
  return pages(folder)
    .sort((a, b) => rank(a) - rank(b) || title(`${folder}/${a}`).localeCompare(title(`${folder}/${b}`)))
    .map((page) => item(folder, page))
}

function groups(): DefaultTheme.SidebarItem[] {
  const named = Object.values(howTo).flat()
  const all = pages('how-to')
  const missing = all.filter((page) => page !== 'index' && !named.includes(page))
  const gone = named.filter((page) => !all.includes(page))
  if (missing.length || gone.length) {
    throw new Error(`docs/.vitepress/sidebar.ts: add ${missing.join(', ') || 'nothing'}; remove ${gone.join(', ') || 'nothing'}`)
  }
  return Object.entries(howTo).map(([text, group]) => ({ text, items: group.map((page) => item('how-to', page)) }))
}

function decisions(): DefaultTheme.SidebarItem[] {
  return pages('contributing/decisions')
    .sort((a, b) => Number(b === 'index') - Number(a === 'index') || a.localeCompare(b))
    .map((page) => item('contributing/decisions', page))
}

const sections: [folder: string, text: string][] = [
  ['tutorials', 'Tutorials'], ['how-to', 'How-to'], ['concepts', 'Concepts'], ['reference', 'Reference'],
  ['troubleshooting', 'Troubleshooting'], ['about', 'About'], ['contributing', 'Contributing'],
]

export function sidebar(): DefaultTheme.SidebarMulti {
  const all: DefaultTheme.SidebarMulti = {}
  for (const [folder, text] of sections) {
    all[`/${folder}/`] = folder === 'how-to' ? groups() : [{ text, items: items(folder) }]
  }
  all['/contributing/'].push({ text: 'Decisions', collapsed: true, items: decisions() })
  return all
}

function link(items: DefaultTheme.SidebarItem[]): string {
  return items[0].link ?? link(items[0].items ?? [])
}

export function nav(bar: DefaultTheme.SidebarMulti): DefaultTheme.NavItem[] {
  const entry = ([folder, text]: [string, string]) => {
    const items = bar[`/${folder}/`] as DefaultTheme.SidebarItem[]
    return items.some((group) => group.items?.length) ? [{ text, link: link(items), activeMatch: `^/${folder}/` }] : []
  }
  const main = sections.filter(([folder]) => !['about', 'contributing'].includes(folder))
  const more = sections.filter(([folder]) => ['about', 'contributing'].includes(folder))
  return [...main.flatMap(entry), { text: 'About', items: more.flatMap(entry) }]
}
