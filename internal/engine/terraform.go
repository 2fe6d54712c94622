package engine

// Terraform is https://developer.hashicorp.com/terraform, from version 1.0 on. It prints either events or text, both on
// standard output: a plan and an apply print events. Only 1.9 and later have events for an init, so an init
// prints text, and ReadErrors finds in it what went wrong.
type Terraform struct{}

// Name for messages.
func (Terraform) Name() string { return "Terraform" }

// Program is the command's name.
func (Terraform) Program() string { return "terraform" }

// Version asks for the version.
func (Terraform) Version() []string { return []string{"version", "-json"} }

// PrintsEvents is true but for an init.
func (Terraform) PrintsEvents(step Step) bool { return step != StepInit }

// Init returns the arguments for o.
func (Terraform) Init(o Init) []string {
	args := []string{"init", "-input=false", "-no-color"}
	if o.Locked {
		args = append(args, "-lockfile=readonly")
	}
	return variableFiles(o.backend(args), o.VariableFiles)
}

// Plan returns the arguments for o.
func (Terraform) Plan(o Plan) []string {
	args := []string{"plan", "-input=false", "-no-color", "-json", "-lock=false", "-detailed-exitcode", "-out=" + o.Out}
	if o.Destroy {
		args = append(args, "-destroy")
	}
	return variableFiles(args, o.VariableFiles)
}

// ephemeralVariables are in Terraform from this version on. Older ones reject variable files beside a saved plan, and
// need none: all values are in the plan.
const ephemeralVariables = ">= 1.10"

// Apply returns the arguments for o.
func (Terraform) Apply(o Apply) []string {
	args := []string{"apply", "-input=false", "-no-color", "-json"}
	if takes, err := Meets(o.Version, ephemeralVariables); err == nil && takes {
		args = variableFiles(args, o.VariableFiles)
	}
	return append(args, o.Plan)
}

// Show returns the arguments for o, without variables: Terraform encrypts no plans.
func (Terraform) Show(o Show) []string { return []string{"show", "-no-color", "-json", o.Plan} }

// Output returns the arguments. It needs no variables: Terraform encrypts no states.
func (Terraform) Output([]string) []string { return []string{"output", "-no-color", "-json"} }

// Adopt returns the arguments for o.
func (Terraform) Adopt(o Adopt) []string { return adoptArgs(o) }

// Pull returns the arguments. It needs no variables: Terraform encrypts no states.
func (Terraform) Pull([]string) []string { return []string{"state", "pull", "-no-color"} }

// Push returns the arguments for o.
func (Terraform) Push(o Push) []string { return append(o.args(), o.State) }
