import type { Plural } from '../kinds'
import type { components } from './schema'

export type { Plural }

type Schemas = components['schemas']
export type Stack = Schemas['Stack']
export type StackSet = Schemas['StackSet']
export type Run = Schemas['Run']
export type Repository = Schemas['Repository']
export type State = Schemas['State']
export type PullRequest = Schemas['PullRequest']
export type Notification = Schemas['Notification']
export type Pipeline = Schemas['Pipeline']
export type DriftPause = Schemas['DriftPause']
export type Resources = Schemas['Resources']
export type Activity = Schemas['Activity']
export type Problem = Schemas['Problem']
export type Me = Schemas['Me']
export type SignInMethod = Schemas['SignInMethod']
export type ObjectEvent = Schemas['Event']
export type Facet = Schemas['Facet']
export type Group = Schemas['Group']

/** An error response of the API, or no response. Its message is a sentence for users. */
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
  return { type: 'about:blank', title: 'An error occurred in the web UI', status: 0, detail }
}

const unreachable: Problem = {
  type: 'about:blank',
  title: "Cairn's server cannot be reached",
  status: 0,
  detail:
    'The web UI retries automatically. If the problem continues, check whether the server is running and whether your network can reach it.',
}

/** The result of an action is then unknown: the server may have received the request although the response was lost. */
const lost: Problem = {
  ...unreachable,
  detail:
    'The server may or may not have received this request, and the web UI does not repeat it. Check the state of the object, and try again if nothing changed.',
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

/** Reports whether a response is not from the API, even if it succeeded: a proxy may respond with its sign-in page. */
export function isForeign(answer: Response): boolean {
  return answer.headers.get('content-type')?.startsWith('text/html') === true
}

const foreign: Problem = {
  type: 'about:blank',
  title: 'The response is not from Cairn',
  status: 0,
  detail:
    'A proxy between the web UI and Cairn responded with a page, for example because its session expired. Reload the web UI.',
}

/** Returns the problem of an error response, also if a proxy sent it. */
export async function problemOf(answer: Response): Promise<Problem> {
  if (answer.ok) return { ...foreign, status: answer.status }
  const fallback: Problem = {
    type: 'about:blank',
    title: answer.statusText || `Answer ${answer.status}`,
    status: answer.status,
    detail: `A proxy between the web UI and Cairn responded with ${answer.status}. Try again, or contact the administrator of Cairn.`,
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

/** The address of an object in the API. What cannot be a name, as `..` in an address of this page, leads nowhere. */
export function objectPath(kind: Plural, namespace: string, name: string, rest = ''): string {
  for (const part of [namespace, name]) {
    if (!/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(part) || part.includes('..')) {
      throw new ProblemError({
        type: 'about:blank',
        title: 'No such name',
        status: 400,
        detail: `${JSON.stringify(part)} is not a valid name: check the address.`,
      })
    }
  }
  return `/api/v1/namespaces/${namespace}/${kind}/${name}${rest && '/' + rest}`
}
