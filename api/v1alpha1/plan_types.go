package v1alpha1

// Plan is the summary of a plan.
type Plan struct {
	// Digest is the SHA-256 digest of the saved plan. Cairn applies exactly the plan with this digest.
	Digest string `json:"digest"`
	// Changes reports whether an apply of the plan would change resources, outputs or the state. A plan that only reads
	// data sources has no changes.
	Changes bool `json:"changes"`
	// Add is the number of resources to create. It includes replacements, as the engine counts them.
	Add int32 `json:"add"`
	// Change is the number of resources to update in place.
	Change int32 `json:"change"`
	// Destroy is the number of resources to destroy. It includes replacements.
	Destroy int32 `json:"destroy"`
	// Replace is the number of resources to replace. Each is also counted in add and destroy.
	Replace int32 `json:"replace"`
	// Import is the number of resources to import into the state.
	Import int32 `json:"import"`
	// Forget is the number of resources to remove from the state without destroying them.
	Forget int32 `json:"forget"`
	// Invoke is the number of actions of providers that the apply invokes (Terraform 1.14), such as the call of a
	// function. An action is no resource: no other number includes it.
	// +optional
	Invoke int32 `json:"invoke,omitempty"`
	// Refresh is the number of resources that changed outside of Cairn, and of which the apply only writes the new
	// values to the state (spec.planOptions.refreshOnly). No other number includes it. Resources that no longer exist
	// count in forget.
	// +optional
	Refresh int32 `json:"refresh,omitempty"`
	// Partial is why the plan does not have all changes of the code. Unset for a complete plan. Example: it has only
	// the targets module.net. After an apply of such a plan, Cairn plans all that is declared.
	// +optional
	Partial string `json:"partial,omitempty"`
	// Fingerprint is the same for two plans of this installation that do the same: equal changes of resources and
	// outputs with all values, moves, imports, actions, provisioners and configuration of providers. The inputs of
	// their Runs, such as the environment, are not part of it. Unset if Cairn cannot compare the plan with others: it
	// could not read the plan file, the plan has members of a newer engine, or a script applies it. Example:
	// 5f0c9d1e7a3b4c28a1f0e6d2b3c4d5e6.
	// +optional
	Fingerprint string `json:"fingerprint,omitempty"`
	// Shape is the same for two plans of this installation that change the same in the same way, with whatever
	// values: equal addresses, actions and paths of attributes. Unset if the plan deletes, replaces or forgets
	// something, does not have all changes, or has no fingerprint. Example: 0b7d51e2c94f4a0f8d3e6a1b2c5d7f90.
	// +optional
	Shape string `json:"shape,omitempty"`
	// EngineVersion is the exact version of the engine that created the plan. Only the same version applies
	// it. Example: 1.12.6.
	// +optional
	EngineVersion string `json:"engineVersion,omitempty"`
	// Wrapped is the engine that Terragrunt ran, with its exact version. Only the same version applies the
	// plan. Unset for other engines.
	// +optional
	Wrapped *WrappedEngine `json:"wrapped,omitempty"`
	// Image is the image in which the plan was created, with its digest. A pod that Cairn creates to apply the
	// plan runs the same image, even if its tag names another one by then. Unset if the pod of the plan applies
	// it, or if the node reports no digest of the image. Example:
	// ghcr.io/cairn-dev/cairn-tools:1.2.0@sha256:1f3c....
	// +optional
	Image string `json:"image,omitempty"`
	// StateOnly is true if the apply changes nothing but the state: the code encrypts it with another key, for the
	// first time or no longer, or a destroy finds that none of its resources exist any more.
	// +optional
	StateOnly bool `json:"stateOnly,omitempty"`
	// Script reports whether a script of spec.commands of the Stack applies the plan instead of the engine.
	// +optional
	Script bool `json:"script,omitempty"`
	// Resources are the resources that the plan changes, and the actions that it invokes: first those to destroy or
	// replace. At most 100; the counts include all.
	// +listType=atomic
	// +optional
	Resources []ResourceChange `json:"resources,omitempty"`
	// Outputs are the outputs of the root module that the plan creates, updates or deletes, by name, without values, at
	// most 100. Empty if Cairn cannot read the plan file.
	// +listType=atomic
	// +optional
	Outputs []OutputChange `json:"outputs,omitempty"`
	// MoreOutputs is the number of outputs that change and are not in outputs.
	// +optional
	MoreOutputs int32 `json:"moreOutputs,omitempty"`
	// Differences are all changes of the plan of a Run that only plans, with the attributes that they change. Unset for
	// other Runs, and if not all are known: Cairn could not read the plan file, or there are more than 100, or more
	// than 8 KiB of them.
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	Differences []Difference `json:"differences,omitempty"`
	// Untracked are resources that an interrupted apply created and that Cairn could not import into the state.
	// While this list is not empty, the plan waits for an approval, because applying it may create the
	// resources again. At most 100.
	// +listType=atomic
	// +optional
	Untracked []UntrackedResource `json:"untracked,omitempty"`
	// TakesOverState is true if the Stack never applied the state that this plan is for: an earlier Stack of the
	// same name did, a user pushed it, or a backend had it. The plan then waits for an approval, even if spec.apply
	// of the Stack is Automatic.
	// +optional
	TakesOverState bool `json:"takesOverState,omitempty"`
	// Unverified is why Cairn could not read the plan file itself, for example because the code encrypts it. The
	// other fields and the plan that `cairn diff` shows are then as the pod of the Run reported them, code in which
	// can change them. Policies deny such a plan, and it always waits for an approval. Unset otherwise.
	// +optional
	Unverified string `json:"unverified,omitempty"`
	// Policy is the result of the policies for the plan. Unset if there are no policies.
	// +optional
	Policy *PolicyResult `json:"policy,omitempty"`
}

