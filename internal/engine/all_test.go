package engine

import (
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
)

func TestEveryEngineOfTheAPIIsRegistered(t *testing.T) {
	for _, name := range []v1alpha1.EngineName{v1alpha1.EngineOpenTofu, v1alpha1.EngineTerraform,
		v1alpha1.EngineTerragrunt} {
		if e, ok := Find(string(name)); !ok || e.Name() != string(name) {
			t.Errorf("%s: %s", name, e.Name())
		}
	}
	if e, ok := Find("Pulumi"); ok {
		t.Error(e.Name())
	}
	if e, ok := Find(""); !ok || e.Name() != string(v1alpha1.EngineOpenTofu) {
		t.Errorf("the default is %s", e.Name())
	}
}

func TestNoWrapperIsWrapped(t *testing.T) {
	for _, e := range all {
		if _, ok := Wrapped(e.Name()); ok == e.Wraps() {
			t.Errorf("%s: can be wrapped: %t", e.Name(), ok)
		}
		if !IsProgram(e.Program()) {
			t.Errorf("%s is not known as an engine", e.Program())
		}
	}
	if _, ok := Wrapped(""); ok {
		t.Error("an engine without a name can be wrapped")
	}
	want := `Terragrunt runs no engine "Terragrunt": spec.engine.wrapped names OpenTofu or Terraform`
	if err := RejectWrapped(Terragrunt, "Terragrunt"); err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
}
