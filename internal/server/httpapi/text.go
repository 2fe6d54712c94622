package httpapi

import (
	"regexp"
)

var digestPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// IsDigest checks the form of a SHA256 digest.
func IsDigest(s string) bool { return digestPattern.MatchString(s) }
