//go:build envtest

package stack

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/apiserver"
	"cairn.dev/cairn/test/gitserver"
)

// TestEngineVersionConstraintOfTheCode checks that the Run has the version that the code requires, and that an invalid
// constraint is reported.
func TestEngineVersionConstraintOfTheCode(t *testing.T) {
	r := newTestEnv(t)
	engine := func(run string, want v1alpha1.Engine, wrapped ...v1alpha1.WrappedEngine) {
		t.Helper()
		r.reconcile()
		doc := r.pinned(run)
		if diff := cmp.Diff(want, doc.Engine); diff != "" {
			t.Errorf("%s: %s", run, diff)
		}
		if diff := cmp.Diff(wrapped, doc.Wrapped); diff != "" {
			t.Errorf("%s: %s", run, diff)
		}
		r.ends(run, v1alpha1.PhaseSucceeded)
	}
	r.spec(func(s *v1alpha1.StackSpec) {
		s.Source.Inline = map[string]string{"main.tf": "", ".opentofu-version": "1.9.2", ".terraform-version": "1.5.7"}
	})
	engine("net-1", v1alpha1.Engine{Name: "OpenTofu", Version: "= 1.9.2"})

	r.Make(configMap("code", "main.tf", `terraform { required_version = "~> 1.5.0" }`))
	r.spec(func(s *v1alpha1.StackSpec) {
		s.Source, s.Engine = v1alpha1.Source{ConfigMap: &v1alpha1.ObjectRef{Name: "code"}}, v1alpha1.Engine{
			Name: "Terraform"}
	})
	engine("net-2", v1alpha1.Engine{Name: "Terraform", Version: "~> 1.5.0"})

	code := &corev1.ConfigMap{}
	apiserver.Must(t, r.Env.Live.Get(t.Context(), client.ObjectKey{Namespace: r.stack.Namespace, Name: "code"}, code))
	code.Data = map[string]string{
		"main.tf": "", ".terraform-version": "1.6.6", ".terragrunt-version": "1.1.3",
		"terragrunt.hcl": `terraform_version_constraint = "< 2"`,
	}
	apiserver.Must(t, r.Env.Client.Update(t.Context(), code))
	r.Seen(apiserver.Metadata("ConfigMap", code.Namespace, code.Name))
	engine("net-3", v1alpha1.Engine{Name: "Terraform", Version: "= 1.6.6"})

	r.spec(func(s *v1alpha1.StackSpec) { s.Engine = v1alpha1.Engine{Name: "Terragrunt"} })
	engine("net-4", v1alpha1.Engine{Name: "Terragrunt", Version: "= 1.1.3"},
		v1alpha1.WrappedEngine{Name: "OpenTofu", Version: "< 2"},
		v1alpha1.WrappedEngine{Name: "Terraform", Version: "= 1.6.6"})

	r.spec(func(s *v1alpha1.StackSpec) {
		s.Engine = v1alpha1.Engine{Name: "Terragrunt", Version: "1.0.0",
			Wrapped: &v1alpha1.WrappedEngine{Name: "Terraform", Version: "~> 1.9"}}
	})
	engine("net-5", v1alpha1.Engine{Name: "Terragrunt", Version: "1.0.0"},
		v1alpha1.WrappedEngine{Name: "Terraform", Version: "~> 1.9"})

	r.spec(func(s *v1alpha1.StackSpec) {
		s.Engine, s.Source = v1alpha1.Engine{}, v1alpha1.Source{
			Inline: map[string]string{"main.tf": "", ".opentofu-version": "newest"}}
	})
	r.reconcile()
	r.expect("False", "EngineVersionInvalid", "net-1 net-2 net-3 net-4 net-5 ")
	r.spec(func(s *v1alpha1.StackSpec) { s.Engine = v1alpha1.Engine{Version: "1.8.0"} })
	engine("net-6", v1alpha1.Engine{Name: "OpenTofu", Version: "1.8.0"})
}

// TestOnlyTerragruntWrapsAnEngine checks that the API server rejects spec.engine.wrapped for another engine.
func TestOnlyTerragruntWrapsAnEngine(t *testing.T) {
	r := newTestEnv(t)
	r.stack.Spec.Engine = v1alpha1.Engine{Name: "Terraform", Wrapped: &v1alpha1.WrappedEngine{Name: "OpenTofu"}}
	if err := r.Env.Client.Update(t.Context(), r.stack); err == nil {
		t.Error("Terraform wraps OpenTofu")
	}
	r.stack.Spec.Engine = v1alpha1.Engine{Name: "Terragrunt", Wrapped: &v1alpha1.WrappedEngine{Name: "Terragrunt"}}
	if err := r.Env.Client.Update(t.Context(), r.stack); err == nil {
		t.Error("Terragrunt wraps itself")
	}
}

// TestEngineOfTheRepository checks that Stacks without spec.engine use that of their Repository, and that a change of
// it plans them.
func TestEngineOfTheRepository(t *testing.T) {
	g := newGitTestEnv(t)
	own := g.forStack(g.newGitStack("own", g.repo, "net"))
	own.spec(func(s *v1alpha1.StackSpec) { s.Engine = v1alpha1.Engine{Name: "OpenTofu", Version: "1.8.0"} })
	setEngine := func(e *v1alpha1.Engine) {
		t.Helper()
		g.repo.Spec.Engine = e
		apiserver.Must(t, g.Env.Client.Update(t.Context(), g.repo))
		g.Seen(g.repo)
	}
	expect := func(r *testEnv, run string, pinned v1alpha1.Engine, inStatus *v1alpha1.Engine) {
		t.Helper()
		r.reconcile()
		if diff := cmp.Diff(pinned, r.pinned(run).Engine); diff != "" {
			t.Errorf("%s: %s", run, diff)
		}
		r.Seen(r.stack)
		if diff := cmp.Diff(inStatus, r.stack.Status.Engine); diff != "" {
			t.Errorf("%s: the status: %s", run, diff)
		}
		r.ends(run, v1alpha1.PhaseSucceeded)
		r.reconcile()
	}
	g.push(gitserver.Change{Message: "Pin", Files: map[string]string{"net/.terraform-version": "1.5.7",
		"net/.opentofu-version": "1.9.0"}})
	setEngine(&v1alpha1.Engine{Name: "Terraform"})
	g.fetch(g.repo)
	expect(g.testEnv, "net-1", v1alpha1.Engine{Name: "Terraform", Version: "= 1.5.7"},
		&v1alpha1.Engine{Name: "Terraform"})
	expect(own, "own-1", v1alpha1.Engine{Name: "OpenTofu", Version: "1.8.0"}, nil)

	setEngine(&v1alpha1.Engine{Name: "Terraform", Version: "1.6.6"})
	expect(g.testEnv, "net-2", v1alpha1.Engine{Name: "Terraform", Version: "1.6.6"},
		&v1alpha1.Engine{Name: "Terraform", Version: "1.6.6"})
	if cause := g.run("net-2").Spec.Cause; cause.Message != "spec.engine of the Stack or its Repository changed" ||
		cause.By != "" {
		t.Errorf("the cause is %+v", cause)
	}
	own.reconcile()
	own.expect("True", "Applied", "net-1 net-2 own-1 ")

	setEngine(nil)
	expect(g.testEnv, "net-3", v1alpha1.Engine{Name: "OpenTofu", Version: "= 1.9.0"}, nil)
}
