package snapshot

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
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
		"the key of a unit is its Repository and folder": {unitStack("vpc", "live/vpc"),
			[]string{"prod/infra:live/vpc"}},
		"the path of the folder is cleaned": {unitStack("vpc", "./live//vpc/"), []string{"prod/infra:live/vpc"}},
		"the root folder":                   {unitStack("vpc", ""), []string{"prod/infra:."}},
		"a Repository of another namespace": {
			unitStack("vpc", "live/vpc", func(s *v1alpha1.Stack) {
				s.Spec.Source.Git.Repository.Namespace = "platform"
			}), []string{"platform/infra:live/vpc"},
		},
		"the ref is not part of the key": {
			unitStack("vpc", "live/vpc", func(s *v1alpha1.Stack) { s.Spec.Source.Git.Ref = "dev" }),
			[]string{"prod/infra:live/vpc"},
		},
		"a Stack of another engine runs no unit": {
			stack: unitStack("vpc", "live/vpc", func(s *v1alpha1.Stack) {
				s.Spec.Engine.Name = v1alpha1.EngineOpenTofu
			}),
		},
		"the engine of the Repository": {
			unitStack("vpc", "live/vpc", func(s *v1alpha1.Stack) {
				s.Spec.Engine.Name, s.Status.Engine = "", &v1alpha1.Engine{Name: v1alpha1.EngineTerragrunt}
			}), []string{"prod/infra:live/vpc"},
		},
		"inline code has no unit": {
			stack: unitStack("vpc", "live/vpc", func(s *v1alpha1.Stack) {
				s.Spec.Source = v1alpha1.Source{Inline: map[string]string{"main.tf": ""}}
			}),
		},
	} {
		if diff := cmp.Diff(tt.want, IndexUnit(tt.stack)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestIndexOfUnitDependencies(t *testing.T) {
	app := unitStack("app", "live/app", func(s *v1alpha1.Stack) {
		s.Status.Units = []v1alpha1.Unit{{Path: "live/vpc"}, {Path: "."}}
	})
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
