package engine

// OpenTofu is https://opentofu.org, from version 1.12 on: older ones have no -json-into.
type OpenTofu struct{}

// Name for messages.
func (OpenTofu) Name() string { return "OpenTofu" }

// Program is the command's name.
func (OpenTofu) Program() string { return "tofu" }

// Version asks for the version.
func (OpenTofu) Version() []string { return []string{"version", "-json"} }

// PrintsEvents is false: they go to a file of their own.
func (OpenTofu) PrintsEvents(Step) bool { return false }

// Init returns the arguments for o.
func (OpenTofu) Init(o Init) []string {
	args := []string{"init", "-input=false", "-no-color", "-json-into=" + o.Events}
	if o.Locked {
		args = append(args, "-lockfile=readonly")
	}
	return variableFiles(o.backend(args), o.VariableFiles)
}

// Plan returns the arguments for o.
func (OpenTofu) Plan(o Plan) []string {
	args := []string{"plan", "-input=false", "-no-color", "-json-into=" + o.Events, "-lock=false", "-detailed-exitcode", "-out=" + o.Out}
	if o.Destroy {
		args = append(args, "-destroy")
	}
	return variableFiles(args, o.VariableFiles)
}

// Apply returns the arguments for o.
func (OpenTofu) Apply(o Apply) []string {
	args := []string{"apply", "-input=false", "-no-color", "-json-into=" + o.Events}
	return append(variableFiles(args, o.VariableFiles), o.Plan)
}

// Show returns the arguments for o.
func (OpenTofu) Show(o Show) []string {
	return append(variableFiles([]string{"show", "-no-color", "-json"}, o.VariableFiles), "-plan="+o.Plan)
}

// Output returns the arguments.
func (OpenTofu) Output(files []string) []string {
	return variableFiles([]string{"output", "-no-color", "-json"}, files)
}

// Adopt returns the arguments for o.
func (OpenTofu) Adopt(o Adopt) []string { return adoptArgs(o) }

// Pull returns the arguments.
func (OpenTofu) Pull(files []string) []string {
	return variableFiles([]string{"state", "pull", "-no-color"}, files)
}

// Push returns the arguments for o.
func (OpenTofu) Push(o Push) []string {
	return append(variableFiles(o.args(), o.VariableFiles), o.State)
}