// MaxPlanOutputs is the maximum number of outputs in the summary of a plan.
const MaxPlanOutputs = 100

// OutputChange is the change of one output in a plan. It has no value.
type OutputChange struct {
	// Name of the output. Example: vpc.
	Name string `json:"name"`
	// Action is the planned action: create, update or delete.
	Action string `json:"action"`
	// Known is true if all of the new value is known before the apply. False for an output that is deleted.
	// +optional
	Known bool `json:"known,omitempty"`
	// Sensitive is true if the code marks the output as sensitive.
	// +optional
	Sensitive bool `json:"sensitive,omitempty"`
}

// Difference is the change of one resource or output in a plan.
type Difference struct {
	// Address is the address of the resource, or output.NAME for an output. Example: module.net.aws_subnet.this["a"].
	Address string `json:"address"`
	// Action is the planned action: create, update, delete, replace, import, forget, move, of an action of a provider
	// invoke, or refresh if only the state gets what changed outside of Cairn.
	Action string `json:"action"`
	// Attributes are the paths of the attributes that an update in place changes. Unset for other actions. Example:
	// [desired_capacity, "tags[\"owner\"]"].
	// +listType=atomic
	// +optional
	Attributes []string `json:"attributes,omitempty"`
}

// UntrackedResource is a resource that exists but is not in the state.
type UntrackedResource struct {
	// Address is the address of the resource. Example: module.net.aws_subnet.this["a"].
	Address string `json:"address"`
	// Reason is why Cairn could not import the resource into the state.
	Reason string `json:"reason"`
}

// ResourceChange is the change of one resource in a plan.
type ResourceChange struct {
	// Address is the address of the resource. Example: module.net.aws_subnet.this["a"].
	Address string `json:"address"`
	// Action is the planned action: create, update, delete, replace, import, forget, move, of an action of a provider
	// invoke, or refresh if only the state gets what changed outside of Cairn.
	Action string `json:"action"`
}
