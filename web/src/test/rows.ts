import type { Run, Stack } from '../api/client'

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
    suspended: false,
    deleted: false,
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
