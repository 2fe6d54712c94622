import type { PullRequest, Run, Stack, StackSet } from '../api/client'

/** A Stack for tests: one that is fine. */
export function aStack(of: Partial<Stack> = {}): Stack {
  const name = of.name ?? 'web'
  return {
    namespace: 'shop',
    name,
    uid: `stack-${name}`,
    created: '2026-01-01T00:00:00Z',
    ready: 'True',
    reason: 'Applied',
    message: 'all is as declared',
    stalled: false,
    drifted: false,
    failing: false,
    suspended: false,
    deleted: false,
    destroyed: false,
    apply: 'Manual',
    engine: 'OpenTofu',
    resources: 3,
    ...of,
  }
}

/** A Run for tests: an apply that succeeded. */
export function aRun(of: Partial<Run> = {}): Run {
  const name = of.name ?? 'web-1'
  return {
    namespace: 'shop',
    name,
    uid: `run-${name}`,
    created: '2026-01-01T00:00:00Z',
    stack: 'web',
    operation: 'Apply',
    phase: 'Succeeded',
    cause: { type: 'Spec' },
    attempts: 1,
    ...of,
  }
}

/** A pull request for tests: one whose only plan succeeded. */
export function aPullRequest(of: Partial<PullRequest> = {}): PullRequest {
  const name = of.name ?? 'infra-7'
  return {
    namespace: 'shop',
    name,
    uid: `pull-${name}`,
    created: '2026-01-01T00:00:00Z',
    repository: 'infra',
    number: 7,
    title: 'Widen the subnet',
    author: 'gitea:git.example.com:alice',
    url: 'https://git.example.com/acme/infra/pulls/7',
    state: 'Open',
    phase: 'Planned',
    ready: 'True',
    reason: 'PlansReady',
    message: '1 Stack is planned',
    draft: false,
    fork: false,
    base: 'main',
    branch: 'wider',
    commit: 'a'.repeat(40),
    affected: 1,
    planned: 1,
    failed: 0,
    pending: 0,
    plan: { changes: true, add: 2, change: 1, destroy: 0, replace: 0, import: 0, forget: 0 },
    updated: '2026-01-01T00:00:00Z',
    deleted: false,
    ...of,
  }
}

/** A StackSet for tests: one that is complete. */
export function aStackSet(of: Partial<StackSet> = {}): StackSet {
  const name = of.name ?? 'platform'
  return {
    namespace: 'shop',
    name,
    uid: `set-${name}`,
    created: '2026-01-01T00:00:00Z',
    ready: 'True',
    reason: 'Complete',
    message: '40 Stacks',
    stalled: false,
    mode: 'Create',
    repository: 'shop/infra',
    generated: 40,
    applied: 40,
    changing: 0,
    outdated: 0,
    failed: 0,
    gone: 0,
    awaitingDeletions: 0,
    deleted: false,
    ...of,
  }
}
