package run

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/inputs"
	"cairn.dev/cairn/internal/runnerapi"
)

// What only tests with an API server would notice otherwise.

func TestOnlyTheCurrentAttemptsPodIsAtWork(t *testing.T) {
	run := &v1alpha1.Run{}
	if Active(run, "first") != nil {
		t.Error("a Run without attempts has one at work")
	}
	now := metav1.NowMicro()
	run.Status.Attempts = []v1alpha1.Attempt{{Number: 1, PodUID: "first", FinishedAt: &now}, {Number: 2, PodUID: "second"}}
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

func TestAPlanIsAppliedWithTheEngineThatMadeIt(t *testing.T) {
	doc := inputs.Document{Engine: v1alpha1.Engine{Version: "~> 1.12"}}
	made := func(w *World) { w.Run.Status.Plan.EngineVersion = "1.12.3" }
	for _, tt := range []struct {
		name  string
		world World
		want  string
	}{
		{"a plan is made with what the Stack asks for", world(planning), "~> 1.12"},
		{"its apply, with what made it", world(applying, made), "= 1.12.3"},
		{"and where that is not known, with what the Stack asks for", world(applying), "~> 1.12"},
	} {
		if got := orderOf(tt.world.Run, tt.world.Stack, doc).EngineVersion; got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestAPlanIsAppliedWithTheEngineThatTerragruntRan(t *testing.T) {
	asked := []runnerapi.WrappedEngine{{Name: "OpenTofu", Version: "~> 1.9"}, {Name: "Terraform"}}
	doc := inputs.Document{Wrapped: []v1alpha1.WrappedEngine{{Name: "OpenTofu", Version: "~> 1.9"}, {Name: "Terraform"}}}
	made := func(w *World) {
		w.Run.Status.Plan = planOf(&runnerapi.Plan{Wrapped: &runnerapi.WrappedEngine{Name: "Terraform", Version: "1.5.7"}})
	}
	for _, tt := range []struct {
		name  string
		world World
		want  []runnerapi.WrappedEngine
	}{
		{"a plan is made with what the Stack asks for", world(planning), asked},
		{"its apply, with what made it", world(applying, made), []runnerapi.WrappedEngine{{Name: "Terraform", Version: "= 1.5.7"}}},
		{"and where that is not known, with what the Stack asks for", world(applying), asked},
	} {
		if diff := cmp.Diff(tt.want, orderOf(tt.world.Run, tt.world.Stack, doc).Wrapped); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestAWrappedEngineThatTheStatusDoesNotTake(t *testing.T) {
	for name, w := range map[string]*runnerapi.WrappedEngine{
		"none":                  nil,
		"one without a version": {Name: "OpenTofu"},
		"another engine":        {Name: "Terragrunt", Version: "1.0.0"},
		"a long version":        {Name: "OpenTofu", Version: strings.Repeat("1", 101)},
	} {
		if got := planOf(&runnerapi.Plan{Wrapped: w}).Wrapped; got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
