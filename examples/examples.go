// Package examples holds manifests to try Cairn with; `cairn demo` applies the first one.
package examples

import _ "embed"

// ConfigMap is a Stack whose code is in a ConfigMap and whose variables are in a Secret.
//
//go:embed 01-configmap.yaml
var ConfigMap []byte
