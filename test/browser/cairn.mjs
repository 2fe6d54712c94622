// Starts a whole Cairn on this machine, with real runs and real engines, as `cairn dev` does.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

const run = promisify(execFile)
const cairn = process.env.CAIRN ?? new URL('../../bin/cairn', import.meta.url).pathname

/** Starts Cairn, and returns the sign-in link of the administrator, functions for its objects, and one to stop it. */
export async function startCairn() {
  const data = await mkdtemp(join(tmpdir(), 'cairn-browser-'))
  const child = spawn(cairn, ['dev', '--data', data, '--', '--drift-interval=0'], { stdio: ['ignore', 'pipe', 'pipe'] })
  let errors = ''
  child.stderr.on('data', (text) => (errors = (errors + text).slice(-4_000)))
  const ended = once(child, 'exit')
  const env = { ...process.env }
  let link
  const lines = createInterface({ input: child.stdout })
  const ready = (async () => {
    for await (const line of lines) {
      const exported = /export KUBECONFIG=(\S+) PATH=([^$]*)/.exec(line)
      if (exported) Object.assign(env, { KUBECONFIG: exported[1], PATH: exported[2] + process.env.PATH })
      link ??= /https?:\/\/\S+\/signin\/link\?\S+/.exec(line)?.[0]
      if (link && env.KUBECONFIG) return
    }
    throw new Error(`cairn dev ended before it printed the link:\n${errors}`)
  })()
  const stop = async () => {
    child.kill('SIGTERM')
    await ended
    await rm(data, { recursive: true, force: true })
  }
  try {
    await ready
  } catch (error) {
    await stop()
    throw error
  }
  child.stdout.resume()
  /** Runs kubectl, and returns its output. */
  const kubectl = async (...args) => (await run('kubectl', args, { env })).stdout
  return {
    link,
    origin: new URL(link).origin,
    stop,
    /** Returns the ID of the process of operator and server. It is restarted when it ends. */
    pid: async () => Number(await readFile(join(data, 'serve.pid'), 'utf8')),
    kubectl,
    /** Returns a new link that signs the administrator in. */
    newLink: async () => (await run(cairn, ['dev', 'link', '--data', data])).stdout.trim(),
    /** Waits until an object exists and has a condition of kubectl wait. */
    until: async (object, condition, namespace = 'default') => {
      for (const wanted of ['create', condition]) await kubectl('wait', object, `--for=${wanted}`, `--namespace=${namespace}`, '--timeout=180s')
    },
    /** Applies objects. */
    apply: (...objects) => {
      const kubectl = spawn('kubectl', ['apply', '-f', '-'], { env, stdio: ['pipe', 'ignore', 'inherit'] })
      kubectl.stdin.end(JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }))
      return once(kubectl, 'exit').then(([code]) => {
        if (code !== 0) throw new Error(`kubectl apply ended with ${code}`)
      })
    },
  }
}

/** Returns a Stack with inline code. */
export function stack(name, code, spec = {}) {
  return {
    apiVersion: 'cairn.dev/v1alpha1',
    kind: 'Stack',
    metadata: { name, namespace: 'default' },
    spec: { source: { inline: { 'main.tf': code } }, ...spec },
  }
}
