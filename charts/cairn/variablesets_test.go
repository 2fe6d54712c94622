//go:build envtest

package cairn

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/apiserver"
)

// A VariableSet changes what Stacks are planned with, so each write of its spec needs the verb that a change of their
// variables needs, also a deletion.
func TestUsersAndVariableSets(t *testing.T) {
	settled(t)
	newVariableSet := func() *v1alpha1.VariableSet {
		return &v1alpha1.VariableSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name()}}
	}
	const denied = "requires the verb update on the Stacks of the namespace"
	apiserver.Must(t, wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true,
		func(ctx context.Context) (bool, error) {
			err := as(t, "seth").Create(ctx, newVariableSet(), client.DryRunAll)
			return err != nil && strings.Contains(err.Error(), denied), nil
		}))
	const spec, labels = `{"spec":{"variables":[{"name":"region","value":"a"}]}}`, `{"metadata":{"labels":{"a":"b"}}}`
	set := newVariableSet()
	check(t, as(t, "seth").Create(t.Context(), set.DeepCopy()), denied)
	check(t, as(t, "vera").Create(t.Context(), set.DeepCopy()), "forbidden")
	check(t, as(t, operator).Create(t.Context(), set.DeepCopy()), "forbidden")
	apiserver.Must(t, as(t, "ed").Create(t.Context(), set))
	writes(t, set, []change{
		{"seth", spec, denied}, {"seth", labels, ""}, {"vera", labels, "forbidden"}, {operator, spec, "forbidden"},
		{"seth", `{"spec":{"stackSelector":{"matchLabels":{"env":"prod"}}}}`, denied}, {"ed", spec, ""},
	})
	check(t, as(t, "seth").Delete(t.Context(), set.DeepCopy()), denied)
	check(t, as(t, "ed").Delete(t.Context(), set), "")
}

// The labels of a Stack decide which VariableSets it has, so a user who may only request Runs cannot change them.
func TestLabelsOfStacksNeedVerbUpdate(t *testing.T) {
	stack := newStack(nil)
	apiserver.Must(t, as(t, "alice").Create(t.Context(), stack))
	writes(t, stack, []change{
		{"seth", `{"metadata":{"labels":{"env":"prod"}}}`, "verb update"},
		{"ed", `{"metadata":{"labels":{"env":"prod"}}}`, ""},
	})
}
