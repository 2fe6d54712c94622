package approval

import (
	"errors"
	"fmt"
	"strings"
)

// algorithm is what a digest begins with.
const algorithm = "sha256:"

// ShortDigest is how many hexadecimal digits name a plan: 160 bits. Code of users writes the plan file, and can try
// contents until two plans, one to be read and one to be applied, have the same first digits. That takes about 2^80
// attempts for 160 bits, and 2^24, which are seconds, for the 12 digits that would tell apart what exists.
const ShortDigest = 40

// ErrOtherPlan is the error of a digest of another plan than that of the Run.
var ErrOtherPlan = errors.New("it has another plan than the one with this digest")

// Short returns the first digits of a plan's digest, with which a user names the plan in a command.
func Short(digest string) string {
	hex := strings.TrimPrefix(digest, algorithm)
	return hex[:min(len(hex), ShortDigest)]
}

// CheckDigest returns an error unless a user named the plan with this digest: by the whole digest, or by its first
// digits, as Short returns them or more of them.
func CheckDigest(digest, named string) error {
	hex, whole := strings.TrimPrefix(named, algorithm), strings.TrimPrefix(digest, algorithm)
	switch {
	case len(hex) < len(Short(digest)):
		return fmt.Errorf("the digest %s is too short to name one plan: at least %d digits are needed", named,
			ShortDigest)
	case !strings.HasPrefix(whole, hex):
		return ErrOtherPlan
	}
	return nil
}
