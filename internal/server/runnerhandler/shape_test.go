package runnerhandler

import (
	"strings"
	"testing"

	"cairn.dev/cairn/internal/base/bucket/buckettest"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/artifact"
)

// TestShapeOfAPlanIsStored checks that a hash of the shape is stored with the fingerprint, and none for a plan that
// deletes something.
func TestShapeOfAPlanIsStored(t *testing.T) {
	s := &API{Options: Options{
		Bucket: buckettest.Open(t, "file://"+t.TempDir()), Fingerprint: func(message []byte) string {
			what, _, _ := strings.Cut(string(message), "\n")
			return strings.Repeat("f", len(what)%10)
		},
	}}
	for action, want := range map[string]bool{"update": true, "delete": false} {
		document := `{"format_version": "1.2", "complete": true, "resource_changes": [
			{"address": "test.a", "change": {"actions": ["` + action + `"], "before": {"a": 1}, "after": {"a": 2}}}]}`
		if err := s.keepFingerprint(t.Context(), action, []byte(document), nil); err != nil {
			t.Fatal(err)
		}
		fingerprint, err := s.hashOf(t.Context(), artifact.FingerprintKey(action))
		if err != nil || fingerprint == "" {
			t.Errorf("%s: the fingerprint is %q, %v", action, fingerprint, err)
		}
		shape, err := s.hashOf(t.Context(), artifact.ShapeKey(action))
		if err != nil || (shape == "fffff") != want || !want && shape != "" {
			t.Errorf("%s: the shape is %q, %v", action, shape, err)
		}
	}
	if p := clampPlan(&runnerapi.Plan{Shape: "s", Fingerprint: "f"}); p.Shape != "" || p.Fingerprint != "" {
		t.Errorf("a pod reports %+v", p)
	}
}
