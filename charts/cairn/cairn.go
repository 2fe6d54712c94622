// Package cairn gives `cairn dev` what the chart installs beside the operator.
package cairn

import "embed"

// Manifests are the CustomResourceDefinitions, then the admission policies.
//
//go:embed crds/*.yaml policies/*.yaml
var Manifests embed.FS
