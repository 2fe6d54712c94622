package decision

import (
	"encoding/json"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
)

// valuesOf are variables, written as name=value.
func valuesOf(texts ...string) (list []v1alpha1.Variable) {
	for _, text := range texts {
		name, value, _ := strings.Cut(text, "=")
		raw, _ := json.Marshal(value)
		list = append(list, v1alpha1.Variable{Name: name, Value: &apiextensionsv1.JSON{Raw: raw}})
	}
	return list
}

// fromSets is what the status has of sets, written as set:name,name.
func fromSets(texts ...string) (sets []v1alpha1.AppliedVariableSet) {
	for _, text := range texts {
		name, names, _ := strings.Cut(text, ":")
		sets = append(sets, v1alpha1.AppliedVariableSet{Name: name, Generation: 1,
			Variables: strings.Split(names, ",")})
	}
	return sets
}

func TestCauseOfChangedVariableSets(t *testing.T) {
	for title, tt := range map[string]struct {
		own           []string // of the Stack
		before, now   []v1alpha1.AppliedVariableSet
		last, inputs  []string
		versions      map[string]string
		ofSets        map[string]bool
		want, message string
		by            bool // the user who changed the Stack last
	}{
		"a value of a set": {nil, fromSets("prod:region"), fromSets("prod:region"),
			[]string{"region=a"}, []string{"region=b"}, nil, nil, "VariableSet", "VariableSet prod changed", false},
		"a set that selects it from now": {[]string{"own=1"}, nil, fromSets("prod:region"), []string{"own=1"},
			[]string{"own=1", "region=b"}, nil, nil, "VariableSet", "VariableSet prod changed", false},
		"a set that is gone": {nil, fromSets("prod:region"), nil, []string{"region=a"}, nil, nil, nil,
			"VariableSet", "VariableSet prod changed", false},
		"a variable of the Stack": {[]string{"own=2"}, fromSets("prod:region"), fromSets("prod:region"),
			[]string{"own=1", "region=a"}, []string{"own=2", "region=a"}, nil, nil, "Spec", "spec.variables changed",
			true},
		"both": {[]string{"own=2"}, fromSets("prod:region"), fromSets("prod:region"),
			[]string{"own=1", "region=a"}, []string{"own=2", "region=b"}, nil, nil, "Spec", "spec.variables changed",
			true},
		"the Stack takes over the name": {[]string{"region=b"}, fromSets("prod:region"), fromSets("prod:"),
			[]string{"region=a"}, []string{"region=b"}, nil, nil, "Spec", "spec.variables changed", true},
		"a Secret that only sets name": {nil, nil, nil, nil, nil, map[string]string{"Secret/a": "2"},
			map[string]bool{"Secret/a": true}, "VariableSet", "Secret a changed", false},
		"a Secret that the Stack has too": {nil, nil, nil, nil, nil, map[string]string{"Secret/a": "2"},
			map[string]bool{"Secret/a": false}, "Variables", "Secret a changed", false},
		"the order of its own variables": {[]string{"b=1", "a=1"}, nil, nil, []string{"a=1", "b=1"},
			[]string{"b=1", "a=1"}, nil, nil, "Spec", "spec.variables changed", true},
		"a variable of no known origin": {nil, nil, nil, []string{"x=1"}, nil, nil, nil, "Spec",
			"spec.variables changed", false},
		"two sets, each with a new value": {nil, fromSets("b:y", "a:x"), fromSets("b:y", "a:x"),
			[]string{"x=1", "y=1"}, []string{"x=2", "y=2"}, nil, nil, "VariableSet", "VariableSet a, b changed", false},
		"only the names of a set's others": {nil, fromSets("prod:region,zone"), fromSets("prod:region"),
			[]string{"region=a", "zone=a"}, []string{"region=a"}, nil, nil, "VariableSet", "VariableSet prod changed",
			false},
	} {
		t.Run(title, func(t *testing.T) {
			stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: "net", Generation: 2,
				Annotations: map[string]string{v1alpha1.ChangedByAnnotation: "ann"}}}
			stack.Status.ObservedGeneration, stack.Spec.Variables, stack.Status.VariableSets = 2, valuesOf(
				tt.own...), tt.before
			effective := stack.DeepCopy()
			effective.Status.VariableSets = tt.now
			run := v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Name: "net-1"}}
			run.Spec.Operation, run.Status.Phase = v1alpha1.OperationApply, v1alpha1.PhaseSucceeded
			last := map[string]string{}
			for key := range tt.versions {
				last[key] = "1"
			}
			c := causeOf(Snapshot{
				Stack: stack, Effective: effective, OfSets: tt.ofSets, Runs: []v1alpha1.Run{run},
				Inputs:     inputs.Document{Variables: valuesOf(tt.inputs...), Versions: tt.versions},
				LastInputs: &inputs.Document{Variables: valuesOf(tt.last...), Versions: last},
			})
			if string(c.Type) != tt.want || c.Message != tt.message || (c.By == "ann") != tt.by {
				t.Errorf("got %+v", c)
			}
		})
	}
}

