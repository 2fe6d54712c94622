package runinfo

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

func TestOnlyThePodOfTheCurrentAttemptIsWorking(t *testing.T) {
	run := &v1alpha1.Run{}
	if Active(run, "first") != nil {
		t.Error("a Run without attempts has one at work")
	}
	now := metav1.NowMicro()
	run.Status.Attempts = []v1alpha1.Attempt{{Number: 1, PodUID: "first", FinishedAt: &now},
		{Number: 2, PodUID: "second"}}
	for pod, want := range map[types.UID]bool{"first": false, "second": true, "third": false} {
		if a := Active(run, pod); (a != nil) != want || a != nil && a.Number != 2 {
			t.Errorf("pod %s: %v", pod, a)
		}
	}
	run.Status.Attempts[1].FinishedAt = &now
	if Active(run, "second") != nil {
		t.Error("an attempt that is over is at work")
	}
}
