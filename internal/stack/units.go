package stack

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/repository"
)

// A Terragrunt unit depends on other units by their paths. The Stacks that run these are dependencies (decision 50):
//
//	code of Stack app ──► status.units: {path: live/vpc, stacks: [vpc]} ──► Dependencies(app)
//	                                             ▲
//	                                             │ UnitIndex
//	Stack vpc, whose folder is live/vpc ─────────┘
//
// What concerns a dependency afterwards reads the names from the status, and is the same for all dependencies.

// UnitIndex is the field by which the cache finds the Stacks that run a Terragrunt unit.
const UnitIndex = "cairn.dev/unit"

// IndexUnit gives the value of UnitIndex.
func IndexUnit(o client.Object) []string {
	if key := UnitOf(o.(*v1alpha1.Stack)); key != "" {
		return []string{key}
	}
	return nil
}

// UnitUserIndex is the field by which the cache finds the Stacks whose code depends on a Terragrunt unit.
const UnitUserIndex = "cairn.dev/units"

// IndexUnitUsers gives the values of UnitUserIndex.
func IndexUnitUsers(o client.Object) []string {
	stack := o.(*v1alpha1.Stack)
	var keys []string
	if repo, ok := stack.RepositoryKey(); ok {
		for _, u := range stack.Status.Units {
			keys = append(keys, unitKey(repo, u.Path))
		}
	}
	return keys
}

// UnitOf names the Terragrunt unit that a Stack runs, whatever the ref; empty when it runs none.
func UnitOf(stack *v1alpha1.Stack) string {
	repo, ok := stack.RepositoryKey()
	if !ok || stack.EngineOf().Name != v1alpha1.EngineTerragrunt {
		return ""
	}
	return unitKey(repo, folderOf(stack))
}

func unitKey(repo client.ObjectKey, folder string) string { return repo.String() + ":" + folder }

// folderOf is the folder of a Stack from git, from the repository's root; "." is the root.
func folderOf(stack *v1alpha1.Stack) string { return path.Clean(stack.Spec.Source.Git.Path) }

// mostStacksOfUnit is how many Stacks that run the same unit are dependencies.
const mostStacksOfUnit = 100

// runUnit names those of some Stacks that run a unit at the ref that another Stack reads, by name.
func runUnit(repo *v1alpha1.Repository, stacks []v1alpha1.Stack, reader *v1alpha1.Stack) []string {
	var names []string
	for i := range stacks {
		if repository.SameRef(repo, stacks[i].Spec.Source.Git, reader.Spec.Source.Git) {
			names = append(names, stacks[i].Name)
		}
	}
	slices.Sort(names)
	return names[:min(len(names), mostStacksOfUnit)]
}

// units are the Terragrunt units that the code depends on. They stay known while the code cannot be read.
func (w World) units() []v1alpha1.Unit {
	if w.CodeRead {
		return w.Units
	}
	return w.Stack.Status.Units
}

// outputsFingerprint identifies the outputs of a state; empty while nobody has read them. Where there is no fingerprint
// of each output, as when the engine encrypts the state, it identifies the state.
func outputsFingerprint(st v1alpha1.StateStatus) string {
	switch {
	case st.Resources < 0, len(st.Outputs) >= v1alpha1.MostOutputs:
		return "state/" + st.SHA256
	case st.Outputs == nil && st.OutputsVersion != st.Version:
		return ""
	}
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(st.Outputs)) {
		fmt.Fprintf(sum, "%q %q\n", name, st.Outputs[name])
	}
	return "outputs/" + hex.EncodeToString(sum.Sum(nil))
}
