package listing

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

func TestRowOfARunHasItsWaits(t *testing.T) {
	at := func(minute int) metav1.MicroTime {
		return metav1.MicroTime{Time: day.Add(time.Duration(minute) * time.Minute)}
	}
	finished := at(3)
	r := &v1alpha1.Run{}
	r.Status.Phase = v1alpha1.PhaseAwaitingApproval
	r.Status.Attempts = []v1alpha1.Attempt{{Phase: v1alpha1.AttemptPlan, StartedAt: at(1), FinishedAt: &finished}}
	if row := Runs.Row(r); row.Waited != 0 || row.WaitingSince == nil || !row.WaitingSince.Equal(finished.Time) {
		t.Errorf("while it waits: %d seconds, since %v", row.Waited, row.WaitingSince)
	}
	r.Status.Phase = v1alpha1.PhaseApplying
	r.Status.Attempts = append(r.Status.Attempts, v1alpha1.Attempt{Phase: v1alpha1.AttemptApply, StartedAt: at(63)})
	if row := Runs.Row(r); row.Waited != 3600 || row.WaitingSince != nil {
		t.Errorf("after the wait: %d seconds, since %v", row.Waited, row.WaitingSince)
	}
}
