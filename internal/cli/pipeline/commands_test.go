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
		Stages: []v1alpha1.StageStatus{
			{Name: "dev", Release: "abc1"}, {Name: "staging"}, {Name: "canary"}, {Name: "production", Next: "abc1"},
		},
	}}
	p.Name = "shop"
	for _, name := range []string{"new", "dev", "staging", "canary", "production"} {
		p.Spec.Stages = append(p.Spec.Stages, v1alpha1.PipelineStage{Name: name})
	}
	for _, c := range []struct{ stage, prefix, want, problem string }{
		{"production", "", "abc1", ""},
		{"new", "", "", "no release of Pipeline shop exists yet"},
		{"dev", "", "", "stage dev of Pipeline shop has release abc1, and can get no newer one"},
		{"canary", "", "", "stage canary of Pipeline shop can get no release: stage staging has completed none"},
		{"qa", "", "", `no stage of Pipeline shop is called "qa": it has new, dev, staging, canary, production`},
		{"staging", "abd", "abd2", ""},
		{"staging", "ab", "", "2 releases of Pipeline"},
		{"staging", "x", "", "begins with \"x\""},
	} {
		got, err := commitOf(p, c.stage, c.prefix)
		if got != c.want || (err != nil) != (c.problem != "") || err != nil && !strings.Contains(err.Error(),
			c.problem) {
			t.Errorf("%s %q: %q, %v", c.stage, c.prefix, got, err)
		}
	}
}
