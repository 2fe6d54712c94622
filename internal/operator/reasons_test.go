package operator

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// TestReasonsAreExported checks that a reason of a Ready condition is exported by its name: Other would not help the
// recipient of an alert. Any writer of a status can write any reason, and each is a series.
func TestReasonsAreExported(t *testing.T) {
	for reason, want := range map[string]string{
		v1alpha1.ReasonBackendInCode: "BackendInCode", v1alpha1.ReasonRefNotFound: "RefNotFound",
		v1alpha1.ReasonPullRequestPlanned: "PlansReady", "Invented": "Other",
		v1alpha1.ReasonDriftDetected: "Other", // of another condition
	} {
		conditions := []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason}}
		if _, got, _ := readyOf(conditions, metav1.Time{}); got != want {
			t.Errorf("%s is exported as %s, want %s", reason, got, want)
		}
	}
}
