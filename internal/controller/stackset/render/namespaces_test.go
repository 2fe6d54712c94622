package render

import (
	"strings"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
)

// inNamespaces is a set of namespace platform whose template has an expression for the namespace.
func inNamespaces(t *testing.T, namespace string) *v1alpha1.StackSet {
	t.Helper()
	s := parsed(t, set)
	s.Namespace, s.Spec.Namespaces, s.Spec.Template.Metadata.Namespace = "platform", []string{"web", "api"}, namespace
	return s
}

// Who pushes to the repository chooses among spec.namespaces, and no other namespace.
func TestNamespaceOfStacks(t *testing.T) {
	for name, tt := range map[string]struct {
		namespace, directory string
		want, wrong          string
	}{
		"no namespace":                  {"", "web", "", ""},
		"that of the set":               {"platform", "web", "", ""},
		"one of spec.namespaces":        {"api", "web", "api", ""},
		"a capture chooses one of them": {"${params.name}", "web", "web", ""},
		"a directory with the name of another": {"${params.name}", "kube-system", "",
			`template.metadata.namespace: spec.namespaces does not have "kube-system" (directory services/kube-system)`},
		"a text that ends in one": {"x${params.name}", "web", "", `spec.namespaces does not have "xweb"`},
		"a literal":               {"other", "web", "", `spec.namespaces does not have "other"`},
	} {
		t.Run(name, func(t *testing.T) {
			r, problem := New(inNamespaces(t, tt.namespace))
			if problem != nil {
				t.Fatal(problem)
			}
			all, problem, err := r.Stacks(t.Context(), []string{"services/" + tt.directory + "/main.tf"}, nil)
			switch {
			case err != nil:
				t.Fatal(err)
			case tt.wrong != "":
				if problem == nil || problem.Reason != v1alpha1.ReasonRenderingFailed ||
					!strings.Contains(problem.Message, tt.wrong) || all != nil {
					t.Errorf("%+v, %d Stacks; want %s", problem, len(all), tt.wrong)
				}
			case problem != nil || all[0].Namespace != tt.want:
				t.Errorf("%+v, %+v", problem, all)
			}
		})
	}
}

func TestAMoveStaysInItsNamespace(t *testing.T) {
	for from, wrong := range map[string]bool{"web/old": false, "old": true, "api/old": true} {
		s := inNamespaces(t, "web")
		s.Spec.Moved = []v1alpha1.StackSetMove{{From: from, To: "web/new"}}
		if _, problem := New(s); (problem != nil) != wrong {
			t.Errorf("%s: %+v", from, problem)
		}
	}
}

// A unit of another namespace is a dependency with that namespace.
func TestUnitsOfOtherNamespaces(t *testing.T) {
	s := parsed(t, live, "metadata: {name", "metadata: {namespace: \"${params.name == 'vpc' ? 'net' : ''}\", name")
	s.Namespace, s.Spec.Namespaces = "platform", []string{"net"}
	r, problem := New(s)
	if problem != nil {
		t.Fatal(problem)
	}
	files := []string{"live/prod/app/terragrunt.hcl", "live/prod/db/terragrunt.hcl", "live/prod/vpc/terragrunt.hcl"}
	of := units{"live/prod/app": {"live/prod/vpc", "live/prod/db"}, "live/prod/vpc": {"live/prod/db"}}
	all, problem, err := r.Stacks(t.Context(), files, of.contents())
	if err != nil || problem != nil {
		t.Fatal(err, problem)
	}
	for i, want := range []string{
		`"dependsOn":[{"name":"prod-vpc","namespace":"net"},{"name":"prod-db"}]`, ``,
		`"dependsOn":[{"name":"prod-db","namespace":"platform"}]`,
	} {
		if text := string(all[i].JSON); !strings.Contains(text, want) ||
			(want == "" && strings.Contains(text, "dependsOn")) {
			t.Errorf("%s: %s", all[i].Name, text)
		}
	}
}

// An entry of dependsOn has its name alone: of two units whose Stacks have one name, the order of one would be lost.
func TestUnitsOfOneNameInTwoNamespaces(t *testing.T) {
	s := parsed(t, live, `metadata: {name: "${params.env}-${params.name}"}`,
		`metadata: {namespace: "${params.env}", name: "${params.name}"}`)
	s.Namespace, s.Spec.Namespaces = "platform", []string{"dev", "prod"}
	r, problem := New(s)
	if problem != nil {
		t.Fatal(problem)
	}
	files := []string{"live/dev/vpc/terragrunt.hcl", "live/prod/app/terragrunt.hcl", "live/prod/vpc/terragrunt.hcl"}
	of := units{"live/prod/app": {"live/prod/vpc", "live/dev/vpc"}}
	all, problem, err := r.Stacks(t.Context(), files, of.contents())
	want := "spec.dependsOn: Stacks vpc of the namespaces prod and dev cannot both be in it"
	if err != nil || problem == nil || problem.Reason != v1alpha1.ReasonRenderingFailed ||
		!strings.Contains(problem.Message, want) || all != nil {
		t.Errorf("%+v, %v, %d Stacks", problem, err, len(all))
	}
}
