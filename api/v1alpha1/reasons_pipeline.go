package v1alpha1

// Reasons of the Ready condition of a Pipeline.
const (
	// ReasonPromoted: all stages have completed the newest release.
	ReasonPromoted = "Promoted"
	// ReasonPromoting: a stage has not completed its release, or a soak is not over.
	ReasonPromoting = "Promoting"
	// ReasonAwaitingPromotion: a stage waits for a user who promotes a release. `cairn promote` does.
	ReasonAwaitingPromotion = "AwaitingPromotion"
	// ReasonPromotionHeld: a user promoted an earlier release, so the stage gets no release automatically. A promotion
	// of a newer release ends it.
	ReasonPromotionHeld = "PromotionHeld"
	// ReasonStageFailed: a Stack of a stage failed, or has drift that the stage verifies, so the next stage does not
	// get the release. Correct the Stack: the release then continues.
	ReasonStageFailed = "StageFailed"
	// ReasonVerificationOverdue: the verification of a stage has no result within its timeout, so the next stage does
	// not get the release. The verification continues. The message names the Stacks: check why their drift checks fail,
	// or do not start.
	ReasonVerificationOverdue = "VerificationOverdue"
	// ReasonStageEmpty: a stage selects no Stack, so it completes no release. Correct its selector, or label the
	// Stacks.
	ReasonStageEmpty = "StageEmpty"
	// ReasonAwaitingRelease: the Pipeline has no release yet, or the stage of a Stack has none. The Stack stays as it
	// is until then. In a merged pull request: the stage of the Stack does not have the merge yet.
	ReasonAwaitingRelease = "AwaitingRelease"
	// ReasonPipelineConflict: a Stack cannot have the release of a stage: several stages select it, its code is not
	// from the Repository of the Pipeline, or a pull request holds it. It starts no Run.
	ReasonPipelineConflict = "PipelineConflict"
)

// Reasons of events of a Pipeline.
const (
	// EventReleaseCreated: a commit changes the code of a Stack of the Pipeline.
	EventReleaseCreated = "ReleaseCreated"
	// EventReleasePromoted: a stage has another release.
	EventReleasePromoted = "ReleasePromoted"
	// EventPromotionRejected: a user requested a promotion that is not possible.
	EventPromotionRejected = "PromotionRejected"
)

// pipelineReasons describes the reasons of this file.
var pipelineReasons = []Reason{
	{Name: ReasonPromoted, In: InPipeline},
	{Name: ReasonPromoting, In: InPipeline},
	{Name: ReasonAwaitingPromotion, In: InPipeline, WaitsFor: WaitsForDecision},
	{Name: ReasonPromotionHeld, In: InPipeline, Severity: SeverityWarning, WaitsFor: WaitsForRequest},
	{Name: ReasonStageFailed, In: InPipeline, Severity: SeverityError},
	{Name: ReasonVerificationOverdue, In: InPipeline, Severity: SeverityWarning},
	{Name: ReasonStageEmpty, In: InPipeline, Severity: SeverityWarning},
	{Name: ReasonAwaitingRelease, In: InPipeline | InStack},
	{Name: ReasonPipelineConflict, In: InStack, Severity: SeverityError},
	{Name: EventReleaseCreated, In: InEvent},
	{Name: EventReleasePromoted, In: InEvent},
	{Name: EventPromotionRejected, In: InEvent, Severity: SeverityWarning},
}
