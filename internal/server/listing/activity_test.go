package listing

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/kinds"
	"cairn.dev/cairn/internal/userapi"
)

var day = time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)

func TestActivity(t *testing.T) {
	now := day.Add(12*time.Hour + 20*time.Minute)
	ended := func(phase v1alpha1.RunPhase, before time.Duration) *v1alpha1.Run {
		return &v1alpha1.Run{Status: v1alpha1.RunStatus{Phase: phase, FinishedAt: &metav1.Time{Time: now.Add(-before)}}}
	}
	runs := []*v1alpha1.Run{
		{Status: v1alpha1.RunStatus{Phase: v1alpha1.PhaseApplying}},
		ended(v1alpha1.PhaseSucceeded, 10*time.Minute), ended(v1alpha1.PhaseFailed, 0),
		ended(v1alpha1.PhaseCanceled, 20*time.Minute),
		ended(v1alpha1.PhaseSuperseded, 21*time.Minute), ended(v1alpha1.PhaseSucceeded, 30*time.Minute),
		ended(v1alpha1.PhaseFailed, 3*time.Hour),      // before the first round hour of the last three
		ended(v1alpha1.PhaseFailed, -100*time.Minute), // a clock that is ahead
	}
	var rows []*userapi.Run
	for _, r := range runs {
		row := kinds.Runs.Row(r)
		rows = append(rows, &row)
	}
	got, err := Activity(rows, now, 3*time.Hour, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	want := userapi.Activity{Step: "1h0m0s", Steps: []userapi.ActivityStep{
		{From: day.Add(10 * time.Hour)},
		{From: day.Add(11 * time.Hour), Succeeded: 1, Others: 1},
		{From: day.Add(12 * time.Hour), Succeeded: 1, Failed: 1, Others: 1},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, step := range []time.Duration{time.Second, 4 * time.Hour} {
		if _, err := Activity(rows, now, 3*time.Hour, step); err == nil {
			t.Errorf("steps of %s are shown", step)
		}
	}
}
