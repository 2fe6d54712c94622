//go:build tools

// Package tofu pins the OpenTofu that `cairn dev` and the tests run.
// It is a module of its own because OpenTofu needs a replaced HCL.
package tofu

import _ "github.com/opentofu/opentofu/cmd/tofu"
