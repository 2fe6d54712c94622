//go:build tools

// Package helm pins what packages, documents and installs the chart.
package helm

import (
	_ "github.com/norwoodj/helm-docs/cmd/helm-docs"
	_ "helm.sh/helm/v4/cmd/helm"
)
