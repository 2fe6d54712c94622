package snapshot

import (
	"fmt"
	"slices"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
)

func TestRunUnit(t *testing.T) {
	repo := &v1alpha1.Repository{Spec: v1alpha1.RepositorySpec{Ref: "main"}}
	at := func(ref string) func(*v1alpha1.Stack) { return func(s *v1alpha1.Stack) { s.Spec.Source.Git.Ref = ref } }
	many := make([]v1alpha1.Stack, 101)
	var hundred []string
	for i := range many {
		many[i] = *unitStack(fmt.Sprintf("vpc-%03d", 100-i), "live/vpc")
		if i < 100 {
			hundred = append(hundred, fmt.Sprintf("vpc-%03d", i))
		}
	}
	for name, tt := range map[string]struct {
		stacks []v1alpha1.Stack
		ref    string
		want   []string
	}{
		"no Stack runs the unit": {},
		"Stacks at the Repository's ref": {
			stacks: []v1alpha1.Stack{*unitStack("green", "live/vpc"), *unitStack("blue", "live/vpc")},
			want:   []string{"blue", "green"},
		},
		"the Repository's ref can be set on the Stack": {
			stacks: []v1alpha1.Stack{*unitStack("vpc", "live/vpc", at("main"))}, want: []string{"vpc"},
		},
		"a Stack at another ref is excluded": {
			stacks: []v1alpha1.Stack{*unitStack("dev", "live/vpc", at("dev")), *unitStack("vpc", "live/vpc")},
			want:   []string{"vpc"},
		},
		"a Stack at another ref depends on Stacks of that ref": {
			stacks: []v1alpha1.Stack{*unitStack("dev", "live/vpc", at("dev")), *unitStack("vpc", "live/vpc")},
			ref:    "dev", want: []string{"dev"},
		},
		"at most a hundred": {stacks: many, want: hundred},
	} {
		if got := runUnit(repo, tt.stacks, unitStack("app", "live/app", at(tt.ref))); !slices.Equal(tt.want, got) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestOutputsFingerprint(t *testing.T) {
	of := func(outputs map[string]string) v1alpha1.StateStatus {
		return v1alpha1.StateStatus{Version: 3, SHA256: "sha256:3", Resources: 1, Outputs: outputs}
	}
	later := func(st v1alpha1.StateStatus) v1alpha1.StateStatus {
		st.Version, st.SHA256 = 4, "sha256:4"
		return st
	}
	encrypted, many := of(nil), map[string]string{}
	encrypted.Resources = -1
	for i := range v1alpha1.MostOutputs {
		many[fmt.Sprint(i)] = "f"
	}
	one := of(map[string]string{"id": "1"})
	for name, tt := range map[string]struct {
		a, b v1alpha1.StateStatus
		same bool
	}{
		"another value is another fingerprint": {one, of(map[string]string{"id": "2"}),
			false},
		"another name is another fingerprint": {one, of(map[string]string{"ip": "1"}),
			false},
		"one more output is another fingerprint": {one,
			of(map[string]string{"id": "1", "ip": "1"}), false},
		"a name and a value are separated": {of(map[string]string{"a": "b c"}),
			of(map[string]string{"a b": "c"}), false},
		"a later version with the same outputs is the same":                {one, later(one), true},
		"no state and no outputs are the same":                             {v1alpha1.StateStatus{}, of(nil), true},
		"each version of an encrypted state is another fingerprint":        {encrypted, later(encrypted), false},
		"an unchanged encrypted state is the same":                         {encrypted, encrypted, true},
		"beyond the limit of outputs, each version is another fingerprint": {of(many), later(of(many)), false},
	} {
		a, b := outputsFingerprint(tt.a), outputsFingerprint(tt.b)
		if a == "" || b == "" || (a == b) != tt.same {
			t.Errorf("%s: %q and %q", name, a, b)
		}
	}
}
