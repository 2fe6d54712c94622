package approval

import (
	"errors"
	"strings"
	"testing"
)

func TestDigestsThatNameAPlan(t *testing.T) {
	hex := "3f2a91c04d1e" + strings.Repeat("0", 50) + "ab"
	digest := algorithm + hex
	for name, tt := range map[string]struct {
		named           string
		other, tooShort bool
	}{
		"the whole digest":                      {named: digest},
		"the whole digest without sha256":       {named: hex},
		"as a message has it":                   {named: Short(digest)},
		"as a message has it, with sha256":      {named: algorithm + Short(digest)},
		"another digest":                        {named: algorithm + strings.Repeat("1", 64), other: true},
		"another last digit":                    {named: digest[:len(digest)-1] + "c", other: true},
		"one digit too many":                    {named: digest + "0", other: true},
		"upper case, which the API has not":     {named: strings.ToUpper(hex), other: true},
		"first digits for which code can grind": {named: hex[:12], tooShort: true},
		"one digit too few":                     {named: hex[:39], tooShort: true},
		"none":                                  {named: "sha256:", tooShort: true},
	} {
		err := CheckDigest(digest, tt.named)
		if (err != nil) != (tt.other || tt.tooShort) || errors.Is(err, ErrOtherPlan) != tt.other {
			t.Errorf("%s: %v", name, err)
		}
	}
	if Short(digest) != hex[:40] {
		t.Errorf("the short form is %s", Short(digest))
	}
}
