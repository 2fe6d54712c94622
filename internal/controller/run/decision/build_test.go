package decision

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/run/runtest"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

const imageDigest = runtest.ImageDigest

func builds(w *Snapshot) { w.ImageKey = "sha256:key" }

// built is an image of a key, as an earlier Run built it.
func built(key string) *v1alpha1.BuiltImage { return runtest.Built(key) }

func building(w *Snapshot) {
	builds(w)
	runtest.Building(w.Run)
	w.Pod.State = PodRunning
}

func imageBuilt(w *Snapshot) {
	building(w)
	w.Run.Status.Image.Digest = imageDigest
	w.Run.Status.Attempts[0].FinishedAt = micro(now)
}

func shellRun(w *Snapshot) { w.Run.Spec.Operation = v1alpha1.OperationShell }

func due(w *Snapshot) { w.Run.Status.NextAttempt = &metav1.Time{Time: w.Now} }

// cannotPull is a plan whose pod never started, for an image that another Run built.
func cannotPull(w *Snapshot) {
	builds(w)
	planning(w)
	w.Run.Status.Image, w.Stack.Status.Image = built("sha256:key"), built("sha256:key")
	failed(v1alpha1.FailureTransient)(w)
	runinfo.Current(&w.Run.Status).Failure.Reason = v1alpha1.FailureImagePullFailed
	due(w)
}

