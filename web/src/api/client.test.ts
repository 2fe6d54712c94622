import { beforeEach, describe, expect, test, vi } from 'vitest'
import { asProblem, objectPath, problemOf, ProblemError, send } from './client'

const answer = (status: number, body: string, type = 'application/problem+json') =>
  new Response(body, { status, headers: { 'content-type': type } })

describe('an error response', () => {
  test('has the message of the API', async () => {
    const problem = { type: 'about:blank', title: 'Conflict', status: 409, detail: 'Run web-1 has another plan now' }
    expect(await problemOf(answer(409, JSON.stringify(problem)))).toEqual(problem)
  })
  test('has the status of the response, whatever its body contains', async () => {
    expect((await problemOf(answer(401, '{"status":200,"title":"x","detail":"y"}'))).status).toBe(401)
  })
  test('that is not from Cairn still explains what to do', async () => {
    const problem = await problemOf(answer(502, '<html>Bad gateway</html>', 'text/html'))
    expect(problem).toMatchObject({ status: 502 })
    expect(problem.detail).toContain('responded with 502')
    expect(problem.detail).not.toContain('<html>')
    expect((await problemOf(answer(500, 'not json'))).detail).toContain('responded with 500')
  })
})

describe('a request', () => {
  const fetched = vi.fn<typeof fetch>()
  beforeEach(() => {
    fetched.mockReset()
    vi.stubGlobal('fetch', fetched)
  })
  test('is JSON with its content type', async () => {
    fetched.mockResolvedValue(new Response('{}'))
    await send('POST', '/api/v1/session', { token: 't' })
    expect(fetched.mock.calls[0]?.[1]).toMatchObject({
      method: 'POST',
      body: '{"token":"t"}',
      headers: { 'content-type': 'application/json' },
    })
  })
  test('that is rejected throws a problem', async () => {
    fetched.mockResolvedValue(answer(403, '{"title":"Forbidden","detail":"no"}'))
    await expect(send('POST', '/x')).rejects.toMatchObject({ status: 403, message: 'no' })
  })
  test('to a server that is unavailable throws a problem with that reason', async () => {
    fetched.mockRejectedValue(new TypeError('failed to fetch'))
    await expect(send('GET', '/x')).rejects.toBeInstanceOf(ProblemError)
  })
  test('for an action without a response is reported as possibly received', async () => {
    fetched.mockRejectedValue(new TypeError('failed to fetch'))
    await expect(send('GET', '/x')).rejects.toThrow('retries automatically')
    for (const method of ['POST', 'DELETE'] as const)
      await expect(send(method, '/x')).rejects.toThrow('The server may or may not have received this request')
  })
  test('does not succeed with a response that is not from Cairn', async () => {
    const page = () => Promise.resolve(answer(200, '<html>Sign in to the company</html>', 'text/html; charset=utf-8'))
    fetched.mockImplementation(page)
    for (const method of ['POST', 'GET'] as const) {
      const error: unknown = await send(method, '/x').catch((e: unknown) => e)
      expect(error).toBeInstanceOf(ProblemError)
      expect((error as ProblemError).problem.title).toBe('The response is not from Cairn')
      expect((error as ProblemError).message).toContain('Reload')
    }
  })
  test('that is aborted is not a problem', async () => {
    fetched.mockRejectedValue(new DOMException('', 'AbortError'))
    await expect(send('GET', '/x')).rejects.not.toBeInstanceOf(ProblemError)
  })
})

test('URLs contain only valid names', () => {
  expect(objectPath('runs', 'shop', 'web-1.v2', 'plan')).toBe('/api/v1/namespaces/shop/runs/web-1.v2/plan')
  for (const name of ['..', '.', '', 'a/b', 'a?b', 'a..b', '%2e%2e', 'a\nb', 'x'.repeat(254)]) {
    expect(() => objectPath('runs', 'shop', name)).toThrow('is not a valid name')
    expect(() => objectPath('runs', name, 'web-1')).toThrow('is not a valid name')
  }
})

test('any thrown value can be shown', () => {
  expect(asProblem(new Error('it broke')).detail).toBe('it broke')
  expect(asProblem('it broke').detail).toBe('it broke')
})
