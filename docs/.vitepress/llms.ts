// Files for programs that read the documentation: the Markdown of each page beside its HTML, and llms.txt, the list of all
// pages with a sentence about each (https://llmstxt.org).
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { DefaultTheme } from 'vitepress'

/** A page for programs: its address, and its Markdown. */
type Page = { title: string; link: string; file: string; text: string }

/** links replaces the targets of links in Markdown, but not in code. */
function links(text: string, target: (href: string) => string): string {
  return text
    .split(/(^ {0,3}```[^]*?^ {0,3}```|`[^`\n]*`)/m)
    .map((part, i) => (i % 2 ? part : part.replace(/(\]\()([^)\s]+)(\))/g, (_, open, href, close) => open + target(href) + close)))
    .join('')
}

/** sentence returns the first sentence of the first paragraph after the title, without Markdown. */
export function sentence(text: string): string {
  const paragraph = text.replace(/<!--[^]*?-->/g, '').split(/\n{2,}/).find((p) => /^[A-Z`*[]/.test(p.trim())) ?? ''
  const plain = paragraph.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[`*]/g, '').replace(/\s+/g, ' ').trim()
  return /^.*?[.:](?= |$)/.exec(plain)?.[0].replace(/:$/, '.') ?? plain
}

/** listed returns the groups of a sidebar with their pages, in order. */
function listed(items: DefaultTheme.SidebarItem[], group = ''): [group: string, link: string][] {
  return items.flatMap((item): [string, string][] =>
    item.items ? listed(item.items, item.text ?? group) : item.link ? [[group, item.link]] : [],
  )
}

/**
 * write writes the files of a site. pages are the source files, relative to docs; target returns the address of a link that
 * leads out of the site. It throws if a page is in no list.
 */
export function write(
  docs: string, out: string, base: string, pages: string[], sidebar: DefaultTheme.SidebarMulti, title: (page: string) => string,
  target: (page: string, href: string) => string | undefined,
): void {
  const all = new Map<string, Page>()
  for (const file of pages) {
    const source = readFileSync(join(docs, file), 'utf8').replace(/^---\n[^]*?\n---\n/, '').replace(/^<!--[^]*?-->\n/gm, '')
    const text = links(source, (href) => target(file, href) ?? href)
    const link = '/' + file.slice(0, -'.md'.length).replace(/(^|\/)index$/, '$1')
    all.set(link, { title: file === 'index.md' ? 'Cairn' : title(file.slice(0, -'.md'.length)), link: base + file, file, text })
  }
  for (const page of all.values()) {
    mkdirSync(dirname(join(out, page.file)), { recursive: true })
    writeFileSync(join(out, page.file), page.text)
  }
  const lines = ['# Cairn', '', '> Cairn runs OpenTofu, Terraform and Terragrunt on Kubernetes: it plans every change, waits for an approval, and',
    '> applies exactly the plan that was approved.', '', 'Each page is Markdown at these addresses.']
  let last = ''
  const seen = new Set<string>(['/'])
  for (const section of Object.values(sidebar)) {
    for (const [group, link] of listed(section as DefaultTheme.SidebarItem[])) {
      const page = all.get(link)
      if (!page) throw new Error(`llms.txt: there is no page ${link}`)
      if (group !== last) lines.push('', `## ${group}`, '')
      last = group
      seen.add(link)
      lines.push(`- [${page.title}](${page.link}): ${sentence(page.text)}`)
    }
  }
  const missing = [...all.keys()].filter((link) => !seen.has(link))
  if (missing.length) throw new Error(`llms.txt has no line for ${missing.join(', ')}`)
  writeFileSync(join(out, 'llms.txt'), lines.join('\n') + '\n')
}
