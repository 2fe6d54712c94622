import type { components } from './schema'

type Schemas = components['schemas']
export type Stack = Schemas['Stack']
export type Run = Schemas['Run']
export type Repository = Schemas['Repository']
export type State = Schemas['State']
export type Activity = Schemas['Activity']
export type Problem = Schemas['Problem']
export type Me = Schemas['Me']
export type SignInMethod = Schemas['SignInMethod']
export type ObjectEvent = Schemas['Event']

/** An answer of the API that is an error, or none at all. Its message is a sentence for a person. */
export class ProblemError extends Error {
  readonly problem: Problem
  constructor(problem: Problem) {
    super(problem.detail || problem.title)
    this.name = 'ProblemError'
    this.problem = problem
  }
  get status() {
    return this.problem.status
  }
}

/** Turns whatever was thrown into a problem that can be shown. */
export function asProblem(error: unknown): Problem {
  if (error instanceof ProblemError) return error.problem
  const detail = error instanceof Error ? error.message : String(error)
  return { type: 'about:blank', title: 'Something went wrong in the page', status: 0, detail }
}

const unreachable: Problem = {
  type: 'about:blank',
  title: "Cairn's server cannot be reached",
  status: 0,
  detail:
    'The page asks again by itself. If it goes on: look whether the server runs, and whether you are still in its network.',
}

/** Of what was to be done nobody knows then whether it was: the server may have got it, and not its answer have come back. */
const lost: Problem = {
  ...unreachable,
  detail:
    'It is not known whether this was done, and it is not sent again by itself: look how it stands, and try again where it was not.',
}

async function ask(path: string, init: RequestInit): Promise<Response> {
  let answer: Response
  try {
    answer = await fetch(path, init)
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new ProblemError((init.method ?? 'GET') === 'GET' ? unreachable : lost)
  }
  if (answer.ok && !isForeign(answer)) return answer
  throw new ProblemError(await problemOf(answer))
}

/** Tells an answer that is none of the API, however well it went: that of a proxy which leads to its own sign-in is a page. */
export function isForeign(answer: Response): boolean {
  return answer.headers.get('content-type')?.startsWith('text/html') === true
}

const foreign: Problem = {
  type: 'about:blank',
  title: 'It was not Cairn that answered',
  status: 0,
  detail:
    'Something between this page and Cairn answered with a page of its own, as a proxy does whose sign-in is over. Reload this page.',
}

/** The problem that an answer which is an error tells of; also when something between here and Cairn answered. */
export async function problemOf(answer: Response): Promise<Problem> {
  if (answer.ok) return { ...foreign, status: answer.status }
  const fallback: Problem = {
    type: 'about:blank',
    title: answer.statusText || `Answer ${answer.status}`,
    status: answer.status,
    detail: `Something between this page and Cairn answered ${answer.status}. Try again, or ask who runs Cairn.`,
  }
  if (!answer.headers.get('content-type')?.includes('application/problem+json')) return fallback
  try {
    return { ...fallback, ...((await answer.json()) as Partial<Problem>), status: answer.status }
  } catch {
    return fallback
  }
}

/** Sends a request to the API. Every answer that is an error is thrown as ProblemError. Path begins with /api/v1. */
export async function send(
  method: 'POST' | 'DELETE' | 'GET',
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<Response> {
  return ask(path, {
    method,
    signal,
    headers:
      body === undefined
        ? { accept: 'application/json' }
        : { accept: 'application/json', 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
}

export type Plural = 'stacks' | 'runs' | 'repositories' | 'states'

/** The address of an object in the API. What cannot be a name, as `..` in an address of this page, leads nowhere. */
export function objectPath(kind: Plural, namespace: string, name: string, rest = ''): string {
  for (const part of [namespace, name]) {
    if (!/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(part) || part.includes('..')) {
      throw new ProblemError({
        type: 'about:blank',
        title: 'No such name',
        status: 400,
        detail: `${JSON.stringify(part)} cannot be the name of anything: look at the address of this page.`,
      })
    }
  }
  return `/api/v1/namespaces/${namespace}/${kind}/${name}${rest && '/' + rest}`
}
