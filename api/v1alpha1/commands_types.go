package v1alpha1

// Commands are scripts that replace the apply of the engine. Cairn creates the plan and requests approval as
// usual. A script runs in the directory of the root module, with the engine on the PATH and the environment of
// hooks. CAIRN_PLAN_FILE is the path of the approved plan. Example: {apply: {script: 'tofu apply
// "$CAIRN_PLAN_FILE"'}}.
//
// +kubebuilder:validation:MinProperties=1
type Commands struct {
	// Apply replaces the apply of a plan of an Apply Run. If unset, the engine applies the plan.
	// +optional
	Apply *Command `json:"apply,omitempty"`
	// Destroy replaces the apply of a plan that destroys everything. A deleted Stack is removed only once its
	// state is empty, whatever the exit code of the script. If unset, the engine applies the plan.
	// +optional
	Destroy *Command `json:"destroy,omitempty"`
}

// Command is a script. The first line can name an interpreter (#!); the default is /bin/sh. Exit code 75 reports a
// transient failure, and so does an error of the engine that the script runs. Any other code except 0 reports a
// configuration error.
//
// +kubebuilder:validation:ExactlyOneOf=script;configMap
type Command struct {
	// Script is the text of the script. At most 64 KiB.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	// +optional
	Script string `json:"script,omitempty"`
	// ConfigMap is a key of a ConfigMap in the namespace of the Stack that contains the script.
	// +optional
	ConfigMap *KeyRef `json:"configMap,omitempty"`
}
