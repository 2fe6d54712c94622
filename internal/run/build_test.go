package run

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/runnerapi"
)

const imageDigest = "sha256:5ae2c3d1f9a1b2c3d4e5f60718293a4b5c6d7e8f9a0b1c2d3e4f5a6b7c8d9e0f"

func builds(w *World) { w.ImageKey = "sha256:key" }

// built is an image of a key, as an earlier Run built it.
func built(key string) *v1alpha1.BuiltImage {
	return &v1alpha1.BuiltImage{Key: key, Digest: imageDigest, Run: "net-6"}
}

func building(w *World) {
	builds(w)
	w.Run.Status.Phase = v1alpha1.PhasePlanning
	w.Run.Status.Image = &v1alpha1.BuiltImage{Key: "sha256:key", Run: "net-7"}
	w.Run.Status.Attempts = []v1alpha1.Attempt{{Number: 1, Phase: v1alpha1.AttemptBuild, Pod: "net-7-build-1", PodUID: "uid-1", StartedAt: *micro(now)}}
	w.Pod.State = PodRunning
}

func imageBuilt(w *World) {
	building(w)
	w.Run.Status.Image.Digest = imageDigest
	w.Run.Status.Attempts[0].FinishedAt = micro(now)
}

func shellRun(w *World) { w.Run.Spec.Operation = v1alpha1.OperationShell }

func due(w *World) { w.Run.Status.NextAttempt = &metav1.Time{Time: w.Now} }

// cannotPull is a plan whose pod never started, for an image that another Run built.
func cannotPull(w *World) {
	builds(w)
	planning(w)
	w.Run.Status.Image, w.Stack.Status.Image = built("sha256:key"), built("sha256:key")
	failed(v1alpha1.FailureTransient)(w)
	current(&w.Run.Status).Failure.Message = "pod net-7-plan-1 cannot start: ErrImagePull: registry.example.com/a@" + imageDigest + ": not found"
	due(w)
}

func TestSettleABuild(t *testing.T) {
	settle(t, map[string]settled{
		"a Run without an image builds it first": {
			world: world(builds), phase: "Planning", begin: "Build 1", reason: "Building", message: "in pod net-7-build-1",
		},
		"also for a shell": {
			world: world(builds, shellRun), phase: "Planning", begin: "Build 1", reason: "Building",
		},
		"also for a destroy": {
			world: world(builds, destroy, deleting), phase: "Planning", begin: "Build 1", reason: "Building",
		},
		"an image of the same key is not built again": {
			world: world(builds, func(w *World) { w.Stack.Status.Image = built("sha256:key") }), phase: "Planning", begin: "Plan 1", reason: "Planning",
		},
		"nor the one that was applied with": {
			world: world(builds, destroy, deleting, func(w *World) {
				w.Stack.Status.Image, w.Stack.Status.AppliedImage = built("sha256:newer"), built("sha256:key")
			}),
			phase: "Planning", begin: "Plan 1", reason: "Planning",
		},
		"an image of another key is": {
			world: world(builds, func(w *World) { w.Stack.Status.Image = built("sha256:other") }), phase: "Planning", begin: "Build 1", reason: "Building",
		},
		"one that was not pushed is none": {
			world: world(builds, func(w *World) { w.Stack.Status.Image = &v1alpha1.BuiltImage{Key: "sha256:key"} }), phase: "Planning", begin: "Build 1", reason: "Building",
		},
		"a view of the Stack from before the Run does not tell": {
			world: world(builds, func(w *World) { w.Stack.Status.LastRun = "net-6" }), requeue: time.Second,
		},
		"a suspended Stack builds nothing": {
			world: world(builds, suspended), phase: "Queued", reason: "Suspended",
		},
		"a window for plans is one for what comes before them": {
			world: world(builds, closed("Plan")), phase: "Queued", reason: "WindowClosed", requeue: time.Hour,
		},
		"a build under way goes on although the inputs changed": {
			world: world(building, changed), phase: "Planning", reason: "Building", message: "in pod net-7-build-1", requeue: time.Hour + overdue,
		},
		"a build that never started makes room for newer inputs": {
			world: world(building, pod(PodPending), changed), phase: "Superseded", reason: "Superseded", delete: true,
		},
		"a build that is done is followed by the plan, in a pod of its own": {
			world: world(imageBuilt), phase: "Planning", begin: "Plan 2", reason: "Planning",
		},
		"or by the shell": {
			world: world(imageBuilt, shellRun), phase: "Shell", begin: "Shell 2", reason: "Shell",
		},
		"but not for old inputs": {
			world: world(imageBuilt, changed), phase: "Superseded", reason: "Superseded",
		},
		"nor for a Run that was canceled": {
			world: world(imageBuilt, cancel), phase: "Canceled", reason: "Canceled", message: "canceled by bob",
		},
		"nor for a shell that was": {
			world: world(imageBuilt, shellRun, cancel), phase: "Canceled", reason: "Canceled", message: "canceled by bob",
		},
		"a Dockerfile that fails is not tried again": {
			world: world(building, failed(v1alpha1.FailureConfigurationError)), phase: "Failed", reason: "ConfigurationError", message: "build: boom",
		},
		"nor for a shell": {
			world: world(building, shellRun, failed(v1alpha1.FailureConfigurationError)), phase: "Failed", reason: "ConfigurationError", message: "build: boom",
		},
		"a passing failure is tried again later": {
			world: world(building, failed(v1alpha1.FailureTransient)), phase: "Planning", reason: "Retrying", requeue: 15 * time.Second,
		},
		"with a build, since there is no image": {
			world: world(building, failed(v1alpha1.FailureTransient), due), phase: "Planning", begin: "Build 2", reason: "Building",
		},
		"a plan that failed is made again in the image that is there": {
			world: world(builds, planning, failed(v1alpha1.FailureTransient), due, func(w *World) { w.Run.Status.Image = built("sha256:key") }),
			phase: "Planning", begin: "Plan 2", reason: "Planning",
		},
		"an image that its registry lost is built again": {
			world: world(cannotPull), phase: "Planning", begin: "Build 2", reason: "Building",
		},
		"once": {
			world: world(cannotPull, func(w *World) {
				w.Run.Status.Attempts = append([]v1alpha1.Attempt{{Phase: v1alpha1.AttemptBuild}}, w.Run.Status.Attempts...)
			}), phase: "Planning", begin: "Plan 2", reason: "Planning",
		},
		"a build whose pod is gone is tried again later": {
			world: world(building, pod(PodGone)), phase: "Planning", reason: "Retrying", requeue: 15 * time.Second,
		},
		"a build whose image cannot be pulled is given up": {
			world: world(building, pod(PodPending), broken, later(brokenFor)), phase: "Failed", reason: "ConfigurationError", message: "cannot start", delete: true,
		},
		"a build long past its timeout is deleted": {
			world: world(building, later(2*time.Hour)), phase: "Planning", reason: "TimeoutExceeded", requeue: time.Minute, delete: true,
		},
		"a build that is canceled is interrupted": {
			world: world(building, cancel), phase: "Planning", reason: "Canceling", message: "canceled by bob; the build in pod net-7-build-1 is interrupted", requeue: time.Hour + overdue,
		},
		"at once when its pod has not started": {
			world: world(building, pod(PodPending), cancel), phase: "Canceled", reason: "Canceled", delete: true,
		},
		"a build on a node that is silent holds no lock": {
			world: world(building, func(w *World) { w.Pod.SilentSince, w.Pod.Node = now, "a" }),
			phase: "Planning", reason: "NodeUnreachable", message: "so nothing else is begun. When", requeue: time.Hour + overdue,
		},
	})
}

