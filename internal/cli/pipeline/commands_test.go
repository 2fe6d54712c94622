package pipeline

import (
	"strings"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
)

// TestReleaseOfAStage checks which release cairn promote promotes.
func TestReleaseOfAStage(t *testing.T) {
	p := &v1alpha1.Pipeline{Status: v1alpha1.PipelineStatus{
		Releases: []v1alpha1.Release{{Commit: "abc1"}, {Commit: "abd2"}},
		Stages:   []v1alpha1.StageStatus{{Name: "staging"}, {Name: "production", Next: "abc1"}},
	}}
	for _, c := range []struct{ stage, prefix, want, problem string }{
		{"production", "", "abc1", ""},
		{"staging", "", "", "can get no release"},
		{"qa", "", "", "can get no release"},
		{"staging", "abd", "abd2", ""},
		{"staging", "ab", "", "2 releases of Pipeline"},
		{"staging", "x", "", "begins with \"x\""},
	} {
		got, err := commitOf(p, c.stage, c.prefix)
		if got != c.want || (err != nil) != (c.problem != "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s %q: %q, %v", c.stage, c.prefix, got, err)
		}
	}
}
