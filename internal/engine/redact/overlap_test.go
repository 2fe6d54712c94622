package redact

import "testing"

// A secret within another one, and of it a part that both have, must not uncover the end of the longer.
func TestSecretWithinAnotherIsHidden(t *testing.T) {
	r := New()
	r.Add("one-two-three-four", "two-t")
	if got := r.String("_one-two-three-four_two-t_"); got != "_"+Mask+"_"+Mask+"_" {
		t.Error(got)
	}
}