// The image that a Run begins with is in its status, whatever becomes of the Stack's.
func TestTheImageIsTheRuns(t *testing.T) {
	w := world(builds, func(w *World) { w.Stack.Status.Image = built("sha256:key") })
	s, d := Settle(w)
	s = Begin(s, d, 1, "new", "uid-new", now)
	if s.Image == nil || *s.Image != *built("sha256:key") {
		t.Errorf("%+v", s.Image)
	}
	s.Image.Digest = "sha256:other"
	if w.Stack.Status.Image.Digest != imageDigest {
		t.Error("the Stack's changes with it")
	}
	w = world(builds)
	s, d = Settle(w)
	s = Begin(s, d, 1, "new", "uid-new", now)
	if s.Image == nil || *s.Image != (v1alpha1.BuiltImage{Key: "sha256:key", Run: "net-7"}) {
		t.Errorf("%+v", s.Image)
	}
}

func TestWhatABuildReports(t *testing.T) {
	for name, tt := range map[string]struct {
		done runnerapi.Done
		want string // digest, or the failure
	}{
		"an image":        {runnerapi.Done{Image: imageDigest}, imageDigest},
		"none":            {runnerapi.Done{}, "Transient: the runner reported neither an image nor a failure"},
		"no digest":       {runnerapi.Done{Image: "registry.example.com/evil:1"}, "Transient: the runner reported neither an image nor a failure"},
		"a failure":       {runnerapi.Done{Failure: &runnerapi.Failure{Class: "ConfigurationError", Message: "boom"}}, "ConfigurationError: boom"},
		"an image of old": {runnerapi.Done{Image: strings.ToUpper(imageDigest)}, "Transient: the runner reported neither an image nor a failure"},
	} {
		w := world(building)
		fold(&w.Run.Status, runnerapi.Report{Done: &tt.done}, now)
		got := w.Run.Status.Image.Digest
		if f := current(&w.Run.Status).Failure; f != nil {
			got += string(f.Class) + ": " + f.Message
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
	w := world(planning, func(w *World) { w.Run.Status.Image = built("sha256:key") })
	fold(&w.Run.Status, runnerapi.Report{Done: &runnerapi.Done{Image: "sha256:" + strings.Repeat("0", 64), Plan: &runnerapi.Plan{}}}, now)
	if w.Run.Status.Image.Digest != imageDigest {
		t.Error("a plan has changed the image that it runs in")
	}
}

func TestABuildIsOrderedOnce(t *testing.T) {
	w := world(building)
	if kind, _ := NextKind(w.Run, w.Stack, "uid-1", 0, now); kind != runnerapi.OrderBuild {
		t.Errorf("a pod that builds is told to %s", kind)
	}
	w = world(imageBuilt)
	if kind, _ := NextKind(w.Run, w.Stack, "uid-1", 1, now); kind != runnerapi.OrderExit {
		t.Errorf("a pod that has built is told to %s", kind)
	}
}

// What a Dockerfile runs is anybody's: outputs are not its to tell.
func TestABuildHasNoOutputs(t *testing.T) {
	w := world(building)
	fold(&w.Run.Status, runnerapi.Report{Done: &runnerapi.Done{Image: imageDigest, Outputs: map[string]json.RawMessage{"id": json.RawMessage(`"evil"`)}}}, now)
	if w.Run.Status.Outputs != nil {
		t.Errorf("the Run has outputs: %s", w.Run.Status.Outputs)
	}
}
