package release

import _ "embed"

// The public keys that the makers sign their releases with, apart from OpenTofu's, which a library brings. Each test of
// this package that names a fingerprint has it from the maker's own documentation.
// Of a maker that no module has the key of, the fingerprint is in the table of products.
var (
	// hashicorpKey is HashiCorp's: https://www.hashicorp.com/trust/security, and the Go module
	// github.com/hashicorp/hc-install v0.10.0, internal/pubkey. It expires on 2030-03-01; a signature that was made before
	// that counts afterwards too.
	//
	// C874 011F 0AB4 0511 0D02 1055 3436 5D94 72D7 468F
	//
	//go:embed keys/hashicorp.asc
	hashicorpKey string
)
