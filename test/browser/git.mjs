// A Git server on this machine with one repository.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const alice = ['-c', 'user.name=Alice', '-c', 'user.email=alice@example.com']

/** Serves a repository with one commit of files by git http-backend. */
export async function serveGit(files, message) {
  const root = await mkdtemp(join(tmpdir(), 'cairn-git-'))
  const work = join(root, 'infra.git')
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(work, path)), { recursive: true })
    await writeFile(join(work, path), text)
  }
  const git = (...args) => run('git', ['-C', work, ...alice, ...args])
  await git('init', '--quiet', '--initial-branch=main')
  await git('add', '.')
  await git('commit', '--quiet', '--message', message)

  const server = createServer((request, response) => void handle(root, request, response))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${server.address().port}/infra.git`,
    stop: async () => {
      server.closeAllConnections()
      server.close()
      await rm(root, { recursive: true, force: true })
    },
  }
}

/** Handles a request by git http-backend, a CGI program, which prints headers, an empty line and the body. */
async function handle(root, request, response) {
  const url = new URL(request.url, 'http://localhost')
  const env = {
    ...process.env,
    GIT_PROJECT_ROOT: root,
    GIT_HTTP_EXPORT_ALL: '1',
    PATH_INFO: url.pathname.replace('/infra.git', '/infra.git/.git'),
    QUERY_STRING: url.search.slice(1),
    REQUEST_METHOD: request.method,
    CONTENT_TYPE: request.headers['content-type'] ?? '',
    HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
    GIT_PROTOCOL: request.headers['git-protocol'] ?? '',
  }
  const cgi = spawn('git', ['http-backend'], { env, stdio: ['pipe', 'pipe', 'ignore'] })
  request.pipe(cgi.stdin)
  const parts = []
  for await (const part of cgi.stdout) parts.push(part)
  const all = Buffer.concat(parts)
  const end = all.indexOf('\r\n\r\n')
  for (const line of all.subarray(0, end).toString().split('\r\n')) {
    const [, name, value] = /^([^:]+): *(.*)$/.exec(line) ?? []
    if (name === 'Status') response.statusCode = Number(value.slice(0, 3))
    else if (name) response.setHeader(name, value)
  }
  response.end(all.subarray(end + 4))
}
