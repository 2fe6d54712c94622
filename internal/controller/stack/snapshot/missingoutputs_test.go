package snapshot

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/stack/decision"
)

// The outputs that a Stack lacks are all known, so that it is deferred only if a pull request adds each. One of a State
// whose outputs are not all known is not among them: no plan adds an output that others can use there.
func TestMissingOutputsAreAllNamed(t *testing.T) {
	many := map[string]string{}
	for i := range v1alpha1.MostOutputs {
		many[fmt.Sprint("o", i)] = "f"
	}
	missing := func(name, output string) decision.MissingOutput {
		return decision.MissingOutput{Stack: client.ObjectKey{Namespace: "web", Name: name}, Output: output}
	}
	for name, test := range map[string]struct {
		// reads are STACK, OUTPUT.
		reads [][2]string
		want  []decision.MissingOutput
		// problem is the reason; empty for none.
		problem string
	}{
		"nothing is missing": {reads: [][2]string{{"net", "vpc"}}},
		"one of two": {[][2]string{{"net", "vpc"}, {"net", "nat"}},
			[]decision.MissingOutput{missing("net", "nat")}, v1alpha1.ReasonOutputNotFound},
		"two of two Stacks": {
			[][2]string{{"net", "nat"}, {"dns", "zone"}}, []decision.MissingOutput{missing("net", "nat"),
				missing("dns", "zone")}, v1alpha1.ReasonOutputNotFound,
		},
		"of a Stack that does not exist": {
			[][2]string{{"new", "id"}, {"net", "nat"}}, []decision.MissingOutput{missing("new", "id"),
				missing("net", "nat")}, v1alpha1.ReasonDependencyNotFound,
		},
		"of an encrypted state": {[][2]string{{"net", "nat"}, {"encrypted", "id"}}, nil,
			v1alpha1.ReasonOutputNotFound},
		"of a state with too many to use": {[][2]string{{"net", "nat"}, {"many", "id"}}, nil,
			v1alpha1.ReasonOutputNotFound},
	} {
		states := map[string]v1alpha1.StateStatus{
			"net": {Version: 1, Outputs: map[string]string{"vpc": "f"}}, "dns": {Version: 1},
			"encrypted": {Version: 1, Resources: -1}, "many": {Version: 1, Outputs: many},
		}
		get := func(_ context.Context, _ client.WithWatch, key client.ObjectKey, o client.Object,
			_ ...client.GetOption) error {
			state, known := states[key.Name]
			if !known {
				return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
			}
			if s, is := o.(*v1alpha1.State); is {
				s.Status = state
			}
			return nil
		}
		g := &Gatherer{Client: interceptor.NewClient(nil, interceptor.Funcs{Get: get})}
		stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "app"}}
		for _, r := range test.reads {
			stack.Spec.Variables = append(stack.Spec.Variables, v1alpha1.Variable{
				Name: r[1], ValueFrom: &v1alpha1.ValueFrom{Stack: &v1alpha1.OutputRef{Name: r[0], Output: r[1]}},
			})
		}
		w, doc := decision.Snapshot{Stack: stack}, inputs.Document{Versions: map[string]string{}}
		isReady := func(_ context.Context, name string, other *v1alpha1.Stack) (decision.Dependency, error) {
			return decision.Dependency{Name: name, Missing: other == nil}, nil
		}
		if err := g.gatherUsedOutputs(t.Context(), &w, &doc, isReady); err != nil {
			t.Fatal(err)
		}
		problem := ""
		if w.Problem != nil {
			problem = w.Problem.Reason
		}
		if diff := cmp.Diff(test.want, w.MissingOutputs); diff != "" || problem != test.problem {
			t.Errorf("%s: %q %s", name, problem, diff)
		}
	}
}
