//go:build envtest

package stack

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/gitserver"
)

// TestRunIsCreatedWhenTheImageChanges checks that the build context has an archive of its own, so other changes of the
// code build no image.
func TestRunIsCreatedWhenTheImageChanges(t *testing.T) {
	g := newGitTestEnv(t)
	g.push(gitserver.Change{Message: "Add an image", Files: map[string]string{"images/Dockerfile": "FROM scratch",
		"images/a": "1", "other/b": "1"}})
	g.fetch(g.repo)
	g.spec(func(s *v1alpha1.StackSpec) {
		s.Runner.Build = &v1alpha1.Build{Image: "registry.example.com/a", Dockerfile: "images/Dockerfile",
			PushSecret: &v1alpha1.ObjectRef{Name: "push"}}
	})
	g.reconcile()
	g.expect("False", "BuildNotAllowed", "")

	g.AllowBuild = true
	g.reconcile()
	g.expect("False", "SecretNotFound", "")

	push := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "push"}}
	g.Make(push)
	g.reconcile()
	g.expect("Unknown", "Running", "net-1 ")
	first := g.pinned("net-1")
	if first.Build == nil || first.Build.Source == first.Source {
		t.Fatalf("%+v", first.Build)
	}
	if got := g.file(first.Build.Source, "images/a"); got != "1" {
		t.Errorf("images/a is %q", got)
	}
	for name := range first.Versions {
		if strings.Contains(name, "push") {
			t.Error("new credentials start a Run")
		}
	}
	key, _ := first.Build.Key()

	g.ends("net-1", v1alpha1.PhaseSucceeded)
	g.reconcile()
	g.push(gitserver.Change{Message: "Change the code", Files: map[string]string{"net/main.tf": "# 2"}})
	g.fetch(g.repo)
	g.reconcile()
	g.expect("Unknown", "Running", "net-1 net-2 ")
	if same, _ := g.pinned("net-2").Build.Key(); same != key {
		t.Error("other code builds another image")
	}

	g.ends("net-2", v1alpha1.PhaseSucceeded)
	g.reconcile()
	g.push(gitserver.Change{Message: "Change the image", Files: map[string]string{"images/a": "2"}})
	g.fetch(g.repo)
	if !g.Code.Changed(t.Context(), g.repo, g.stack) {
		t.Error("the commit is not recorded")
	}
	g.reconcile()
	g.expect("Unknown", "Running", "net-1 net-2 net-3 ")
	third := g.pinned("net-3")
	if other, _ := third.Build.Key(); other == key || third.Source != g.pinned("net-2").Source {
		t.Errorf("%+v", third)
	}
	if c := g.run("net-3").Spec.Cause; c.Type != v1alpha1.CauseCommit ||
		!strings.Contains(c.Message, "Change the image") {
		t.Errorf("%+v", c)
	}

	g.ends("net-3", v1alpha1.PhaseSucceeded)
	g.push(gitserver.Change{Message: "Remove it", Files: map[string]string{"images/Dockerfile": ""}})
	g.fetch(g.repo)
	g.reconcile()
	g.expect("False", "DockerfileNotFound", "net-1 net-2 net-3 ")
}

// TestDependentOfAStackWithABuiltImageRuns checks that a Stack whose image is built is a dependency like any other: its
// inputs are read by the same settings of the installation.
func TestDependentOfAStackWithABuiltImageRuns(t *testing.T) {
	r := newEmptyTestEnv(t)
	r.AllowBuild = true
	vpc := r.withStack("vpc", func(s *v1alpha1.StackSpec) {
		s.Source.Inline["Dockerfile"] = "FROM scratch"
		s.Runner.Build = &v1alpha1.Build{Image: "registry.example.com/a", Dockerfile: "Dockerfile"}
	})
	vpc.finishFirstApply()
	app := r.withStack("app", after("vpc"))
	app.reconcile()
	app.expectReady("Unknown", "Running", "")
}

