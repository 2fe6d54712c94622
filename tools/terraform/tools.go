//go:build tools

// Package terraform pins the Terraform that the tests run: the last one under the MPL, and older than `init -json`.
// It is a module of its own because its dependencies are of its time.
package terraform

import _ "github.com/hashicorp/terraform"
