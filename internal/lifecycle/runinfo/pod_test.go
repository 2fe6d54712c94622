package runinfo

import (
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
)

func TestRunOfPod(t *testing.T) {
	for _, phase := range []v1alpha1.AttemptPhase{
		v1alpha1.AttemptPlan, v1alpha1.AttemptApply, v1alpha1.AttemptBuild, v1alpha1.AttemptShell,
	} {
		for _, run := range []string{"net-7", "a-plan-1-7", "plan-7"} {
			if got := RunOfPod(PodName(run, phase, 12)); got != run {
				t.Errorf("%s of Run %s: %q", phase, run, got)
			}
		}
	}
	for _, pod := range []string{"", "net-7", "net-7-plan", "net-7-plan-x", "net-7-plan-01", "net-7-destroy-1",
		"plan-1"} {
		if got := RunOfPod(pod); got != "" {
			t.Errorf("%q is a pod of %q", pod, got)
		}
	}
}