// TestContributorsOfVariableSetsAreUnknown checks that with spec.preventSelfApproval an approval requires a request of
// another user after VariableSets changed an input, until that is applied.
func TestContributorsOfVariableSetsAreUnknown(t *testing.T) {
	for title, tt := range map[string]struct {
		before, now []v1alpha1.AppliedVariableSet
		digest      string
		unknown     bool
	}{
		"a set selects the Stack from now": {nil, fromSets("prod:region"), "sha256:new", true},
		"a set selects it no more":         {fromSets("prod:region"), nil, "sha256:new", true},
		"another set of the same name": {fromSets("prod:region"),
			[]v1alpha1.AppliedVariableSet{{Name: "prod", UID: "other", Generation: 1, Variables: []string{"region"}}},
			"sha256:new", true},
		"the sets are the same, and code changed": {fromSets("prod:region"), fromSets("prod:region"), "sha256:new",
			false},
		"a set changed no input": {nil, fromSets("prod:region"), "sha256:old", false},
	} {
		stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: "net", Generation: 2}}
		stack.Status = v1alpha1.StackStatus{
			ObservedGeneration: 2, InputsDigest: "sha256:old", AppliedInputsDigest: "sha256:old",
			VariableSets: tt.before,
			Unapplied:    &v1alpha1.Unapplied{Generation: 2, InputsDigest: "sha256:old"},
		}
		effective := stack.DeepCopy()
		effective.Status.VariableSets = tt.now
		w := Snapshot{Stack: stack, Effective: effective, Digest: tt.digest}
		if u := unapplied(w); (u.Unknown != "") != tt.unknown ||
			tt.unknown && !strings.Contains(u.Unknown, "VariableSet prod") {
			t.Errorf("%s: %q", title, u.Unknown)
		}
	}
}

// TestStatusNamesTheVariableSetsOfItsInputs checks that the names change with the inputs digest: otherwise the change
// of a VariableSet that arrives with a problem would be forgotten.
func TestStatusNamesTheVariableSetsOfItsInputs(t *testing.T) {
	stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: "net", Generation: 2}}
	stack.Status = v1alpha1.StackStatus{ObservedGeneration: 2, InputsDigest: "sha256:old",
		VariableSets: fromSets("old:a")}
	effective := stack.DeepCopy()
	effective.Status.VariableSets = fromSets("new:a")
	for problem, want := range map[bool]string{true: "old", false: "new"} {
		w := Snapshot{Stack: stack, Effective: effective, Digest: "sha256:new"}
		if problem {
			w.Digest, w.Problem = "", &Problem{Reason: v1alpha1.ReasonSecretNotFound}
		}
		if got := Status(w, Decision{}).VariableSets; len(got) != 1 || got[0].Name != want {
			t.Errorf("with a problem %t: %+v", problem, got)
		}
	}
}
