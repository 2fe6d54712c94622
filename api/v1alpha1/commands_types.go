package v1alpha1

// Commands are scripts in place of the engine's own apply and destroy (docs/commands.md). The plan is made and approved as ever. The script
// then runs in the root module's folder, with the engine on the PATH and the environment of hooks; CAIRN_PLAN_FILE is the plan that was
// approved. Example: apply: {script: 'tofu apply "$CAIRN_PLAN_FILE"'}.
//
// +kubebuilder:validation:MinProperties=1
type Commands struct {
	// Apply runs in place of the engine's apply.
	// +optional
	Apply *Command `json:"apply,omitempty"`
	// Destroy runs in place of the engine's apply of a plan that destroys all. A Stack that is deleted goes when its state is empty,
	// whatever the script says.
	// +optional
	Destroy *Command `json:"destroy,omitempty"`
}

// Command is a script: a program of its own, or without a #! line one for /bin/sh. Exit code 75 says that trying again may
// help, and so do errors of the engine that it runs.
//
// +kubebuilder:validation:ExactlyOneOf=script;configMap
type Command struct {
	// Script itself.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	// +optional
	Script string `json:"script,omitempty"`
	// ConfigMap key that holds the script, in the Stack's namespace.
	// +optional
	ConfigMap *KeyRef `json:"configMap,omitempty"`
}
