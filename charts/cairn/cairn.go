// Package cairn contains the chart. It provides `cairn dev` with the objects that the chart installs in addition to the
// operator.
package cairn

import "embed"

// Manifests are the CustomResourceDefinitions, then the admission policies, then the roles for users.
//
//go:embed files/crds/*.yaml files/policies/*.yaml files/rbac/*.yaml
var Manifests embed.FS
