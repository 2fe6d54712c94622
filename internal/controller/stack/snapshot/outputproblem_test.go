package snapshot

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stack/decision"
)

func TestMessageOfAMissingOutput(t *testing.T) {
	outputs := func(n int) map[string]string {
		all := map[string]string{}
		for i := range n {
			all[fmt.Sprintf("out-%04d", i)] = "hmac"
		}
		return all
	}
	const publish = ": have that Stack write its outputs to a Secret with spec.outputs, and take the " +
		"variable from there"
	const add = ": add it to its code, or correct the variable that uses it"
	for name, tt := range map[string]struct {
		status    v1alpha1.StateStatus
		waits     string
		transient bool
		want      string
	}{
		"its Stack is not applied yet": {waits: "Running", transient: true, want: "waits for Stack vpc: Running"},
		"no state":                     {want: "Stack vpc has no output id, nor any other" + add},
		"no outputs": {status: v1alpha1.StateStatus{Version: 3},
			want: "Stack vpc has no output id, nor any other" + add},
		"one other output": {status: v1alpha1.StateStatus{Outputs: outputs(1)},
			want: "Stack vpc has no output id, only out-0000" + add},
		"other outputs without a version": {status: v1alpha1.StateStatus{Version: 3, Outputs: outputs(1)},
			want: "Stack vpc has no output id, only out-0000" + add},
		"five other outputs": {
			status: v1alpha1.StateStatus{Outputs: outputs(5)},
			want:   "Stack vpc has no output id, only out-0000, out-0001, out-0002, out-0003, out-0004" + add,
		},
		"many other outputs": {
			status: v1alpha1.StateStatus{Outputs: outputs(999)},
			want: "Stack vpc has no output id, only out-0000, out-0001, out-0002, out-0003, out-0004 and 994 more" +
				add,
		},
		"the limit of outputs": {
			status: v1alpha1.StateStatus{Outputs: outputs(1000)},
			want: "output id of Stack vpc is not among its first 1000 by name, which are all that others can use" +
				publish,
		},
		"the state is encrypted": {
			status: v1alpha1.StateStatus{Version: 3, Resources: -1},
			want:   "the state of Stack vpc is encrypted by its engine, so Cairn cannot read output id" + publish,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := decision.Dependency{Name: "vpc", Waits: tt.waits}
			want := &decision.Problem{Reason: "OutputNotFound", Message: tt.want}
			if tt.transient {
				want = &decision.Problem{Transient: true, Reason: "DependencyNotReady", Message: tt.want}
			}
			if diff := cmp.Diff(want, outputProblem(d, "id", tt.status)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
