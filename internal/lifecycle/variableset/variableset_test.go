package variableset

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// variables are written as name=value.
func variables(texts ...string) (list []v1alpha1.Variable) {
	for _, text := range texts {
		name, value, _ := strings.Cut(text, "=")
		raw, _ := json.Marshal(value)
		list = append(list, v1alpha1.Variable{Name: name, Value: &apiextensionsv1.JSON{Raw: raw}})
	}
	return list
}

func env(texts ...string) (list []corev1.EnvVar) {
	for _, text := range texts {
		name, value, _ := strings.Cut(text, "=")
		list = append(list, corev1.EnvVar{Name: name, Value: value})
	}
	return list
}

func newSet(name string, labels map[string]string, change func(*v1alpha1.VariableSetSpec)) v1alpha1.VariableSet {
	set := v1alpha1.VariableSet{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1}}
	set.Spec.StackSelector.MatchLabels = labels
	change(&set.Spec)
	return set
}

func withVariables(texts ...string) func(*v1alpha1.VariableSetSpec) {
	return func(s *v1alpha1.VariableSetSpec) { s.Variables = variables(texts...) }
}

func withEnv(texts ...string) func(*v1alpha1.VariableSetSpec) {
	return func(s *v1alpha1.VariableSetSpec) { s.Env = env(texts...) }
}

func numbered(n int) (texts []string) {
	for i := range n {
		texts = append(texts, fmt.Sprintf("n%d=", i))
	}
	return texts
}

