package v1alpha1

// Reasons of the Ready condition of a Stack. While a Run waits, Ready has the reason of the Run.
const (
	// ReasonRunning: a Run is in progress.
	ReasonRunning = "Running"
	// ReasonDestroying: a Run destroys the resources.
	ReasonDestroying = "Destroying"
	// ReasonDeleting: the Stack is being deleted, and another operation must finish first.
	ReasonDeleting = "Deleting"
	// ReasonDestroyPending: a destroy was requested, and the Run in progress ends first.
	ReasonDestroyPending = "DestroyPending"
	// ReasonChangesPending: the plan has changes that spec.apply: Never does not apply. `cairn diff` shows
	// them.
	ReasonChangesPending = "ChangesPending"
	// ReasonDrifted: resources differ from what was applied. An apply overwrites what was changed.
	ReasonDrifted = "Drifted"
	// ReasonRunFailed: the last Run failed. Correct what its message names, or `cairn retry`.
	ReasonRunFailed = "RunFailed"
	// ReasonRunCanceled: a user canceled the last Run. `cairn apply` plans again.
	ReasonRunCanceled = "RunCanceled"
	// ReasonRunRejected: a user rejected the last plan. Change the code, or `cairn apply` plans again.
	ReasonRunRejected = "RunRejected"
	// ReasonBackendInCode: the code has a backend of its own. Move the state with `cairn state migrate`, or
	// remove the block.
	ReasonBackendInCode = "BackendInCode"
	// ReasonStateNotSaved: the state of the last apply is only in the log of its pod. Recover it with `cairn
	// state recover`.
	ReasonStateNotSaved = "StateNotSaved"
	// ReasonOutputsConflict: an object of spec.outputs exists and is not Cairn's. Delete it, or use another
	// name.
	ReasonOutputsConflict = "OutputsConflict"
	// ReasonOutputsFailed: the outputs could not be written. The message reports why.
	ReasonOutputsFailed = "OutputsFailed"
	// ReasonDependencyCycle: Stacks depend on each other in a cycle. Remove one of the dependencies.
	ReasonDependencyCycle = "DependencyCycle"
	// ReasonDependencyNotReady: a Stack that this one depends on is not Ready. Check its conditions.
	ReasonDependencyNotReady = "DependencyNotReady"
	// ReasonUpstreamHeld: a pull request is applied to a Stack that this one depends on, before its merge. Merge or
	// close it.
	ReasonUpstreamHeld = "UpstreamHeld"
	// ReasonHeldCodeNotFound: the repository does not have the commit of the pull request any more that holds the
	// Stack. Apply the pull request again, or unlock the Stack.
	ReasonHeldCodeNotFound = "HeldCodeNotFound"
	// ReasonDependencyNotFound: a Stack that this one depends on does not exist. Create it, or remove the dependency.
	ReasonDependencyNotFound = "DependencyNotFound"
	// ReasonDependencyNotGranted: no StackGrant allows this Stack to depend on a Stack of another namespace. Create one
	// there, or remove the dependency.
	ReasonDependencyNotGranted = "DependencyNotGranted"
	// ReasonDependentsExist: another Stack depends on this one, so it is not destroyed. Delete that one first.
	ReasonDependentsExist = "DependentsExist"
)

// Reasons of the Ready condition of a Stack that is not destroyed, or not deleted.
const (
	// ReasonDeletionProtected: the Stack was deleted, and its deletion policy is Protect. Change the policy to
	// continue.
	ReasonDeletionProtected = "DeletionProtected"
	// ReasonApplyNever: the Stack was deleted, and nothing is destroyed while spec.apply is Never. Change one
	// of the two.
	ReasonApplyNever = "ApplyNever"
	// ReasonNamespaceTerminating: no pod that destroys can be created, since the namespace is deleted. Destroy
	// with the engine.
	ReasonNamespaceTerminating = "NamespaceTerminating"
	// ReasonAppliedInputsUnknown: the state has resources that no apply of Cairn created. Destroy
	// with the engine.
	ReasonAppliedInputsUnknown = "AppliedInputsUnknown"
	// ReasonDestroyFailed: the destroy failed, and is retried later. `cairn retry` starts it now.
	ReasonDestroyFailed = "DestroyFailed"
	// ReasonDestroyIncomplete: the destroy succeeded, but resources remain, or may remain. The message
	// lists them.
	ReasonDestroyIncomplete = "DestroyIncomplete"
	// ReasonStateCleanupFailed: the State of a deleted Stack cannot be deleted. Cairn retries; the message
	// describes the error.
	ReasonStateCleanupFailed = "StateCleanupFailed"
	// ReasonRunsCleanupFailed: the plans and logs of a deleted Stack cannot be deleted from the bucket. Cairn
	// retries.
	ReasonRunsCleanupFailed = "RunsCleanupFailed"
)

