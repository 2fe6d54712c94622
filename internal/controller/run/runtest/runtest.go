// Package runtest has a Stack and its Run in the situations that tests start from.
package runtest

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"cairn.dev/cairn/api/v1alpha1"
)

// Now is the time at which all of it happens.
var Now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// ImageDigest is the digest of the image that Built has.
const ImageDigest = "sha256:5ae2c3d1f9a1b2c3d4e5f60718293a4b5c6d7e8f9a0b1c2d3e4f5a6b7c8d9e0f"

// Micro is a time as attempts and steps have it.
func Micro(t time.Time) *metav1.MicroTime { return &metav1.MicroTime{Time: t} }

// Stack is a Stack that applies without approval. Its newest Run is Run.
func Stack() *v1alpha1.Stack {
	return &v1alpha1.Stack{
		ObjectMeta: metav1.ObjectMeta{Name: "net"},
		Spec: v1alpha1.StackSpec{
			Apply:          v1alpha1.ApplyAutomatic,
			DeletionPolicy: v1alpha1.DeletionDestroy,
			Timeout:        &metav1.Duration{Duration: time.Hour},
			Retry: v1alpha1.Retry{
				Limit: ptr.To(int32(2)), Backoff: &metav1.Duration{Duration: 15 * time.Second},
				MaxBackoff: &metav1.Duration{Duration: time.Minute},
			},
			Runner: v1alpha1.Runner{IdleTimeout: &metav1.Duration{Duration: 30 * time.Second}},
		},
		Status: v1alpha1.StackStatus{InputsDigest: "sha256:now", LastRun: "net-7"},
	}
}

// Run is a queued Run of Stack. The options change it.
func Run(options ...func(*v1alpha1.Run)) *v1alpha1.Run {
	run := &v1alpha1.Run{
		ObjectMeta: metav1.ObjectMeta{Name: "net-7"},
		Spec: v1alpha1.RunSpec{Stack: v1alpha1.ObjectRef{Name: "net"}, Operation: v1alpha1.OperationApply,
			InputsDigest: "sha256:now"},
	}
	for _, o := range options {
		o(run)
	}
	return run
}

// Planning starts attempt 1, a plan.
func Planning(run *v1alpha1.Run) {
	start(run, v1alpha1.PhasePlanning, v1alpha1.Attempt{Number: 1, Phase: v1alpha1.AttemptPlan, Pod: "net-7-plan-1",
		PodUID: "uid-1"})
}

// Planned is the end of Planning: three resources to add.
func Planned(run *v1alpha1.Run) {
	Planning(run)
	run.Status.Attempts[0].FinishedAt = Micro(Now)
	run.Status.Plan = &v1alpha1.Plan{Digest: "sha256:plan", Changes: true, Add: 3}
}

// Applying starts attempt 2, the apply of Planned, in the same pod.
func Applying(run *v1alpha1.Run) {
	Planned(run)
	start(run, v1alpha1.PhaseApplying, v1alpha1.Attempt{Number: 2, Phase: v1alpha1.AttemptApply, Pod: "net-7-plan-1",
		PodUID: "uid-1"})
}

// Building starts attempt 1, an image build.
func Building(run *v1alpha1.Run) {
	run.Status.Image = &v1alpha1.BuiltImage{Key: "sha256:key", Run: "net-7"}
	start(run, v1alpha1.PhasePlanning, v1alpha1.Attempt{Number: 1, Phase: v1alpha1.AttemptBuild, Pod: "net-7-build-1",
		PodUID: "uid-1"})
}

// InShell starts attempt 1, a shell that carol asked for.
func InShell(run *v1alpha1.Run) {
	run.Spec.Operation = v1alpha1.OperationShell
	run.Spec.Cause = v1alpha1.Cause{Type: v1alpha1.CauseManual, Message: "requested by carol", By: "carol"}
	start(run, v1alpha1.PhaseShell, v1alpha1.Attempt{Number: 1, Phase: v1alpha1.AttemptShell, Pod: "net-7-shell-1",
		PodUID: "uid-1"})
}

func start(run *v1alpha1.Run, phase v1alpha1.RunPhase, a v1alpha1.Attempt) {
	a.StartedAt = *Micro(Now)
	run.Status.Phase = phase
	run.Status.Attempts = append(run.Status.Attempts, a)
}

// Finished ends the current attempt without a failure.
func Finished(run *v1alpha1.Run) {
	run.Status.Attempts[len(run.Status.Attempts)-1].FinishedAt = Micro(Now)
}

// Failed ends the current attempt with a failure of a class.
func Failed(class v1alpha1.FailureClass) func(*v1alpha1.Run) {
	return func(run *v1alpha1.Run) {
		Finished(run)
		run.Status.Attempts[len(run.Status.Attempts)-1].Failure = &v1alpha1.Failure{Class: class, Message: "boom"}
	}
}

// Built is an image of a key, as an earlier Run built it.
func Built(key string) *v1alpha1.BuiltImage {
	return &v1alpha1.BuiltImage{Key: key, Digest: ImageDigest, Run: "net-6"}
}
