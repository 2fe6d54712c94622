package engine

// OpenTofu is https://opentofu.org, from version 1.12 on: older ones have no -json-into.
//
// Text is asked for without color: escape codes within a line would cut a secret in two, and it would not be known.
type OpenTofu struct{}

// Program is the command's name.
func (OpenTofu) Program() string { return "tofu" }

// Name for people.
func (OpenTofu) Name() string { return "OpenTofu" }

// Version asks for the version, for ParseVersion.
func (OpenTofu) Version() []string { return []string{"version", "-json"} }

// Init makes the root module ready. It never upgrades: plan and apply must use the same providers.
type Init struct {
	// Events is the file that gets the events.
	Events string
	// VariableFiles in order; from OpenTofu 1.8 on a module's source and the backend may depend on variables.
	VariableFiles []string
	// Locked refuses any provider that the lock file does not name.
	Locked bool
}

// Init gives the arguments for o.
func (OpenTofu) Init(o Init) []string {
	args := []string{"init", "-input=false", "-no-color", "-json-into=" + o.Events}
	if o.Locked {
		args = append(args, "-lockfile=readonly")
	}
	return variableFiles(args, o.VariableFiles)
}

// Plan finds out what is to be done. It takes no lock: it only reads the state, and what it found is checked against
// the state again when it is applied.
type Plan struct {
	Events        string
	VariableFiles []string
	// Out is the file that gets the plan.
	Out string
	// Destroy plans the end of everything.
	Destroy bool
}

// PlanChanges is the exit code of a plan that is not empty.
const PlanChanges = 2

// Plan gives the arguments for o.
func (OpenTofu) Plan(o Plan) []string {
	args := []string{"plan", "-input=false", "-no-color", "-json-into=" + o.Events, "-lock=false", "-detailed-exitcode", "-out=" + o.Out}
	if o.Destroy {
		args = append(args, "-destroy")
	}
	return variableFiles(args, o.VariableFiles)
}

// Apply does what was planned.
type Apply struct {
	Events string
	// VariableFiles have to be those of the plan. OpenTofu takes the values from the plan and refuses others; it needs
	// the files for ephemeral variables and for the keys of encrypted plans and states.
	VariableFiles []string
	// Plan is the saved plan.
	Plan string
}

// Apply gives the arguments for o.
func (OpenTofu) Apply(o Apply) []string {
	args := []string{"apply", "-input=false", "-no-color", "-json-into=" + o.Events}
	return append(variableFiles(args, o.VariableFiles), o.Plan)
}

// Output asks for all outputs, for ParseOutputs. Only a state that the engine encrypts makes it necessary.
func (OpenTofu) Output(files []string) []string {
	return variableFiles([]string{"output", "-no-color", "-json"}, files)
}

func variableFiles(args, files []string) []string {
	for _, file := range files {
		args = append(args, "-var-file="+file)
	}
	return args
}
