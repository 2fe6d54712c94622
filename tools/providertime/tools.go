//go:build tools

// Package providertime pins a provider that needs no cloud. The tests serve it as a registry does.
// It is a module of its own because its dependencies are none of Cairn's.
package providertime

import _ "github.com/hashicorp/terraform-provider-time"
