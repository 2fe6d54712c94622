//go:build tools

// Package syft pins the program that writes what is in an image (SBOM).
package syft

import _ "github.com/anchore/syft/cmd/syft"
