package stack

import (
	"strings"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/inputs"
)

// TestTheStacksImages: the newest one that was built, and the one that was applied with, for the destroy.
func TestTheStacksImages(t *testing.T) {
	older, newer := &v1alpha1.BuiltImage{Key: "older", Digest: "sha256:1"}, &v1alpha1.BuiltImage{Key: "newer", Digest: "sha256:2"}
	for name, tt := range map[string]struct {
		phase              v1alpha1.RunPhase
		operation          v1alpha1.Operation
		image              *v1alpha1.BuiltImage
		wantImage, applied *v1alpha1.BuiltImage
	}{
		"applied":                    {v1alpha1.PhaseSucceeded, v1alpha1.OperationApply, newer, newer, newer},
		"under way":                  {v1alpha1.PhaseApplying, v1alpha1.OperationApply, newer, older, older},
		"only planned":               {v1alpha1.PhaseSucceeded, v1alpha1.OperationPlan, newer, newer, older},
		"failed after its build":     {v1alpha1.PhaseFailed, v1alpha1.OperationApply, newer, newer, older},
		"failed in its build":        {v1alpha1.PhaseFailed, v1alpha1.OperationApply, &v1alpha1.BuiltImage{Key: "newer"}, older, older},
		"destroyed":                  {v1alpha1.PhaseSucceeded, v1alpha1.OperationDestroy, newer, newer, nil},
		"applied in an image of its": {v1alpha1.PhaseSucceeded, v1alpha1.OperationApply, nil, older, nil},
	} {
		w := World{Stack: &v1alpha1.Stack{}, Runs: []v1alpha1.Run{{}}}
		w.Stack.Status.Image, w.Stack.Status.AppliedImage = older, older
		w.Stack.Status.LastRun, w.Runs[0].Name = "net-1", "net-1"
		w.Runs[0].Spec.Operation = tt.operation
		w.Runs[0].Status = v1alpha1.RunStatus{Phase: tt.phase, Image: tt.image, Plan: &v1alpha1.Plan{Changes: true}}
		if got := builtImage(w); got != tt.wantImage {
			t.Errorf("%s: the image is %+v", name, got)
		}
		if got := appliedImage(w); got != tt.applied {
			t.Errorf("%s: the image that was applied with is %+v", name, got)
		}
	}
}

func TestWhoBuildsNoImages(t *testing.T) {
	w := &World{Stack: &v1alpha1.Stack{}}
	if buildIsAllowed(w) != nil {
		t.Error("a Stack that wants none is in trouble")
	}
	w.Stack.Spec.Runner.Build = &v1alpha1.Build{}
	if p := buildIsAllowed(w); p == nil || p.Reason != "BuildNotAllowed" || !strings.Contains(p.Message, "--allow-image-builds") {
		t.Errorf("%+v", p)
	}
	w.AllowBuild = true
	if buildIsAllowed(w) != nil {
		t.Error("it is allowed")
	}
}

func TestFilesOfAnImage(t *testing.T) {
	for name, tt := range map[string]struct{ folder, dockerfile, want string }{
		"all":                   {".", "Dockerfile", "Dockerfile,Dockerfile.dockerignore,image/Dockerfile,image/a,image2,main.tf"},
		"a folder":              {"image", "image/Dockerfile", "image/Dockerfile,image/a"},
		"a Dockerfile outside":  {"image", "Dockerfile", "Dockerfile,Dockerfile.dockerignore,image/Dockerfile,image/a"},
		"a file that is not it": {".", "Other", ""},
	} {
		files := bytesOf(map[string]string{"main.tf": "", "Dockerfile": "", "Dockerfile.dockerignore": "", "image/Dockerfile": "", "image/a": "", "image2": ""})
		var names []string
		for _, n := range []string{"Dockerfile", "Dockerfile.dockerignore", "image/Dockerfile", "image/a", "image2", "main.tf"} {
			if _, ok := within(files, inputs.NewBuild(&v1alpha1.Build{Dockerfile: tt.dockerfile, Context: tt.folder}))[n]; ok {
				names = append(names, n)
			}
		}
		if got := strings.Join(names, ","); got != tt.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestCausesOfAnotherImage(t *testing.T) {
	doc := func(source, image string) *inputs.Build {
		b := inputs.NewBuild(&v1alpha1.Build{Image: image})
		b.Source = source
		return b
	}
	if !sameBuild(nil, nil) || sameBuild(nil, doc("a", "b")) || !sameBuild(doc("a", "b"), doc("other", "b")) || sameBuild(doc("a", "b"), doc("a", "c")) {
		t.Error("what the spec says is not told from what it is built from")
	}
	if imageChanged(nil, doc("a", "b")) || !imageChanged(doc("a", "b"), doc("c", "b")) || imageChanged(doc("a", "b"), doc("a", "c")) {
		t.Error("what it is built from is not told from what the spec says")
	}
}
