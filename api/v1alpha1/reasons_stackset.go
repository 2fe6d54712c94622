package v1alpha1

// Reasons of the Ready condition of a StackSet.
const (
	// ReasonComplete: all Stacks have applied the template.
	ReasonComplete = "Complete"
	// ReasonRollingOut: Stacks are created, or have not applied the template yet.
	ReasonRollingOut = "RollingOut"
	// ReasonRolloutPaused: Stacks failed with the current template. Correct the template or these Stacks.
	ReasonRolloutPaused = "RolloutPaused"
	// ReasonPreviewed: spec.mode is Preview. status.preview lists what mode Create would do.
	ReasonPreviewed = "Previewed"
	// ReasonGeneratorsInvalid: a generator cannot be read. The message has its field.
	ReasonGeneratorsInvalid = "GeneratorsInvalid"
	// ReasonRenderingFailed: the template cannot be rendered. The message has the expression and the directory.
	ReasonRenderingFailed = "RenderingFailed"
	// ReasonNamesCollide: several items have the same name. Include what differs in template.metadata.name.
	ReasonNamesCollide = "NamesCollide"
	// ReasonStackNotOwned: a Stack of that name exists, and is not of the StackSet. Label it, or choose another name.
	ReasonStackNotOwned = "StackNotOwned"
	// ReasonNamespaceNotGranted: Stacks in other namespaces are not written, since no StackGrant there allows it. The
	// message has the object to create.
	ReasonNamespaceNotGranted = "NamespaceNotGranted"
	// ReasonStackRejected: the API server rejected a Stack. The message has its answer.
	ReasonStackRejected = "StackRejected"
	// ReasonStackWriteFailed: a Stack could not be written. The message has the error. It is tried again.
	ReasonStackWriteFailed = "StackWriteFailed"
	// ReasonNothingGenerated: the generators list nothing. No Stack is suspended or deleted.
	ReasonNothingGenerated = "NothingGenerated"
	// ReasonTooManyGone: more Stacks than spec.maxDeletions are not generated any more. None is suspended or deleted.
	ReasonTooManyGone = "TooManyGone"
	// ReasonAwaitingDeletionConfirmation: Stacks wait until a user confirms that they are deleted.
	ReasonAwaitingDeletionConfirmation = "AwaitingDeletionConfirmation"
)

// Reasons of events of a StackSet.
const (
	// EventStacksCreated, EventStacksChanged, EventStacksSuspended and EventStacksDeleted: the StackSet wrote Stacks.
	EventStacksCreated   = "StacksCreated"
	EventStacksChanged   = "StacksChanged"
	EventStacksSuspended = "StacksSuspended"
	EventStacksDeleted   = "StacksDeleted"
	// EventFieldsRestored: fields of the template that others had changed in a Stack have its values again.
	EventFieldsRestored = "FieldsRestored"
)

// stackSetReasons describes the reasons of this file.
var stackSetReasons = []Reason{
	{Name: ReasonComplete, In: InStackSet},
	{Name: ReasonRollingOut, In: InStackSet},
	{Name: ReasonRolloutPaused, In: InStackSet, Severity: SeverityError},
	{Name: ReasonPreviewed, In: InStackSet},
	{Name: ReasonGeneratorsInvalid, In: InStackSet, Severity: SeverityError},
	{Name: ReasonRenderingFailed, In: InStackSet, Severity: SeverityError},
	{Name: ReasonNamesCollide, In: InStackSet, Severity: SeverityError},
	{Name: ReasonStackNotOwned, In: InStackSet, Severity: SeverityError},
	{Name: ReasonNamespaceNotGranted, In: InStackSet, Severity: SeverityError},
	{Name: ReasonStackRejected, In: InStackSet, Severity: SeverityError},
	{Name: ReasonStackWriteFailed, In: InStackSet, Severity: SeverityError},
	{Name: ReasonNothingGenerated, In: InStackSet, Severity: SeverityWarning},
	{Name: ReasonTooManyGone, In: InStackSet, Severity: SeverityError},
	{Name: ReasonAwaitingDeletionConfirmation, In: InStackSet, Severity: SeverityWarning},
	{Name: EventStacksCreated, In: InEvent},
	{Name: EventStacksChanged, In: InEvent},
	{Name: EventStacksSuspended, In: InEvent},
	{Name: EventStacksDeleted, In: InEvent},
	{Name: EventFieldsRestored, In: InEvent},
}
