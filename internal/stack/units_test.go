package stack

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/inputs"
)

// unitStack is a Stack of Repository infra that runs a unit.
func unitStack(name, folder string, changes ...func(*v1alpha1.Stack)) *v1alpha1.Stack {
	s := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name}}
	s.Spec.Engine.Name = v1alpha1.EngineTerragrunt
	s.Spec.Source.Git = &v1alpha1.GitSource{Repository: v1alpha1.RepositoryRef{Name: "infra"}, Path: folder}
	for _, change := range changes {
		change(s)
	}
	return s
}

func TestIndexUnit(t *testing.T) {
	for name, tt := range map[string]struct {
		stack *v1alpha1.Stack
		want  []string
	}{
		"a unit is named by its Repository and folder": {unitStack("vpc", "live/vpc"), []string{"prod/infra:live/vpc"}},
		"a folder has one name":                        {unitStack("vpc", "./live//vpc/"), []string{"prod/infra:live/vpc"}},
		"the root is a folder":                         {unitStack("vpc", ""), []string{"prod/infra:."}},
		"a Repository of another namespace is another one": {
			unitStack("vpc", "live/vpc", func(s *v1alpha1.Stack) { s.Spec.Source.Git.Repository.Namespace = "platform" }), []string{"platform/infra:live/vpc"},
		},
		"the ref is not part of the name": {
			unitStack("vpc", "live/vpc", func(s *v1alpha1.Stack) { s.Spec.Source.Git.Ref = "dev" }), []string{"prod/infra:live/vpc"},
		},
		"a Stack of another engine runs no unit": {
			stack: unitStack("vpc", "live/vpc", func(s *v1alpha1.Stack) { s.Spec.Engine.Name = v1alpha1.EngineOpenTofu }),
		},
		"the engine may be that of the Repository": {
			unitStack("vpc", "live/vpc", func(s *v1alpha1.Stack) {
				s.Spec.Engine.Name, s.Status.Engine = "", &v1alpha1.Engine{Name: v1alpha1.EngineTerragrunt}
			}), []string{"prod/infra:live/vpc"},
		},
		"inline code is no unit": {
			stack: unitStack("vpc", "live/vpc", func(s *v1alpha1.Stack) { s.Spec.Source = v1alpha1.Source{Inline: map[string]string{"main.tf": ""}} }),
		},
	} {
		if diff := cmp.Diff(tt.want, IndexUnit(tt.stack)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestAStackIsFoundByTheUnitsOfItsCode(t *testing.T) {
	app := unitStack("app", "live/app", func(s *v1alpha1.Stack) { s.Status.Units = []v1alpha1.Unit{{Path: "live/vpc"}, {Path: "."}} })
	got := IndexUnitUsers(app)
	if diff := cmp.Diff([]string{"prod/infra:live/vpc", "prod/infra:."}, got); diff != "" {
		t.Error(diff)
	}
	for i, unit := range []*v1alpha1.Stack{unitStack("vpc", "live/vpc"), unitStack("root", "")} {
		if key := UnitOf(unit); key != got[i] {
			t.Errorf("%s is %s, not %s", unit.Name, key, got[i])
		}
	}
}

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
		"no Stack runs it": {},
		"all that read the Repository's ref": {
			stacks: []v1alpha1.Stack{*unitStack("green", "live/vpc"), *unitStack("blue", "live/vpc")}, want: []string{"blue", "green"},
		},
		"a ref that is named is the one that is meant": {
			stacks: []v1alpha1.Stack{*unitStack("vpc", "live/vpc", at("main"))}, want: []string{"vpc"},
		},
		"not one at another ref": {
			stacks: []v1alpha1.Stack{*unitStack("dev", "live/vpc", at("dev")), *unitStack("vpc", "live/vpc")}, want: []string{"vpc"},
		},
		"a Stack at another ref has those of that one": {
			stacks: []v1alpha1.Stack{*unitStack("dev", "live/vpc", at("dev")), *unitStack("vpc", "live/vpc")}, ref: "dev", want: []string{"dev"},
		},
		"a hundred at most": {stacks: many, want: hundred},
	} {
		if got := runUnit(repo, tt.stacks, unitStack("app", "live/app", at(tt.ref))); !slices.Equal(tt.want, got) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestOutputsFingerprint(t *testing.T) {
	of := func(outputs map[string]string) v1alpha1.StateStatus {
		return v1alpha1.StateStatus{Version: 3, OutputsVersion: 3, SHA256: "sha256:3", Resources: 1, Outputs: outputs}
	}
	later := func(st v1alpha1.StateStatus) v1alpha1.StateStatus {
		st.Version, st.OutputsVersion, st.SHA256 = 4, 4, "sha256:4"
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
		"another value is another fingerprint":                          {one, of(map[string]string{"id": "2"}), false},
		"another name is another fingerprint":                           {one, of(map[string]string{"ip": "1"}), false},
		"one more output is another fingerprint":                        {one, of(map[string]string{"id": "1", "ip": "1"}), false},
		"a name does not run into a value":                              {of(map[string]string{"a": "b c"}), of(map[string]string{"a b": "c"}), false},
		"a later version with the same outputs is the same":             {one, later(one), true},
		"no state has no outputs":                                       {v1alpha1.StateStatus{}, of(nil), true},
		"each version of an encrypted state is another one":             {encrypted, later(encrypted), false},
		"an encrypted state that stays is the same":                     {encrypted, encrypted, true},
		"beyond the outputs that are read, each version is another one": {of(many), later(of(many)), false},
	} {
		a, b := outputsFingerprint(tt.a), outputsFingerprint(tt.b)
		if a == "" || b == "" || (a == b) != tt.same {
			t.Errorf("%s: %q and %q", name, a, b)
		}
	}
	unread := one
	unread.Outputs, unread.OutputsVersion = nil, 2
	if got := outputsFingerprint(unread); got != "" {
		t.Errorf("of outputs that nobody read it is %q", got)
	}
}

func TestUnitsStayKnownWhileTheCodeCannotBeRead(t *testing.T) {
	known, now := []v1alpha1.Unit{{Path: "live/vpc", Stacks: []string{"vpc"}}}, []v1alpha1.Unit{{Path: "live/db"}}
	for name, tt := range map[string]struct {
		read bool
		now  []v1alpha1.Unit
		want []v1alpha1.Unit
	}{
		"code that cannot be read": {false, nil, known},
		"code that names others":   {true, now, now},
		"code that names none":     {true, nil, nil},
	} {
		w := world()
		w.Stack.Status.Units, w.CodeRead, w.Units = known, tt.read, tt.now
		if diff := cmp.Diff(tt.want, status(w, Decision{}).Units); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestOutputsOfAUnitAreACause(t *testing.T) {
	versions := func(v string) *inputs.Document {
		return &inputs.Document{Versions: map[string]string{outputsKey("vpc"): v, "Secret/a": v}}
	}
	w := world(had("net-1", "Succeeded", "sha256:before"))
	w.Last, w.Inputs = versions("1"), *versions("2")
	want := v1alpha1.Cause{Type: v1alpha1.CauseDependency, Message: "outputs of Stack vpc, Secret a changed"}
	if got := cause(w); got != want {
		t.Errorf("got %+v", got)
	}
}
