package kinds

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/userapi"
)

func TestRowOfAStackSet(t *testing.T) {
	set := &v1alpha1.StackSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "platform", UID: "u",
			CreationTimestamp: metav1.Time{Time: day}},
		Spec: v1alpha1.StackSetSpec{Mode: v1alpha1.StackSetCreate, Repository: &v1alpha1.RepositoryRef{Name: "infra"}},
		Status: v1alpha1.StackSetStatus{
			Revision: "main@sha1:abc", Generated: 40, Applied: 30, Changing: 4, Outdated: 6, Failed: 1, Gone: 25,
			Deletions: &v1alpha1.StackSetDeletions{Digest: "d", Count: 25, Names: []string{"old"}},
			Conditions: []metav1.Condition{
				{
					Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse,
					Reason:  v1alpha1.ReasonAwaitingDeletionConfirmation,
					Message: "25 Stacks wait", LastTransitionTime: metav1.Time{Time: day},
				},
				{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue},
			},
		},
	}
	at := day
	want := userapi.StackSet{
		Object: userapi.Object{Namespace: "shop", Name: "platform", UID: "u", Created: day},
		Ready:  "False", Reason: "AwaitingDeletionConfirmation", Message: "25 Stacks wait", Changed: &at, Stalled: true,
		Mode: "Create", Repository: "shop/infra", Revision: "main@sha1:abc",
		Generated: 40, Applied: 30, Changing: 4, Outdated: 6, Failed: 1, Gone: 25, AwaitingDeletions: 25,
	}
	if diff := cmp.Diff(want, StackSets.Row(set)); diff != "" {
		t.Error(diff)
	}
	columns, cells := StackSets.Table()
	if got := cells(set, func(time.Time) string { return "1h" }); len(got) != len(columns) {
		t.Errorf("%d cells for %d columns", len(got), len(columns))
	}
	sets := rowsOf(StackSets, set, &v1alpha1.StackSet{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "lists"}})
	for query, want := range map[string]int{
		"repository=infra": 1, "reason=AwaitingDeletionConfirmation&stalled=true": 1, "mode=Preview": 0, "q=infra": 1,
		"sort=-generated": 2,
	} {
		if page := ask(t, StackSets, sets, query); page.Total != want {
			t.Errorf("%s: %d rows, want %d", query, page.Total, want)
		}
	}
}

func TestStacksOfAStackSet(t *testing.T) {
	stacks := rowsOf(Stacks,
		stackOf("a", "s1", labels(map[string]string{v1alpha1.StackSetLabel: "platform"})),
		stackOf("a", "s2", labels(map[string]string{v1alpha1.StackSetLabel: "other"})), stackOf("a", "s3"),
		stackOf("a", "s4", labels(map[string]string{v1alpha1.StackSetLabel: "platform",
			v1alpha1.StackSetNamespaceLabel: "b"})),
	)
	if got := stackNames(ask(t, Stacks, stacks, "stackset=b/platform")); got != "s4" {
		t.Errorf("the Stacks of the StackSet of namespace b are %q, want s4", got)
	}
	if got := stackNames(ask(t, Stacks, stacks, "stackset=a/platform")); got != "s1" {
		t.Errorf("the Stacks of the StackSet of namespace a are %q, want s1", got)
	}
	if got := stackNames(ask(t, Stacks, stacks, "stackset=platform")); got != "s1" {
		t.Errorf("the Stacks of the StackSet platform are %q, want s1", got)
	}
}