// Reasons of the Ready condition of a Stack whose spec or code must be corrected.
const (
	// ReasonRepositoryNotFound: the Repository of spec.source.git does not exist. Create it, or correct its
	// name.
	ReasonRepositoryNotFound = "RepositoryNotFound"
	// ReasonRepositoryNotReady: the Repository is not Ready. Check its conditions.
	ReasonRepositoryNotReady = "RepositoryNotReady"
	// ReasonSourceNotReady: the commit cannot be read from the Repository right now. Cairn retries.
	ReasonSourceNotReady = "SourceNotReady"
	// ReasonSourceNotFound: the ConfigMap of spec.source does not exist. Create it, or correct its name.
	ReasonSourceNotFound = "SourceNotFound"
	// ReasonSourceInvalid: the files of spec.source are not valid code. The message describes the error.
	ReasonSourceInvalid = "SourceInvalid"
	// ReasonSourceTooLarge: the code is larger than Cairn reads. Use a smaller spec.source.git.path, or fewer
	// files.
	ReasonSourceTooLarge = "SourceTooLarge"
	// ReasonContentInvalid: files of the commit cannot be packed as they are. The message lists them and the reason.
	ReasonContentInvalid = "ContentInvalid"
	// ReasonPathNotFound: the commit has no such directory. Correct spec.source.git.path.
	ReasonPathNotFound = "PathNotFound"
	// ReasonCodeNotFound: the directory has no code. Correct spec.source.git.path.
	ReasonCodeNotFound = "CodeNotFound"
	// ReasonModuleNotFound: the code calls a local module that the commit does not have. Correct the code.
	ReasonModuleNotFound = "ModuleNotFound"
	// ReasonVariableInvalid: a number in spec.variables has more digits than the API server keeps. Write it as a
	// string.
	ReasonVariableInvalid = "VariableInvalid"
	// ReasonVariableSetConflict: two VariableSets have the same name for the Stack. Set it in the Stack, or in one of
	// them.
	ReasonVariableSetConflict = "VariableSetConflict"
	// ReasonVariableSetInvalid: a VariableSet cannot be used. The message has the VariableSet and the error.
	ReasonVariableSetInvalid = "VariableSetInvalid"
	// ReasonStackPolicyInvalid: a StackPolicy cannot be used. The message has the StackPolicy and the error.
	ReasonStackPolicyInvalid = "StackPolicyInvalid"
	// ReasonVariableFileNotFound: the commit has no such variable file. Correct spec.variableFiles, or add it.
	ReasonVariableFileNotFound = "VariableFileNotFound"
	// ReasonTriggerInvalid: an item of spec.source.git.triggers is no glob. Correct it.
	ReasonTriggerInvalid = "TriggerInvalid"
	// ReasonTerragruntStackNotSupported: the directory has only a terragrunt.stack.hcl. Use a Stack per unit.
	ReasonTerragruntStackNotSupported = "TerragruntStackNotSupported"
	// ReasonSecretNotFound: a Secret that the Stack reads does not exist. Create it, or correct the Stack.
	ReasonSecretNotFound = "SecretNotFound"
	// ReasonConfigMapNotFound: a ConfigMap that the Stack reads does not exist. Create it, or correct the
	// Stack.
	ReasonConfigMapNotFound = "ConfigMapNotFound"
	// ReasonConfigMapKeyNotFound: a ConfigMap does not have the key that the Stack reads. Add it, or correct
	// the Stack.
	ReasonConfigMapKeyNotFound = "ConfigMapKeyNotFound"
	// ReasonOutputNotFound: another Stack does not have the output that this one reads. Correct one of the two.
	ReasonOutputNotFound = "OutputNotFound"
	// ReasonInputsTooLarge: the values that the Stack reads do not fit in the inputs of a Run. Reduce
	// them.
	ReasonInputsTooLarge = "InputsTooLarge"
	// ReasonHookInvalid: a hook cannot be run. The message describes the error.
	ReasonHookInvalid = "HookInvalid"
	// ReasonCommandInvalid: a script of spec.commands cannot be run. The message describes the error.
	ReasonCommandInvalid = "CommandInvalid"
	// ReasonPolicyInvalid: a policy cannot be read. The message describes the error.
	ReasonPolicyInvalid = "PolicyInvalid"
	// ReasonTemplateInvalid: spec.runner.template cannot be used. The message describes the error.
	ReasonTemplateInvalid = "TemplateInvalid"
	// ReasonEngineVersionInvalid: a version file of the code cannot be read. Correct it, or set
	// spec.engine.version.
	ReasonEngineVersionInvalid = "EngineVersionInvalid"
	// ReasonBackendInvalid: spec.backend cannot be used. The message describes the error.
	ReasonBackendInvalid = "BackendInvalid"
	// ReasonBackendMigrationRequired: the state is not in the backend of spec.backend. `cairn state
	// migrate` moves it.
	ReasonBackendMigrationRequired = "BackendMigrationRequired"
	// ReasonBuildNotAllowed: the installation does not allow image builds. Ask its administrator, or use an
	// image.
	ReasonBuildNotAllowed = "BuildNotAllowed"
	// ReasonDockerfileNotFound: the code has no such Dockerfile. Correct spec.runner.build, or add it.
	ReasonDockerfileNotFound = "DockerfileNotFound"
)

