package decision

import "testing"

// The revision says when the inputs came to be: a later commit of the same branch that changes none of them is not told.
func TestTheRevisionMovesWithTheInputs(t *testing.T) {
	for name, test := range map[string]struct{ inputs, was, is, want string }{
		"the first":                            {"", "", "main@sha1:1", "main@sha1:1"},
		"other inputs":                         {"sha256:before", "main@sha1:1", "main@sha1:2", "main@sha1:2"},
		"a commit that changes none of them":   {"sha256:now", "main@sha1:1", "main@sha1:2", "main@sha1:1"},
		"another branch with the same code":    {"sha256:now", "main@sha1:1", "next@sha1:1", "next@sha1:1"},
		"another commit that the Stack names":  {"sha256:now", "sha1:1", "sha1:2", "sha1:2"},
		"from a branch to a commit":            {"sha256:now", "main@sha1:1", "sha1:1", "sha1:1"},
		"the same code out of a ConfigMap now": {"sha256:now", "main@sha1:1", "sha256:code", "sha256:code"},
	} {
		t.Run(name, func(t *testing.T) {
			w := world(func(w *Snapshot) {
				w.Stack.Status.InputsDigest, w.Stack.Status.Revision, w.Revision = test.inputs, test.was, test.is
			})
			if s := Status(w, Decision{}); s.Revision != test.want || s.InputsDigest != w.Digest {
				t.Errorf("the revision of %s is %s, want %s", s.InputsDigest, s.Revision, test.want)
			}
		})
	}
}