func TestSettleBuild(t *testing.T) {
	settle(t, map[string]settled{
		"a Run without an image builds it first": {
			snapshot: snapshot(builds), phase: "Planning", begin: "Build 1", reason: "Building",
			message: "in pod net-7-build-1",
		},
		"a shell without an image builds it first": {
			snapshot: snapshot(builds, shellRun), phase: "Planning", begin: "Build 1", reason: "Building",
		},
		"a destroy without an image builds it first": {
			snapshot: snapshot(builds, destroy, deleting), phase: "Planning", begin: "Build 1", reason: "Building",
		},
		"an image of the same key is not built again": {
			snapshot: snapshot(builds, func(w *Snapshot) {
				w.Stack.Status.Image = built("sha256:key")
			}), phase: "Planning", begin: "Plan 1", reason: "Planning",
		},
		"the image of the last apply is not built again": {
			snapshot: snapshot(builds, destroy, deleting, func(w *Snapshot) {
				w.Stack.Status.Image, w.Stack.Status.AppliedImage = built("sha256:newer"), built("sha256:key")
			}),
			phase: "Planning", begin: "Plan 1", reason: "Planning",
		},
		"an image of another key is": {
			snapshot: snapshot(builds, func(w *Snapshot) {
				w.Stack.Status.Image = built("sha256:other")
			}), phase: "Planning", begin: "Build 1", reason: "Building",
		},
		"one that was not pushed is none": {
			snapshot: snapshot(builds, func(w *Snapshot) {
				w.Stack.Status.Image = &v1alpha1.BuiltImage{Key: "sha256:key"}
			}), phase: "Planning", begin: "Build 1", reason: "Building",
		},
		"a stale view of the Stack is not used": {
			snapshot: snapshot(builds, func(w *Snapshot) { w.Stack.Status.LastRun = "net-6" }), requeue: time.Second,
		},
		"a suspended Stack builds nothing": {
			snapshot: snapshot(builds, suspended), phase: "Queued", reason: "Suspended",
		},
		"a window for plans is one for what comes before them": {
			snapshot: snapshot(builds, closed("Plan")), phase: "Queued", reason: "WindowClosed", requeue: time.Hour,
		},
		"a build under way goes on although the inputs changed": {
			snapshot: snapshot(building, changed), phase: "Planning", reason: "Building",
			message: "in pod net-7-build-1", requeue: time.Hour + overdue,
		},
		"a build that never started is superseded by newer inputs": {
			snapshot: snapshot(building, pod(PodPending), changed), phase: "Superseded", reason: "Superseded",
			delete: true,
		},
		"a build that is done is followed by the plan, in a pod of its own": {
			snapshot: snapshot(imageBuilt), phase: "Planning", begin: "Plan 2", reason: "Planning",
		},
		"or by the shell": {
			snapshot: snapshot(imageBuilt, shellRun), phase: "Shell", begin: "Shell 2", reason: "Shell",
		},
		"a built image of old inputs is not used": {
			snapshot: snapshot(imageBuilt, changed), phase: "Superseded", reason: "Superseded",
		},
		"a canceled Run ends after its build": {
			snapshot: snapshot(imageBuilt, cancel), phase: "Canceled", reason: "Canceled", message: "canceled by bob",
		},
		"a canceled shell ends after its build": {
			snapshot: snapshot(imageBuilt, shellRun, cancel), phase: "Canceled", reason: "Canceled",
			message: "canceled by bob",
		},
		"a Dockerfile that fails is not tried again": {
			snapshot: snapshot(building, failed(v1alpha1.FailureConfigurationError)), phase: "Failed",
			reason: "ConfigurationError", message: "build: boom",
		},
		"a Dockerfile that fails is not retried for a shell": {
			snapshot: snapshot(building, shellRun, failed(v1alpha1.FailureConfigurationError)), phase: "Failed",
			reason: "ConfigurationError", message: "build: boom",
		},
		"a passing failure is tried again later": {
			snapshot: snapshot(building, failed(v1alpha1.FailureTransient)), phase: "Planning", reason: "Retrying",
			requeue: 15 * time.Second,
		},
		"with a build, since there is no image": {
			snapshot: snapshot(building, failed(v1alpha1.FailureTransient), due), phase: "Planning", begin: "Build 2",
			reason: "Building",
		},
		"a plan that failed is made again in the image that is there": {
			snapshot: snapshot(builds, planning, failed(v1alpha1.FailureTransient), due, func(w *Snapshot) {
				w.Run.Status.Image = built("sha256:key")
			}),
			phase: "Planning", begin: "Plan 2", reason: "Planning",
		},
		"an image that its registry lost is built again": {
			snapshot: snapshot(cannotPull), phase: "Planning", begin: "Build 2", reason: "Building",
		},
		"an image that its registry lost is built again only once": {
			snapshot: snapshot(cannotPull, func(w *Snapshot) {
				w.Run.Status.Attempts = append([]v1alpha1.Attempt{{Phase: v1alpha1.AttemptBuild}},
					w.Run.Status.Attempts...)
			}), phase: "Planning", begin: "Plan 2", reason: "Planning",
		},
		"a build whose pod is gone is tried again later": {
			snapshot: snapshot(building, pod(PodGone)), phase: "Planning", reason: "Retrying",
			requeue: 15 * time.Second,
		},
		"a build whose image cannot be pulled is given up": {
			snapshot: snapshot(building, pod(PodPending), broken, later(startPatience)), phase: "Failed",
			reason: "ConfigurationError", message: "cannot start", delete: true,
		},
		"a build long past its timeout is deleted": {
			snapshot: snapshot(building, later(2*time.Hour)), phase: "Planning", reason: "TimeoutExceeded",
			requeue: time.Minute, delete: true,
		},
		"a build that is canceled is interrupted": {
			snapshot: snapshot(building, cancel), phase: "Planning", reason: "Canceling",
			message: "canceled by bob; the build in pod net-7-build-1 is interrupted", requeue: time.Hour + overdue,
		},
		"at once when its pod has not started": {
			snapshot: snapshot(building, pod(PodPending), cancel), phase: "Canceled", reason: "Canceled", delete: true,
		},
		"a build on a node that is silent holds no lock": {
			snapshot: snapshot(building, func(w *Snapshot) { w.Pod.SilentSince, w.Pod.Node = now, "a" }),
			phase:    "Planning", reason: "NodeUnreachable", message: "so nothing else is begun. When",
			requeue: time.Hour + overdue,
		},
	})
}

// The image that a Run begins with is in its status, whatever the Stack records later.
func TestRunKeepsTheImageThatItBeganWith(t *testing.T) {
	w := snapshot(builds, func(w *Snapshot) { w.Stack.Status.Image = built("sha256:key") })
	s, d := Settle(w)
	s = Begin(s, d, 1, "new", "uid-new", now)
	if s.Image == nil || *s.Image != *built("sha256:key") {
		t.Errorf("%+v", s.Image)
	}
	s.Image.Digest = "sha256:other"
	if w.Stack.Status.Image.Digest != imageDigest {
		t.Error("the Stack's changes with it")
	}
	w = snapshot(builds)
	s, d = Settle(w)
	s = Begin(s, d, 1, "new", "uid-new", now)
	if s.Image == nil || *s.Image != (v1alpha1.BuiltImage{Key: "sha256:key", Run: "net-7"}) {
		t.Errorf("%+v", s.Image)
	}
}
