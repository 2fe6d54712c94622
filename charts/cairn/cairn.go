// Package cairn gives `cairn dev` what the chart installs beside the operator.
package cairn

import "embed"

// Manifests are the CustomResourceDefinitions, then the admission policies, then the roles for people.
//
//go:embed files/crds/*.yaml files/policies/*.yaml files/rbac/*.yaml
var Manifests embed.FS
