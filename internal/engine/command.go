package engine

// Command is what an engine is to do: Init, Plan, Apply, Show, Adopt, Pull, Push or Outputs.
type Command interface{ args(Traits) []string }

// printsEvents is true of the steps that print events in every version: only new ones have them for an init.
func (t Traits) printsEvents(step Step) bool { return !t.eventsToFile && step != StepInit }

// step begins the arguments of a step.
func (t Traits) step(step Step, events string) []string {
	args := []string{string(step), "-input=false", "-no-color"}
	switch {
	case t.eventsToFile:
		args = append(args, "-json-into="+events)
	case t.printsEvents(step):
		args = append(args, "-json")
	}
	return args
}

// keys adds variable files that are only for the keys of encryption.
func (t Traits) keys(args, files []string) []string {
	if !t.Encrypts {
		return args
	}
	return variableFiles(args, files)
}

func variableFiles(args, files []string) []string {
	for _, file := range files {
		args = append(args, "-var-file="+file)
	}
	return args
}

// Init prepares the root module. It never upgrades: plan and apply must use the same providers.
type Init struct {
	// Events is the file that gets the events of an engine that does not print them.
	Events string
	// VariableFiles in order; a module's source and the backend may depend on variables (OpenTofu 1.8).
	VariableFiles []string
	// Locked rejects any provider that the lock file does not name.
	Locked bool
	// Backend is a file of arguments for the backend; empty for none.
	Backend string
}

func (o Init) args(t Traits) []string {
	args := t.step(StepInit, o.Events)
	if o.Locked {
		args = append(args, "-lockfile=readonly")
	}
	if o.Backend != "" {
		args = append(args, "-backend-config="+o.Backend)
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
	// Targets, Excludes and Replace are addresses, each for an option of the engine.
	Targets, Excludes, Replace []string
	// RefreshOnly plans to write to the state what changed outside of the engine, and to change no resource.
	RefreshOnly bool
}

func (o Plan) args(t Traits) []string {
	args := append(t.step(StepPlan, o.Events), "-lock=false", "-detailed-exitcode", "-out="+o.Out)
	if o.Destroy {
		args = append(args, "-destroy")
	}
	if o.RefreshOnly {
		args = append(args, "-refresh-only")
	}
	for _, option := range []struct {
		name      string
		addresses []string
	}{{"-target=", o.Targets}, {"-exclude=", o.Excludes}, {"-replace=", o.Replace}} {
		for _, a := range option.addresses {
			args = append(args, option.name+a)
		}
	}
	return variableFiles(args, o.VariableFiles)
}

// Apply does what was planned.
type Apply struct {
	Events string
	// VariableFiles have to be those of the plan. The values are in the plan, and the engine rejects others; the files
	// are for ephemeral variables and for the keys of encrypted plans and states.
	VariableFiles []string
	// Plan is the saved plan.
	Plan string
	// Version of the engine that created the plan and applies it; empty when it is not known.
	Version string
}

func (o Apply) args(t Traits) []string {
	args := t.step(StepApply, o.Events)
	if takes, err := Meets(o.Version, t.planVariables); t.planVariables == "" || err == nil && takes {
		args = variableFiles(args, o.VariableFiles)
	}
	return append(args, o.Plan)
}

// Show prints the changes of a saved plan, as JSON.
type Show struct {
	// VariableFiles have to be those of the plan: they are for the keys of encrypted plans.
	VariableFiles []string
	// Plan is the saved plan.
	Plan string
}

func (o Show) args(t Traits) []string {
	args := []string{"show", "-no-color", "-json"}
	if t.Encrypts {
		return append(variableFiles(args, o.VariableFiles), "-plan="+o.Plan)
	}
	return append(args, o.Plan)
}

// Adopt takes one resource that exists into the state, without a plan.
type Adopt struct {
	VariableFiles []string
	Address, ID   string
}

func (o Adopt) args(Traits) []string {
	args := variableFiles([]string{"import", "-input=false", "-no-color"}, o.VariableFiles)
	return append(args, o.Address, o.ID)
}

// Pull prints the state in clear, or nothing when there is none. It is needed only for a state that the engine
// encrypts, or keeps in a backend of its own.
type Pull struct{ VariableFiles []string }

func (o Pull) args(t Traits) []string {
	return t.keys([]string{"state", "pull", "-no-color"}, o.VariableFiles)
}

// Push puts the state of a file into the engine's own backend, if that has none or an older one of the same lineage.
type Push struct {
	VariableFiles []string
	// State is the file that has it.
	State string
	// Force takes any state, whatever is there.
	Force bool
}

func (o Push) args(t Traits) []string {
	args := []string{"state", "push", "-no-color"}
	if o.Force {
		args = append(args, "-force")
	}
	return append(t.keys(args, o.VariableFiles), o.State)
}

// Outputs prints all outputs, for ParseOutputs. It is needed only for a state that the engine encrypts.
type Outputs struct{ VariableFiles []string }

func (o Outputs) args(t Traits) []string {
	return t.keys([]string{"output", "-no-color", "-json"}, o.VariableFiles)
}
