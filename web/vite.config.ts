import { brotliCompressSync, constants } from 'node:zlib'
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import type { Plugin } from 'vite'
import { defineConfig } from 'vitest/config'

/** How many bytes every page may load first, compressed. */
const shell = 170_000

/** What is worth it lies beside its compressed form, so that the server only has to send them. */
function compressed(): Plugin {
  let folder = ''
  return {
    name: 'compressed',
    apply: 'build',
    configResolved: (config) => {
      folder = config.build.outDir
    },
    closeBundle: () => {
      writeFileSync(join(folder, '.gitkeep'), '')
      for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
        if (!/\.(js|css|svg|html)$/.test(name)) continue
        const path = join(folder, name)
        const text = readFileSync(path)
        writeFileSync(
          path + '.br',
          brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: text.length } }),
        )
      }
      const links = readFileSync(join(folder, 'index.html'), 'utf8').matchAll(/(?:src|href)="\/([^"]+\.(?:js|css))"/g)
      const bytes = Array.from(links, ([, name]) => statSync(join(folder, `${name}.br`)).size).reduce((a, b) => a + b)
      if (bytes > shell) throw new Error(`every page loads ${bytes} bytes first, more than ${shell}: load a part later`)
    },
  }
}

// `npm run dev` shows the page of a server elsewhere: CAIRN_URL says which one. CAIRN_TOKEN, a token of Kubernetes, signs in; it
// stays in this process.
const server = process.env.CAIRN_URL ?? 'https://127.0.0.1:8443'
const token = process.env.CAIRN_TOKEN

export default defineConfig({
  plugins: [react(), tailwindcss(), compressed()],
  build: {
    target: ['chrome123', 'firefox128', 'safari17.5'],
    // Data addresses would need a wider policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1600,
  },
  worker: { format: 'es' },
  server: {
    proxy: Object.fromEntries(
      ['/api', '/signin/oidc', '/signin/link'].map((path) => [
        path,
        {
          target: server,
          secure: false,
          changeOrigin: true,
          ...(token && { headers: { authorization: `Bearer ${token}` } }),
        },
      ]),
    ),
  },
  test: {
    environment: 'jsdom',
    setupFiles: ['src/test/setup.ts'],
    include: ['src/**/*.test.{ts,tsx}'],
    restoreMocks: true,
    testTimeout: 60_000,
  },
})
