package kinds

import (
	"net/url"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/userapi"
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

func TestRunsOfAnEarlierStackOfTheName(t *testing.T) {
	isController := true
	owned := func(name, uid string) *userapi.Run {
		r := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: v1alpha1.RunSpec{Stack: v1alpha1.ObjectRef{Name: "net"}}}
		if uid != "" {
			r.OwnerReferences = []metav1.OwnerReference{{Kind: "Stack", Name: "net", UID: types.UID(uid),
				Controller: &isController}}
		}
		row := Runs.Row(r)
		return &row
	}
	rows := []*userapi.Run{owned("net-1", "earlier"), owned("net-2", ""), owned("net-3", "now")}
	page, err := Runs.Query.Page(rows, url.Values{"stackUID": {"now"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Items) != 1 || page.Items[0].Name != "net-3" || page.Total != 1 {
		t.Errorf("%d Runs, want net-3 alone", page.Total)
	}
}

func TestRowsOfPlansThatChangeOnlyTheState(t *testing.T) {
	plan := &v1alpha1.Plan{Changes: true, StateOnly: true}
	r := &v1alpha1.Run{Status: v1alpha1.RunStatus{Plan: plan}}
	if row := Runs.Row(r); row.Plan == nil || !row.Plan.StateOnly {
		t.Errorf("the row of the Run has %+v", row.Plan)
	}
	p := &v1alpha1.PullRequest{}
	p.Status.Stacks = []v1alpha1.PullRequestStack{{Plan: plan}, {Plan: &v1alpha1.Plan{}}}
	if row := PullRequests.Row(p); row.Plan == nil || !row.Plan.Changes || !row.Plan.StateOnly {
		t.Errorf("the row of the PullRequest has %+v", row.Plan)
	}
}
