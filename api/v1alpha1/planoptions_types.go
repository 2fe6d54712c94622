package v1alpha1

// RequestedPlanOptionsAnnotation has the options of the plan that cairn.dev/requested-at requests, as JSON: the fields
// of PlanOptions, and requestedAt, which is the value of cairn.dev/requested-at, so that no later request has them. To
// apply such a plan requires the verb partial on the Stack. Example: {"requestedAt": "2026-11-20T12:00:00Z", "targets":
// ["module.net"]}.
const RequestedPlanOptionsAnnotation = "cairn.dev/requested-plan-options"

// PlanOptions are options of a plan, as the engines have them on the command line.
//
// +kubebuilder:validation:XValidation:rule="!has(self.targets) || !has(self.excludes)",message="targets and excludes cannot both be set"
// +kubebuilder:validation:XValidation:rule="has(self.targets) || has(self.excludes) || has(self.replace) || (has(self.refreshOnly) && self.refreshOnly)",message="set targets, excludes, replace or refreshOnly"
// +kubebuilder:validation:XValidation:rule="!has(self.refreshOnly) || !self.refreshOnly || !(has(self.targets) || has(self.excludes) || has(self.replace))",message="refreshOnly cannot be combined with other options"
type PlanOptions struct {
	// Targets limit the plan to these resources and modules, and to what they depend on (-target). Example:
	// ["module.net"].
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	// +listType=atomic
	// +optional
	Targets []string `json:"targets,omitempty"`
	// Excludes leave these resources and modules out of the plan, and what depends on them (-exclude). OpenTofu only.
	// Example: ["aws_instance.web"].
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	// +listType=atomic
	// +optional
	Excludes []string `json:"excludes,omitempty"`
	// Replace are resources that the plan replaces, although nothing in the code requires it (-replace). Example:
	// ["aws_instance.web"].
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	// +listType=atomic
	// +optional
	Replace []string `json:"replace,omitempty"`
	// RefreshOnly accepts drift (-refresh-only): the apply writes to the state what changed outside of Cairn, and the
	// values of outputs, and changes no resource. The plan lists all of that. It cannot be combined with other options.
	// Default: false.
	// +optional
	RefreshOnly bool `json:"refreshOnly,omitempty"`
}

// IsPartial reports whether a plan with the options may not have all changes of the code. One that only replaces more
// has them.
func (o *PlanOptions) IsPartial() bool {
	return o != nil && (len(o.Targets) > 0 || len(o.Excludes) > 0 || o.RefreshOnly)
}

// IsRefreshOnly reports whether the apply of the plan writes to the state what changed outside of Cairn, and changes no
// resource.
func (o *PlanOptions) IsRefreshOnly() bool { return o != nil && o.RefreshOnly }
