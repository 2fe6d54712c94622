import { createMemoryHistory } from '@tanstack/react-router'
import { render } from '@testing-library/react'
import { vi } from 'vitest'
import { newApp } from '../app/start'

export type Answer = { status?: number; body?: unknown }
export type Asked = { method: string; path: string; body?: string }

/** A problem as the API answers it. */
export function problem(status: number, detail: string): Answer {
  return { status, body: { type: 'about:blank', title: 'Refused', status, detail } }
}

/**
 * Shows the page at an address, with a server that answers by path. A key with a query is for exactly that one; what has no answer
 * is empty. Returns what was asked.
 */
export function showApp(at: string, answers: Record<string, Answer | (() => Answer | Promise<Answer>)>) {
  const asked: Asked[] = []
  const serve = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const url = new URL(input instanceof Request ? input.url : input, 'http://localhost')
    const method = init?.method ?? 'GET'
    asked.push({ method, path: url.pathname + url.search, ...(typeof init?.body === 'string' && { body: init.body }) })
    const key = [`${method} ${url.pathname}`, url.pathname + url.search, url.pathname].find((k) => k in answers)
    const found = key === undefined ? { body: { items: [], total: 0, name: 'jane' } } : answers[key]!
    const { status = 200, body } = typeof found === 'function' ? await found() : found
    const type = status >= 400 ? 'application/problem+json' : 'application/json'
    const text = body === undefined ? null : JSON.stringify(body)
    return new Response(text, { status, headers: { 'content-type': type } })
  }
  vi.stubGlobal('fetch', serve)
  const app = newApp(createMemoryHistory({ initialEntries: [at] }))
  return { asked, ...app, ...render(app.element) }
}
