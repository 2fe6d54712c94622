package snapshot

import (
	"strings"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stack/decision"
)

func TestImageBuildsNeedPermission(t *testing.T) {
	w := &decision.Snapshot{Stack: &v1alpha1.Stack{}}
	if buildIsAllowed(w) != nil {
		t.Error("a Stack without a build is rejected")
	}
	w.Stack.Spec.Runner.Build = &v1alpha1.Build{}
	if p := buildIsAllowed(w); p == nil || p.Reason != "BuildNotAllowed" ||
		!strings.Contains(p.Message, "--allow-image-builds") {
		t.Errorf("%+v", p)
	}
	w.AllowBuild = true
	if buildIsAllowed(w) != nil {
		t.Error("a build is rejected although builds are allowed")
	}
}
