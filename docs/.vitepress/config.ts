// The site of the documentation: `make docs`. BASE is the path under which it is served, REF the tag of its version.
import { existsSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { defineConfig } from 'vitepress'
import { write } from './llms'
import { nav, sidebar, title } from './sidebar'

const base = process.env.BASE || '/'
const version = base.split('/').filter(Boolean).pop() ?? ''
const docs = join(import.meta.dirname, '..')
const repository = 'https://github.com/cairn-dev/cairn'
const bar = sidebar()

// slugify returns the anchor of a heading as GitHub does, so that links work in both places.
const slugify = (text: string) => text.trim().toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-')

// inRepository returns the address of a file that is no page of the site: one outside of docs/, or no Markdown.
function inRepository(page: string, href: string): string | undefined {
  const [path] = href.split('#')
  if (!path || /^([a-z]+:|\/)/.test(path)) return
  const file = join(docs, dirname(page), path)
  const outside = relative(docs, file).startsWith('..')
  if (!existsSync(file) || (!outside && (/\.(md|png)$/.test(path) || statSync(file).isDirectory()))) return
  const kind = statSync(file).isDirectory() ? 'tree' : 'blob'
  return `${repository}/${kind}/${process.env.REF || 'main'}/${relative(join(docs, '..'), file)}`
}

export default defineConfig({
  title: version ? `Cairn ${version}` : 'Cairn',
  description: 'Run OpenTofu and Terraform on Kubernetes',
  lang: 'en',
  base,
  outDir: join(docs, '../bin/docs', base),
  cacheDir: join(docs, '../bin/docs-cache'),
  cleanUrls: false,
  metaChunk: true,
  markdown: {
    html: false, // so that <name> in a text is a text
    anchor: { slugify },
    toc: { slugify },
    languageAlias: { rego: 'ruby' }, // the nearest one of the highlighter
    config(md) {
      // A template of Vue begins with `{{`. In blocks of code VitePress prevents it by itself.
      for (const rule of ['text', 'code_inline']) {
        const render = md.renderer.rules[rule]!
        md.renderer.rules[rule] = (...args) => render(...args).replaceAll('{{', '&#123;&#123;')
      }
      // A comment is for the tests of the page.
      md.block.ruler.before('table', 'comment', (state, start, end, silent) => {
        const line = (n: number) => state.src.slice(state.bMarks[n] + state.tShift[n], state.eMarks[n])
        if (state.sCount[start] - state.blkIndent >= 4 || !line(start).startsWith('<!--')) return false
        if (silent) return true
        let last = start
        while (last < end - 1 && !line(last).includes('-->')) last++
        state.line = last + 1
        return true
      }, { alt: ['paragraph', 'list', 'blockquote'] })
      md.core.ruler.push('links-to-repository', (state) => {
        for (const token of state.tokens.flatMap((block) => block.children ?? [])) {
          const address = token.type === 'link_open' && inRepository(state.env.relativePath, token.attrGet('href')!)
          if (address) token.attrSet('href', address)
        }
      })
    },
  },
  // The Markdown of a page is beside it, for programs: see llms.ts.
  transformHead: ({ pageData }) => [
    ['link', { rel: 'alternate', type: 'text/markdown', href: base + pageData.relativePath }],
  ],
  buildEnd: (site) => write(docs, site.outDir, base, site.pages, bar, title, inRepository),
  vite: { build: { chunkSizeWarningLimit: 2000 } }, // the index of the search
  themeConfig: {
    nav: nav(bar),
    sidebar: bar,
    outline: { level: [2, 3] },
    search: { provider: 'local' },
    socialLinks: [{ icon: 'github', link: repository }],
  },
})
