package decision

import (
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/gitops"
)

// What Flux (by kstatus) and Argo CD (by its health check) take a Run for, in each situation of
// docs/contributing/decisions/0043-status-for-gitops-tools.md.
func TestStatusForGitOpsTools(t *testing.T) {
	for name, tt := range map[string]struct {
		snapshot       Snapshot
		phase          v1alpha1.RunPhase
		status, health string
	}{
		"it waits for another Run": {snapshot(func(w *Snapshot) { w.Older = "net-6" }), "Queued", "InProgress",
			"Progressing"},
		"it waits for its inputs": {snapshot(func(w *Snapshot) {
			w.Missing = "Secret db is not there"
		}), "Queued", "InProgress", "Progressing"},
		"it plans":                 {snapshot(planning), "Planning", "InProgress", "Progressing"},
		"it waits for an approval": {snapshot(planned, manual), "AwaitingApproval", "InProgress", "Suspended"},
		"it tries again": {snapshot(planning, failed(v1alpha1.FailureTransient)), "Planning",
			"InProgress", "Progressing"},
		"it found no changes": {snapshot(planned, noChanges), "Succeeded", "Current", "Healthy"},
		"it planned":          {snapshot(planned, planOnly), "Succeeded", "Current", "Healthy"},
		"it failed": {snapshot(planning, failed(v1alpha1.FailureConfigurationError)), "Failed",
			"Failed", "Degraded"},
		"it was canceled":               {snapshot(cancel), "Canceled", "Failed", "Degraded"},
		"a newer Run takes its place":   {snapshot(planned, manual, changed), "Superseded", "Current", "Healthy"},
		"its Stack is deleted meantime": {snapshot(deleting), "Superseded", "Current", "Healthy"},
	} {
		t.Run(name, func(t *testing.T) {
			run := tt.snapshot.Run
			run.Status, _ = Settle(tt.snapshot)
			if run.Status.Phase != tt.phase {
				t.Fatalf("the Run is %s, want %s", run.Status.Phase, tt.phase)
			}
			if got := gitops.KStatus(t, run); got != tt.status {
				t.Errorf("kstatus: %s, want %s: %+v", got, tt.status, run.Status.Conditions)
			}
			succeeded := apimeta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionSucceeded)
			health, message := gitops.ArgoHealth(t, "Run", run)
			if want := succeeded.Reason + ": " + succeeded.Message; health != tt.health || message != want {
				t.Errorf("Argo CD: %s (%s), want %s (%s)", health, message, tt.health, want)
			}
		})
	}
}
