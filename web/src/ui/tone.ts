import { waits } from '../api/reasons'

/** What a word of the API means to who reads it: good, in progress, needs attention, failed, or neutral. */
export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'none'

const phases: Record<string, Tone> = {
  Queued: 'busy',
  Planning: 'busy',
  Applying: 'busy',
  Shell: 'busy',
  AwaitingApproval: 'warn',
  Succeeded: 'good',
  Failed: 'bad',
  Canceled: 'none',
  Superseded: 'none',
}

/** The tone of a Run's phase. */
export function phaseTone(phase: string): Tone {
  return phases[phase] ?? 'none'
}

/** Reports whether a user has to decide about an object with this reason. */
const needsUser = (reason = '') => ['Approval', 'Decision', 'Request'].includes(waits[reason] ?? '')

/** The tone of a Ready condition. */
export function readyTone(ready: { ready: string; reason?: string; stalled?: boolean; suspended?: boolean }): Tone {
  if (needsUser(ready.reason)) return 'warn'
  if (ready.suspended || waits[ready.reason ?? ''] === 'Resume') return 'none'
  if (ready.ready === 'True') return 'good'
  if (ready.stalled || ready.ready === 'False') return 'bad'
  return 'busy'
}

const stages: Record<string, Tone> = {
  Progressing: 'busy',
  Failed: 'bad',
  Verifying: 'busy',
  Soaking: 'busy',
  Complete: 'good',
}

/** The tone of what a stage of a Pipeline does with its release. */
export function stageTone(state = ''): Tone {
  return stages[state] ?? 'none'
}

const pullPhases: Record<string, Tone> = {
  Merging: 'busy',
  AwaitingCommand: 'warn',
  Conflict: 'bad',
  Failed: 'bad',
  Draft: 'none',
  Closed: 'none',
  Applying: 'busy',
  Applied: 'good',
  ApplyFailed: 'bad',
}

/** The tone of a pull request: that of its plans, or of its phase before there are plans. */
export function pullTone(pull: { phase?: string; ready: string }): Tone {
  if (pull.phase === 'Planned') return ({ True: 'good', False: 'bad' } as const)[pull.ready] ?? 'busy'
  return pullPhases[pull.phase ?? 'Merging'] ?? 'none'
}

/** Splits a word of the API into words: AwaitingApproval is "Awaiting approval". */
export function inWords(name: string): string {
  const words = name.replace(/([a-z0-9])([A-Z])/g, '$1 $2')
  return words.charAt(0) + words.slice(1).replace(/\b[A-Z](?=[a-z])/g, (c) => c.toLowerCase())
}
