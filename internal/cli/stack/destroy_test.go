package stack

import (
	"strings"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
)

// TestConfirmDestroyAsksOnce checks that a destroy asks for confirmation, unless its plan waits for an approval anyway.
func TestConfirmDestroyAsksOnce(t *testing.T) {
	const question = "Enter the Stack's name"
	for name, tt := range map[string]struct {
		spec     v1alpha1.StackSpec
		answer   string
		asks, ok bool
	}{
		"what is applied by itself is asked about": {
			spec: v1alpha1.StackSpec{Apply: v1alpha1.ApplyAutomatic}, answer: "net\n", asks: true, ok: true},
		"and not destroyed for any other answer": {
			spec: v1alpha1.StackSpec{Apply: v1alpha1.ApplyAutomatic}, answer: "yes\n", asks: true},
		"with Manual the plan waits": {spec: v1alpha1.StackSpec{Apply: v1alpha1.ApplyManual},
			ok: true},
		"with Delete in the list the plan waits": {
			spec: v1alpha1.StackSpec{Apply: v1alpha1.ApplyAutomatic,
				RequireApprovalFor: []v1alpha1.ChangeKind{v1alpha1.ChangeDelete}}, ok: true},
		"other kinds do not let it wait": {
			spec: v1alpha1.StackSpec{Apply: v1alpha1.ApplyAutomatic,
				RequireApprovalFor: []v1alpha1.ChangeKind{v1alpha1.ChangeReplace}}, asks: true},
		"StackDeletion is no approval of a destroy on request": {
			spec: v1alpha1.StackSpec{Apply: v1alpha1.ApplyAutomatic,
				RequireApprovalFor: []v1alpha1.ChangeKind{v1alpha1.ChangeStackDeletion}}, asks: true},
	} {
		t.Run(name, func(t *testing.T) {
			s, _, out := quietStack()
			s.TTY, s.In = true, strings.NewReader(tt.answer)
			stack := &v1alpha1.Stack{Spec: tt.spec}
			stack.Name = "net"
			if err := confirmDestroy(t.Context(), s, stack, false); (err == nil) != tt.ok ||
				strings.Contains(out.String(), question) != tt.asks {
				t.Errorf("%v, after %q", err, out.String())
			}
		})
	}
}
