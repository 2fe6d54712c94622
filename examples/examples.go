// Package examples holds manifests to try Cairn with; `cairn demo` applies the first one and infra.yaml.
package examples

import "embed"

// ConfigMap is a Stack whose code is in a ConfigMap and whose variables are in a Secret.
//
//go:embed 01-configmap.yaml
var ConfigMap []byte

// Infra is the code of the git repository that `cairn demo` serves, in the folder infra, and InfraStack its Stack.
//
//go:embed infra
var Infra embed.FS

// InfraStack is the Stack of Infra, whose plans wait for an approval.
//
//go:embed infra.yaml
var InfraStack []byte