func TestApply(t *testing.T) {
	prod, dev := map[string]string{"env": "prod"}, map[string]string{"env": "dev"}
	stack := func(change func(*v1alpha1.Stack)) *v1alpha1.Stack {
		s := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: "net", Labels: prod}}
		s.Spec.Variables, s.Spec.Env = variables("own=1"), env("OWN=1")
		change(s)
		return s
	}
	as := func(*v1alpha1.Stack) {}
	invalid := newSet("broken", nil, withVariables("a=1"))
	invalid.Spec.StackSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "env", Operator: "Contains"}}
	many := func(s *v1alpha1.VariableSetSpec) { s.Variables = variables(numbered(100)...) }
	var sets []v1alpha1.VariableSet
	for i := range mostSets + 1 {
		sets = append(sets, newSet(fmt.Sprintf("s%d", i), nil, withVariables()))
	}

	for title, tt := range map[string]struct {
		stack *v1alpha1.Stack
		sets  []v1alpha1.VariableSet
		// The names and values that the Stack has then, and what comes from which set.
		variables, env, from string
		reason, message      string
	}{
		"no sets": {stack(as), nil, "own", "OWN", "", "", ""},
		"a set that selects others": {stack(as),
			[]v1alpha1.VariableSet{newSet("dev", dev, withVariables("a=1"))}, "own", "OWN", "", "", ""},
		"a set without a selector selects all": {stack(as),
			[]v1alpha1.VariableSet{newSet("all", nil, withVariables("a=1"))}, "own a", "OWN", "all:a", "", ""},
		"variables after, environment before, by name": {stack(as),
			[]v1alpha1.VariableSet{newSet("b", prod, withVariables("z=1", "c=1")),
				newSet("a", prod, withEnv("Z=1", "A=1")), newSet("c", nil, withVariables("d=1"))}, "own c d z",
			"Z A OWN", "a:Z,A b:z,c c:d", "", ""},
		"the Stack takes precedence": {stack(as),
			[]v1alpha1.VariableSet{newSet("a", prod, func(s *v1alpha1.VariableSetSpec) {
				s.Variables, s.Env = variables("own=set", "b=1"), env("OWN=set")
			})}, "own b", "OWN", "a:b", "", ""},
		"two sets with the same variable": {stack(as),
			[]v1alpha1.VariableSet{newSet("b", prod, withVariables("region=1")),
				newSet("a", nil, withVariables("region=1"))}, "", "", "", v1alpha1.ReasonVariableSetConflict,
			"VariableSets a and b both set variable region"},
		"two sets with the same environment variable": {stack(as),
			[]v1alpha1.VariableSet{newSet("b", prod, withEnv("REGION=1")), newSet("a", nil, withEnv("REGION=1"))}, "",
			"", "", v1alpha1.ReasonVariableSetConflict, "VariableSets a and b both set environment variable REGION"},
		"a variable and an environment variable of one name": {stack(as),
			[]v1alpha1.VariableSet{newSet("b", prod, withEnv("region=1")), newSet("a", nil, withVariables("region=1"))},
			"own region", "region OWN", "a:region b:region", "", ""},
		"the same name in two sets that the Stack sets itself is no conflict": {stack(as),
			[]v1alpha1.VariableSet{newSet("b", prod, withVariables("own=1")), newSet("a", nil, withVariables("own=2"))},
			"own", "OWN", "a: b:", "", ""},
		"the same name in sets of which one selects others": {stack(as),
			[]v1alpha1.VariableSet{newSet("b", prod, withVariables("a=1")), newSet("a", dev, withVariables("a=1"))},
			"own a", "OWN", "b:a", "", ""},
		"an invalid selector stops the Stack, whatever its labels": {stack(func(s *v1alpha1.Stack) {
			s.Labels = nil
		}), []v1alpha1.VariableSet{invalid}, "", "", "", v1alpha1.ReasonVariableSetInvalid, "VariableSet broken"},
		"more variables than a Stack can have": {stack(func(s *v1alpha1.Stack) {
			s.Spec.Variables = variables(numbered(450)...)
		}), []v1alpha1.VariableSet{newSet("a", nil, func(s *v1alpha1.VariableSetSpec) {
			many(s)
			rename(s)
		})}, "", "", "", v1alpha1.ReasonVariableSetInvalid, "550 variables"},
		"more environment variables than a Stack can have": {stack(func(s *v1alpha1.Stack) {
			s.Spec.Env = env(numbered(150)...)
		}), []v1alpha1.VariableSet{newSet("a", nil, func(s *v1alpha1.VariableSetSpec) {
			s.Env = env(numbered(100)...)
			rename(s)
		})}, "", "", "", v1alpha1.ReasonVariableSetInvalid, "250 environment variables"},
		"more sets than the status names": {stack(as), sets, "", "", "",
			v1alpha1.ReasonVariableSetInvalid, "51 VariableSets"},
		"a Stack that no set selects any more loses the names from its status": {stack(func(s *v1alpha1.Stack) {
			s.Status.VariableSets = []v1alpha1.AppliedVariableSet{{Name: "gone"}}
		}), nil, "own", "OWN", "", "", ""},
	} {
		t.Run(title, func(t *testing.T) {
			before := tt.stack.DeepCopy()
			got, err := Apply(tt.stack, tt.sets)
			if diff := cmp.Diff(before, tt.stack); diff != "" {
				t.Errorf("the Stack itself changed: %s", diff)
			}
			if tt.reason != "" {
				p, ok := errors.AsType[*Problem](err)
				if !ok || p.Reason != tt.reason || !strings.Contains(p.Message, tt.message) || got != nil {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var variables, env, from []string
			for _, v := range got.Spec.Variables {
				variables = append(variables, v.Name)
			}
			for _, e := range got.Spec.Env {
				env = append(env, e.Name)
			}
			for _, s := range got.Status.VariableSets {
				from = append(from, s.Name+":"+strings.Join(slices.Concat(s.Variables, s.Env), ","))
			}
			is := []string{strings.Join(variables, " "), strings.Join(env, " "), strings.Join(from, " ")}
			if diff := cmp.Diff([]string{tt.variables, tt.env, tt.from}, is); diff != "" {
				t.Error(diff)
			}
			if i := slices.Index(variables, "own"); string(got.Spec.Variables[i].Value.Raw) != `"1"` {
				t.Errorf("the value of the Stack is %s", got.Spec.Variables[i].Value.Raw)
			}
			slices.Reverse(tt.sets)
			again, err := Apply(tt.stack, tt.sets)
			if diff := cmp.Diff(got, again); err != nil || diff != "" {
				t.Errorf("the order of the sets matters: %v %s", err, diff)
			}
		})
	}
}

// rename gives a set names that the Stack does not have.
func rename(s *v1alpha1.VariableSetSpec) {
	for i := range s.Variables {
		s.Variables[i].Name = "set" + s.Variables[i].Name
	}
	for i := range s.Env {
		s.Env[i].Name = "SET" + s.Env[i].Name
	}
}

func TestFrom(t *testing.T) {
	stack := &v1alpha1.Stack{}
	stack.Status.VariableSets = []v1alpha1.AppliedVariableSet{{Name: "a", Variables: []string{"region"}},
		{Name: "b", Env: []string{"REGION"}}}
	got := []string{VariableFrom(stack, "region"), VariableFrom(stack, "REGION"), EnvFrom(stack, "REGION"),
		EnvFrom(stack, "region")}
	if want := []string{"a", "", "b", ""}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
