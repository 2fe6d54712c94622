package local

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/api/v1alpha1"
)

func TestArgumentsForAnotherStateAreRejected(t *testing.T) {
	for _, args := range [][]string{{"-out=plan"}, {"-out", "plan"}, {"--out=plan"}, {"-target=x", "-state=y"},
		{"-lock=true"}} {
		if checkPlanArguments(args) == nil {
			t.Errorf("%q is taken", args)
		}
	}
	if err := checkPlanArguments([]string{"-target=terraform_data.out", "-destroy", "-var", "out=1",
		"-refresh=false"}); err != nil {
		t.Error(err)
	}
}

func TestEnvironmentOfALocalPlan(t *testing.T) {
	got := localEnvironment([]string{"HOME=/home/alice", "TF_DATA_DIR=/home/alice/data", "TF_WORKSPACE=dev",
		"TF_HTTP_ADDRESS=https://x", "TF_CLI_ARGS=-lock=true", "TF_CLI_ARGS_plan=-out=plan",
		"TF_CLI_CONFIG_FILE=/home/alice/rc", "TF_VAR_a=1"})
	if diff := cmp.Diff([]string{"HOME=/home/alice", "TF_CLI_CONFIG_FILE=/home/alice/rc", "TF_VAR_a=1",
		"TF_IN_AUTOMATION=1", "TF_INPUT=0"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestOverriddenNames(t *testing.T) {
	dir := t.TempDir()
	files := []string{filepath.Join(dir, "a.tfvars"), filepath.Join(dir, "b.tfvars.json"),
		filepath.Join(dir, "broken.tfvars")}
	for i, text := range []string{"one = 1\ntwo = {\n  not = 2\n}\n", `{"three": 3}`, "= ="} {
		if err := os.WriteFile(files[i], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := overriddenNames(files, []string{"-var=four=x", "-var", "five=y=z", "-target=six", "-var"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]bool{"one": true, "two": true, "three": true, "four": true, "five": true},
		got); diff != "" {
		t.Error(diff)
	}
}

func TestEngineOfALocalPlan(t *testing.T) {
	program := filepath.Join(t.TempDir(), "engine")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[v1alpha1.EngineName]string{"": "OpenTofu", v1alpha1.EngineOpenTofu: "OpenTofu",
		v1alpha1.EngineTerraform: "Terraform"} {
		kind, path, err := localEngine(&v1alpha1.Stack{Spec: v1alpha1.StackSpec{Engine: v1alpha1.Engine{Name: name}}},
			program)
		if err != nil || kind.Name() != want || path != program {
			t.Errorf("%s: %v %s %v", name, kind, path, err)
		}
	}
	if _, _, err := localEngine(
		&v1alpha1.Stack{Spec: v1alpha1.StackSpec{Engine: v1alpha1.Engine{Name: v1alpha1.EngineTerragrunt}}},
		program); err == nil {
		t.Error("Terragrunt is taken")
	}
	if _, _, err := localEngine(&v1alpha1.Stack{}, filepath.Join(t.TempDir(), "nothing")); err == nil {
		t.Error("a missing program is found")
	}
}
