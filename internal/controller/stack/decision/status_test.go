package decision

import (
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
)

// TestImagesOfTheStatus checks the newest image that was built, and that of the last apply, which a destroy uses.
func TestImagesOfTheStatus(t *testing.T) {
	older, newer := &v1alpha1.BuiltImage{Key: "older", Digest: "sha256:1"}, &v1alpha1.BuiltImage{Key: "newer",
		Digest: "sha256:2"}
	for name, tt := range map[string]struct {
		phase              v1alpha1.RunPhase
		operation          v1alpha1.Operation
		image              *v1alpha1.BuiltImage
		wantImage, applied *v1alpha1.BuiltImage
	}{
		"applied":                {v1alpha1.PhaseSucceeded, v1alpha1.OperationApply, newer, newer, newer},
		"under way":              {v1alpha1.PhaseApplying, v1alpha1.OperationApply, newer, older, older},
		"only planned":           {v1alpha1.PhaseSucceeded, v1alpha1.OperationPlan, newer, newer, older},
		"failed after its build": {v1alpha1.PhaseFailed, v1alpha1.OperationApply, newer, newer, older},
		"failed in its build": {v1alpha1.PhaseFailed, v1alpha1.OperationApply,
			&v1alpha1.BuiltImage{Key: "newer"}, older, older},
		"destroyed":                     {v1alpha1.PhaseSucceeded, v1alpha1.OperationDestroy, newer, newer, nil},
		"applied without a built image": {v1alpha1.PhaseSucceeded, v1alpha1.OperationApply, nil, older, nil},
	} {
		w := Snapshot{Stack: &v1alpha1.Stack{}, Runs: []v1alpha1.Run{{}}}
		w.Stack.Status.Image, w.Stack.Status.AppliedImage = older, older
		w.Stack.Status.LastRun, w.Runs[0].Name = "net-1", "net-1"
		w.Runs[0].Spec.Operation = tt.operation
		w.Runs[0].Status = v1alpha1.RunStatus{Phase: tt.phase, Image: tt.image, Plan: &v1alpha1.Plan{Changes: true}}
		if got := builtImage(w); got != tt.wantImage {
			t.Errorf("%s: the image is %+v", name, got)
		}
		if got := appliedImage(w); got != tt.applied {
			t.Errorf("%s: the image of the last apply is %+v", name, got)
		}
	}
}

// The condition names what the engine does not get of spec.env, and goes when nothing is left.
func TestIgnoredEnvironment(t *testing.T) {
	w := Snapshot{Stack: &v1alpha1.Stack{}}
	if c := environmentCondition(w); c != nil {
		t.Errorf("%+v", c)
	}
	w.IgnoredEnv = []string{"TF_WORKSPACE (set spec.workspace of the Stack)", "TF_DATA_DIR (why)"}
	const want = "remove from spec.env what the engine does not get: TF_WORKSPACE (set spec.workspace of the Stack); " +
		"TF_DATA_DIR (why)"
	if c := environmentCondition(w); c == nil || c.Message != want || c.Reason != v1alpha1.ReasonVariablesWithheld {
		t.Errorf("%+v", c)
	}
}
