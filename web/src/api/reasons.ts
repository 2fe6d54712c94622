/* Written by `make generate` from the reasons of api/v1alpha1. */

/** What an object waits for, as the end of a sentence. */
export const waitsForText = {
  Approval: 'a user who approves the plan',
  Decision: 'a decision of a user',
  Engine: 'the engine to stop',
  Inputs: 'its inputs',
  Pod: 'its pod',
  Queue: 'the queue',
  Request: 'a decision of a user',
  Requirements: 'what the pull request lacks',
  Resume: 'a user who resumes the Stack',
  Retry: 'the next attempt',
  Window: 'a window',
}
export type WaitsFor = keyof typeof waitsForText

/** What an object waits for, by the reason of its condition. */
export const waits: Partial<Record<string, WaitsFor>> = {
  ApplyNever: 'Decision',
  AwaitingApproval: 'Approval',
  AwaitingPromotion: 'Decision',
  AwaitingRequirements: 'Requirements',
  Canceling: 'Engine',
  ChangesPending: 'Decision',
  DeletionProtected: 'Decision',
  Drifted: 'Decision',
  InputsNotFound: 'Inputs',
  MassDrift: 'Resume',
  NodeUnreachable: 'Pod',
  PodCreateFailed: 'Pod',
  PodPending: 'Pod',
  PodTerminating: 'Pod',
  PromotionHeld: 'Request',
  Queued: 'Queue',
  Retrying: 'Retry',
  RunCanceled: 'Request',
  RunRejected: 'Request',
  Suspended: 'Resume',
  TimeoutExceeded: 'Pod',
  UpstreamHeld: 'Decision',
  WindowClosed: 'Window',
  WindowInvalid: 'Window',
}
