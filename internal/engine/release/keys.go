package release

import _ "embed"

// The public keys that the makers sign their releases with, apart from OpenTofu's, which a library includes. Each test
// of this package that names a fingerprint has it from the maker's own documentation.
var (
	// hashicorpKey is HashiCorp's: https://www.hashicorp.com/trust/security, and the Go module
	// github.com/hashicorp/hc-install v0.10.0, internal/pubkey. It expires on 2030-03-01; a signature from before
	// that counts afterwards too.
	//
	// C874 011F 0AB4 0511 0D02 1055 3436 5D94 72D7 468F
	//
	//go:embed keys/hashicorp.asc
	hashicorpKey string

	// gruntworkKey is Gruntwork's: https://gruntwork.io/.well-known/pgp-key.txt, and the Go module
	// github.com/gruntwork-io/terragrunt v1.0.0, KEYS. It does not expire.
	//
	// 68C8 0F86 DF98 E710 C0F2 2E2E 5777 74AC A847 CC49
	//
	//go:embed keys/gruntwork.asc
	gruntworkKey string
)
