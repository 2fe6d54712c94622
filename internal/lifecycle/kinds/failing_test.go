package kinds

import (
	"net/url"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

func stalledStack(s *v1alpha1.Stack) {
	s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionStalled,
		Status: metav1.ConditionTrue})
}

// TestFailingStacks checks the list of the overview: a Stack whose reason reports an error is in it, also if this
// version does not know the reason, and one that waits for a user's decision, or that only waits, is not.
func TestFailingStacks(t *testing.T) {
	fails := map[string]bool{
		"TemplateInvalid": true, "TerragruntStackNotSupported": true, "NodeUnreachable": true, "BackendInCode": true,
		"RefNotFound": true, "RunFailed": true,
		"AwaitingApproval": false, "RunCanceled": false, "Drifted": false, "Suspended": false, "WindowClosed": false,
		"DependencyNotReady": false, "PodPending": false,
	}
	var stacks []*v1alpha1.Stack
	for reason := range fails {
		stacks = append(stacks, stackOf("web", strings.ToLower(reason), is("False", reason, "")))
	}
	stacks = append(stacks, stackOf("web", "unknown", is("False", "OfANewerVersion", ""), stalledStack),
		stackOf("web", "ready", is("True", "Applied", "")))
	page, err := Stacks.Query.Page(rowsOf(Stacks, stacks...), url.Values{"failing": {"true"}})
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, row := range page.Items {
		listed[row.Name] = true
	}
	for reason, want := range fails {
		if listed[strings.ToLower(reason)] != want {
			t.Errorf("a Stack with the reason %s is among the failing ones: %v, want %v", reason, !want, want)
		}
	}
	if !listed["unknown"] || listed["ready"] {
		t.Errorf("the failing Stacks are %v", listed)
	}
}
