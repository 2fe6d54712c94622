package stack

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

// own returns a copy of a text in memory of its own.
func own(text string) string { return strings.Clone(text) }

func decoded() *v1alpha1.Stack {
	stack := &v1alpha1.Stack{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "net",
			Annotations: map[string]string{v1alpha1.ChangedByAnnotation: "alice"}},
		Status: v1alpha1.StackStatus{
			Conditions: []metav1.Condition{{Type: own("Ready"), Status: metav1.ConditionStatus(own("True")),
				Reason: own("Applied"), Message: own("Up to date (1 resource)")}},
			InputsDigest: own("sha256:1"), AppliedInputsDigest: own("sha256:1"), Revision: own("main@sha1:1"),
			LastRun: own("net-2"),
		},
	}
	for _, name := range []string{"net-1", "net-2"} {
		stack.Status.History = append(stack.Status.History, v1alpha1.PastRun{
			Name: own(name), UID: types.UID(own("uid of " + name)), Operation: v1alpha1.Operation(own("Apply")),
			Cause: v1alpha1.Cause{Type: v1alpha1.CauseType(own("Spec"))},
		})
	}
	stack.Status.History[1].Details = &v1alpha1.PastDetails{InputsDigest: own("sha256:1"), Revision: own("main@sha1:1")}
	return stack
}

func at(text string) *byte { return unsafe.StringData(text) }

func TestLeanSharesEqualTexts(t *testing.T) {
	got := decoded()
	got.Annotations[corev1.LastAppliedConfigAnnotation] = "long"
	got.Status.History = append(make([]v1alpha1.PastRun, 0, 100), got.Status.History...)
	for range 2 { // a cache may do it twice
		Lean(got)
		if diff := cmp.Diff(decoded(), got); diff != "" {
			t.Error(diff)
		}
	}
	s := got.Status
	if cap(s.History) >= 100 {
		t.Error("the capacity of the history is larger than its length")
	}
	first, last := s.History[0], s.History[1]
	for name, one := range map[string]bool{
		"inputs": at(s.InputsDigest) == at(s.AppliedInputsDigest) &&
			at(s.InputsDigest) == at(last.Details.InputsDigest),
		"revision": at(s.Revision) == at(last.Details.Revision),
		"last Run": at(s.LastRun) == at(last.Name),
		"history": unsafe.Add(unsafe.Pointer(at(first.Name)), len(first.Name)+len(first.UID)) == unsafe.Pointer(
			at(last.Name)),
	} {
		if !one {
			t.Errorf("%s: equal texts do not share memory", name)
		}
	}
	other := decoded()
	if Lean(other); at(other.Status.Conditions[0].Message) != at(s.Conditions[0].Message) ||
		at(string(other.Status.History[0].Operation)) != at(string(first.Operation)) {
		t.Error("equal texts of two Stacks do not share memory")
	}
}

// TestLeanDropsEmptyMaps checks maps without entries, which use as much memory as one with eight.
func TestLeanDropsEmptyMaps(t *testing.T) {
	got := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{
		Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: "long"}}}
	if Lean(got); got.Annotations != nil || got.Status.History != nil {
		t.Errorf("got %v and %v", got.Annotations, got.Status.History)
	}
}