// stackReasons describes the reasons of this file.
var stackReasons = []Reason{
	{Name: ReasonRunning, In: InStack},
	{Name: ReasonDestroying, In: InStack},
	{Name: ReasonDeleting, In: InStack},
	{Name: ReasonDestroyPending, In: InStack},
	{Name: ReasonChangesPending, In: InStack, WaitsFor: WaitsForDecision, Next: []string{
		"cairn diff {stack} shows them",
		"set spec.apply of the Stack to apply them",
	}},
	{Name: ReasonDrifted, In: InStack, Severity: SeverityWarning, WaitsFor: WaitsForDecision, Next: []string{
		"cairn diff {driftRun} shows the drift",
		"cairn apply {stack} reverts the drift; to keep it, change the code, or cairn apply {stack} --refresh-only",
	}},
	{Name: ReasonRunFailed, In: InStack, Severity: SeverityError},
	{Name: ReasonRunCanceled, In: InStack, WaitsFor: WaitsForRequest, Next: []string{
		"cairn apply {stack} requests another Run",
	}},
	{Name: ReasonRunRejected, In: InStack, WaitsFor: WaitsForRequest, Next: []string{
		"cairn apply {stack} requests another Run",
	}},
	{Name: ReasonBackendInCode, In: InStack | InFailure, Severity: SeverityError},
	{Name: ReasonStateNotSaved, In: InStack | InRun | InFailure, Severity: SeverityError, Next: []string{
		"cairn state recover {stack} recovers the state from the pod's log",
	}},
	{Name: ReasonOutputsConflict, In: InStack, Severity: SeverityError},
	{Name: ReasonOutputsFailed, In: InStack, Severity: SeverityError},
	{Name: ReasonDependencyCycle, In: InStack, Severity: SeverityError},
	{Name: ReasonDependencyNotReady, In: InStack, Severity: SeverityWarning, Next: []string{
		"cairn get stacks {dependencies} shows its dependencies",
	}},
	{Name: ReasonUpstreamHeld, In: InStack, WaitsFor: WaitsForDecision, Next: []string{
		"cairn get stacks {dependencies} shows its dependencies",
	}},
	{Name: ReasonHeldCodeNotFound, In: InStack, Severity: SeverityError},
	{Name: ReasonDependencyNotFound, In: InStack, Severity: SeverityError, Next: []string{
		"cairn get stacks {dependencies} shows its dependencies",
	}},
	{Name: ReasonDependencyNotGranted, In: InStack, Severity: SeverityError},
	{Name: ReasonDependentsExist, In: InStack, Severity: SeverityError},
	{Name: ReasonDeletionProtected, In: InStack, Severity: SeverityWarning, WaitsFor: WaitsForDecision},
	{Name: ReasonApplyNever, In: InStack, Severity: SeverityWarning, WaitsFor: WaitsForDecision},
	{Name: ReasonNamespaceTerminating, In: InStack, Severity: SeverityError},
	{Name: ReasonAppliedInputsUnknown, In: InStack, Severity: SeverityError},
	{Name: ReasonDestroyFailed, In: InStack, Severity: SeverityError, Next: []string{
		"cairn retry {stack} retries immediately",
	}},
	{Name: ReasonDestroyIncomplete, In: InStack, Severity: SeverityError, Next: []string{
		"cairn retry {stack} retries immediately",
	}},
	{Name: ReasonStateCleanupFailed, In: InStack, Severity: SeverityError},
	{Name: ReasonRunsCleanupFailed, In: InStack, Severity: SeverityError},
	{Name: ReasonRepositoryNotFound, In: InStack | InStackSet | InPipeline, Severity: SeverityError},
	{Name: ReasonRepositoryNotReady, In: InStack | InStackSet | InPipeline, Severity: SeverityWarning},
	{Name: ReasonSourceNotReady, In: InStack, Severity: SeverityWarning},
	{Name: ReasonSourceNotFound, In: InStack, Severity: SeverityError},
	{Name: ReasonSourceInvalid, In: InStack, Severity: SeverityError},
	{Name: ReasonSourceTooLarge, In: InStack, Severity: SeverityError},
	{Name: ReasonContentInvalid, In: InStack, Severity: SeverityError},
	{Name: ReasonPathNotFound, In: InStack, Severity: SeverityError},
	{Name: ReasonCodeNotFound, In: InStack, Severity: SeverityError},
	{Name: ReasonModuleNotFound, In: InStack, Severity: SeverityError},
	{Name: ReasonVariableInvalid, In: InStack, Severity: SeverityError},
	{Name: ReasonVariableSetConflict, In: InStack, Severity: SeverityError},
	{Name: ReasonVariableSetInvalid, In: InStack, Severity: SeverityError},
	{Name: ReasonStackPolicyInvalid, In: InStack, Severity: SeverityError},
	{Name: ReasonVariableFileNotFound, In: InStack, Severity: SeverityError},
	{Name: ReasonTriggerInvalid, In: InStack, Severity: SeverityError},
	{Name: ReasonTerragruntStackNotSupported, In: InStack, Severity: SeverityError},
	{Name: ReasonSecretNotFound, In: InStack, Severity: SeverityError},
	{Name: ReasonConfigMapNotFound, In: InStack, Severity: SeverityError},
	{Name: ReasonConfigMapKeyNotFound, In: InStack, Severity: SeverityError},
	{Name: ReasonOutputNotFound, In: InStack, Severity: SeverityError},
	{Name: ReasonInputsTooLarge, In: InStack, Severity: SeverityError},
	{Name: ReasonHookInvalid, In: InStack, Severity: SeverityError},
	{Name: ReasonCommandInvalid, In: InStack, Severity: SeverityError},
	{Name: ReasonPolicyInvalid, In: InStack, Severity: SeverityError},
	{Name: ReasonTemplateInvalid, In: InStack, Severity: SeverityError},
	{Name: ReasonEngineVersionInvalid, In: InStack, Severity: SeverityError},
	{Name: ReasonBackendInvalid, In: InStack, Severity: SeverityError},
	{Name: ReasonBackendMigrationRequired, In: InStack, Severity: SeverityError},
	{Name: ReasonBuildNotAllowed, In: InStack, Severity: SeverityError},
	{Name: ReasonDockerfileNotFound, In: InStack, Severity: SeverityError},
}
