package engine

// Terraform is https://developer.hashicorp.com/terraform, from version 1.0 on. It prints either events or text, both on
// standard output: a plan and an apply print events. Only 1.9 and later have events for an init, so an init
// prints text, and ReadErrors finds in it what went wrong. It encrypts neither plans nor states.
type Terraform struct{}

// terraformDialect: there are ephemeral variables from 1.10 on. Older versions reject variable files beside a saved plan,
// and need none: all values are in the plan.
var terraformDialect = dialect{planVariables: ">= 1.10"}

// Name for messages.
func (Terraform) Name() string { return "Terraform" }

// Program is the command's name.
func (Terraform) Program() string { return "terraform" }

// Version asks for the version.
func (Terraform) Version() []string { return []string{"version", "-json"} }

// Args returns the arguments of a command.
func (Terraform) Args(c Command) []string { return c.args(terraformDialect) }

// Traits of Terraform.
func (Terraform) Traits() Traits { return Traits{} }

// PrintsEvents is true but for an init.
func (Terraform) PrintsEvents(step Step) bool { return terraformDialect.printsEvents(step) }
