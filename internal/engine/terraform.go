package engine

import _ "embed"

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

// Release of Terraform. Of its signatures the first is by the key of 2021; of releases before it, the other is by a key
// that was revoked.
func (Terraform) Release() Release {
	return Release{
		Folder:     "terraform",
		Index:      "https://releases.hashicorp.com/terraform/index.json",
		Base:       "https://releases.hashicorp.com/terraform/{version}",
		Archive:    "terraform_{version}_{os}_{arch}.zip",
		Program:    "terraform",
		Sums:       "terraform_{version}_SHA256SUMS",
		Signatures: []string{"terraform_{version}_SHA256SUMS.72D7468F.sig", "terraform_{version}_SHA256SUMS.sig"},
		Key:        hashicorpKey,
	}
}

// hashicorpKey is HashiCorp's: https://www.hashicorp.com/trust/security, and the Go module
// github.com/hashicorp/hc-install v0.10.0, internal/pubkey. It expires on 2030-03-01; a signature from before that
// counts afterwards too.
//
// C874 011F 0AB4 0511 0D02 1055 3436 5D94 72D7 468F
//
//go:embed keys/hashicorp.asc
var hashicorpKey string

// PrintsEvents is true but for an init.
func (Terraform) PrintsEvents(step Step) bool { return terraformDialect.printsEvents(step) }
