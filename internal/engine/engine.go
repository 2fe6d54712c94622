// Package engine knows the programs that plan and apply code: their arguments, the events they write, what an error
// means and which code they take. It starts no process and knows nothing of Kubernetes.
//
// OpenTofu is the only one so far. Another one is a file beside tofu.go with the same methods; Terraform's will have to
// take its events from standard output, because it has no -json-into.
package engine

// Step is a command of an engine that does a part of an attempt.
type Step string

// The commands of an engine.
const (
	StepInit  Step = "init"
	StepPlan  Step = "plan"
	StepApply Step = "apply"
)

// LockFile is where an engine pins the providers it chose, in the root module and in a saved plan.
const LockFile = ".terraform.lock.hcl"

// DataDir is what an engine keeps in the root module for itself.
const DataDir = ".terraform"

// LocalState is where an engine keeps the state when it has no backend.
const LocalState = "terraform.tfstate"

// ErroredState is what an engine leaves in the root module when it could write the state nowhere else.
const ErroredState = "errored.tfstate"
