// Package cairn gives `cairn dev` what the chart installs beside the operator.
package cairn

import "embed"

// Manifests are the CustomResourceDefinitions, then the admission policies, then the roles for people.
//
//go:embed crds/*.yaml policies/*.yaml rbac/*.yaml
var Manifests embed.FS
