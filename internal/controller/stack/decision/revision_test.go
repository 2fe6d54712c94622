package decision

import "testing"

// TestRevisionChangesWithTheInputs checks that the revision is that of the commit which changed the inputs, not that of
// a later commit of the same branch.
func TestRevisionChangesWithTheInputs(t *testing.T) {
	for name, test := range map[string]struct{ inputs, was, is, want string }{
		"first inputs": {"", "", "main@sha1:1", "main@sha1:1"},
		"other inputs": {"sha256:before", "main@sha1:1", "main@sha1:2", "main@sha1:2"},
		"a commit without a change of the inputs": {"sha256:now", "main@sha1:1", "main@sha1:2", "main@sha1:1"},
		"another branch with the same code":       {"sha256:now", "main@sha1:1", "next@sha1:1", "next@sha1:1"},
		"another commit in the spec":              {"sha256:now", "sha1:1", "sha1:2", "sha1:2"},
		"a commit instead of a branch":            {"sha256:now", "main@sha1:1", "sha1:1", "sha1:1"},
		"the same code in a ConfigMap":            {"sha256:now", "main@sha1:1", "sha256:code", "sha256:code"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSnapshot(func(w *Snapshot) {
				w.Stack.Status.InputsDigest, w.Stack.Status.Revision, w.Revision = test.inputs, test.was, test.is
			})
			if s := Status(w, Decision{}); s.Revision != test.want || s.InputsDigest != w.Digest {
				t.Errorf("the revision of %s is %s, want %s", s.InputsDigest, s.Revision, test.want)
			}
		})
	}
}
