package engine

import _ "embed"

// Terraform is https://developer.hashicorp.com/terraform, from version 1.0 on. It prints either events or text, both on
// standard output: a plan and an apply print events. Only 1.9 and later have events for an init, so an init
// prints text, and ReadErrors finds in it what went wrong. It encrypts neither plans nor states.
//
// There are ephemeral variables from 1.10 on. Older versions reject variable files beside a saved plan, and need none:
// all values are in the plan. Of the signatures the first is by the key of 2021; of releases before it, the other is by
// a key that was revoked.
var Terraform = Engine{
	name: "Terraform", program: "terraform", version: []string{"version", "-json"},
	Traits: Traits{planVariables: ">= 1.10"},
	Release: Release{
		Folder:     "terraform",
		Index:      "https://releases.hashicorp.com/terraform/index.json",
		Base:       "https://releases.hashicorp.com/terraform/{version}",
		Archive:    "terraform_{version}_{os}_{arch}.zip",
		Program:    "terraform",
		Sums:       "terraform_{version}_SHA256SUMS",
		Signatures: []string{"terraform_{version}_SHA256SUMS.72D7468F.sig", "terraform_{version}_SHA256SUMS.sig"},
		Key:        hashicorpKey,
	},
}

// hashicorpKey is HashiCorp's: https://www.hashicorp.com/trust/security, and the Go module
// github.com/hashicorp/hc-install v0.10.0, internal/pubkey. It expires on 2030-03-01; a signature from before that
// counts afterwards too.
//
// C874 011F 0AB4 0511 0D02 1055 3436 5D94 72D7 468F
//
//go:embed keys/hashicorp.asc
var hashicorpKey string