// TestInlineCodeBuildsImage checks code in the Stack and in a ConfigMap.
func TestInlineCodeBuildsImage(t *testing.T) {
	r := newTestEnv(t)
	r.AllowBuild = true
	r.spec(func(s *v1alpha1.StackSpec) {
		s.Source.Inline = map[string]string{"main.tf": "", "image/Dockerfile": "FROM scratch"}
		s.Runner.Build = &v1alpha1.Build{Image: "registry.example.com/a", Dockerfile: "image/Dockerfile"}
	})
	r.reconcile()
	r.expect("Unknown", "Running", "net-1 ")
	first := r.pinned("net-1").Build
	r.ends("net-1", v1alpha1.PhaseSucceeded)
	r.spec(func(s *v1alpha1.StackSpec) { s.Source.Inline["main.tf"] = "# 2" })
	r.reconcile()
	r.expect("Unknown", "Running", "net-1 net-2 ")
	if second := r.pinned("net-2").Build; second.Source != first.Source {
		t.Error("other code builds another image")
	}
	r.ends("net-2", v1alpha1.PhaseSucceeded)
	r.Make(configMap("code", "main.tf", "", "Dockerfile", "FROM scratch"))
	r.spec(func(s *v1alpha1.StackSpec) {
		s.Source = v1alpha1.Source{ConfigMap: &v1alpha1.ObjectRef{Name: "code"}}
		s.Runner.Build.Dockerfile = "Dockerfile"
	})
	r.reconcile()
	r.expect("Unknown", "Running", "net-1 net-2 net-3 ")
	if third := r.pinned("net-3").Build; third.Source == first.Source || third.Source == "" {
		t.Errorf("%+v", third)
	}
	r.ends("net-3", v1alpha1.PhaseSucceeded)
	r.spec(func(s *v1alpha1.StackSpec) { s.Runner.Build.Dockerfile = "Other" })
	r.reconcile()
	r.expect("False", "DockerfileNotFound", "net-1 net-2 net-3 ")
}

// TestOptionalImage checks that an optional image is built only if the code has its Dockerfile. Without one, neither
// the credentials nor the permission to build are needed.
func TestOptionalImage(t *testing.T) {
	g := newGitTestEnv(t)
	optional := &v1alpha1.Build{Image: "registry.example.com/a", Dockerfile: "images/Dockerfile", Optional: true,
		PushSecret: &v1alpha1.ObjectRef{Name: "push"}}
	g.fetch(g.repo)
	g.spec(func(s *v1alpha1.StackSpec) { s.Runner.Build = optional })
	g.reconcile()
	g.expect("Unknown", "Running", "net-1 ")
	if b := g.pinned("net-1").Build; b != nil {
		t.Errorf("%+v", b)
	}
	g.ends("net-1", v1alpha1.PhaseSucceeded)
	g.push(gitserver.Change{Message: "Add an image", Files: map[string]string{"images/Dockerfile": "FROM scratch"}})
	g.fetch(g.repo)
	if !g.Code.Changed(t.Context(), g.repo, g.stack) {
		t.Error("the commit is not recorded")
	}
	g.reconcile()
	g.expect("False", "BuildNotAllowed", "net-1 ")
	g.AllowBuild = true
	g.reconcile()
	g.expect("False", "SecretNotFound", "net-1 ")
	g.Make(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "push"}})
	g.reconcile()
	g.expect("Unknown", "Running", "net-1 net-2 ")
	if b := g.pinned("net-2").Build; b == nil || b.Spec.Optional {
		t.Errorf("%+v", b)
	}

	r := newTestEnv(t)
	r.spec(func(s *v1alpha1.StackSpec) {
		s.Source.Inline = map[string]string{"main.tf": ""}
		s.Runner.Build = optional
	})
	r.reconcile()
	r.expect("Unknown", "Running", "net-1 ")
	if b := r.pinned("net-1").Build; b != nil {
		t.Errorf("%+v", b)
	}
	r.ends("net-1", v1alpha1.PhaseSucceeded)
	r.spec(func(s *v1alpha1.StackSpec) { s.Source.Inline["images/Dockerfile"] = "FROM scratch" })
	r.reconcile()
	r.expect("False", "BuildNotAllowed", "net-1 ")
}
