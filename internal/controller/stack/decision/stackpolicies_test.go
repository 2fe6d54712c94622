package decision

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
)

func TestCauseOfChangedStackPolicies(t *testing.T) {
	prod := v1alpha1.AppliedStackPolicy{Name: "prod", Generation: 1, Policies: []string{"rules"}}
	windows := v1alpha1.AppliedStackPolicy{Name: "freeze", Generation: 2, Windows: 1}
	rules := func(text string) []inputs.Policy {
		return []inputs.Policy{{Name: "rules", Files: map[string]string{"a.rego": text}}}
	}
	for title, tt := range map[string]struct {
		before, now   []v1alpha1.AppliedStackPolicy
		last, inputs  []inputs.Policy
		want, message string
		unknown       bool
	}{
		"one selects the Stack from now on": {nil, []v1alpha1.AppliedStackPolicy{prod}, nil, rules(""), "StackPolicy",
			"StackPolicy prod changed", true},
		"one is gone": {[]v1alpha1.AppliedStackPolicy{prod}, nil, rules(""), nil, "StackPolicy",
			"StackPolicy prod changed", true},
		"the text of its policies": {[]v1alpha1.AppliedStackPolicy{prod}, []v1alpha1.AppliedStackPolicy{prod},
			rules("a"), rules("b"), "Spec", "spec.policies changed", false},
		"a policy of the Stack, and windows": {
			nil, []v1alpha1.AppliedStackPolicy{windows}, nil, rules(""), "Spec", "spec.policies changed", false,
		},
	} {
		stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: "net", Generation: 2}}
		stack.Status = v1alpha1.StackStatus{
			ObservedGeneration: 2, InputsDigest: "sha256:old", AppliedInputsDigest: "sha256:old",
			StackPolicies: tt.before,
			Unapplied:     &v1alpha1.Unapplied{Generation: 2, InputsDigest: "sha256:old"},
		}
		effective := stack.DeepCopy()
		effective.Status.StackPolicies = tt.now
		run := v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Name: "net-1"}}
		run.Spec.Operation, run.Status.Phase = v1alpha1.OperationApply, v1alpha1.PhaseSucceeded
		w := Snapshot{
			Stack: stack, Effective: effective, Runs: []v1alpha1.Run{run}, Digest: "sha256:new",
			Inputs: inputs.Document{Policies: tt.inputs}, LastInputs: &inputs.Document{Policies: tt.last},
		}
		if c := causeOf(w); string(c.Type) != tt.want || c.Message != tt.message {
			t.Errorf("%s: %+v", title, c)
		}
		if u := unapplied(w); (u.Unknown != "") != tt.unknown ||
			tt.unknown && !strings.Contains(u.Unknown, "StackPolicy prod") {
			t.Errorf("%s: %q", title, u.Unknown)
		}
		if got := Status(w, Decision{}).StackPolicies; len(got) != len(tt.now) {
			t.Errorf("%s: the status has %+v", title, got)
		}
	}
}
