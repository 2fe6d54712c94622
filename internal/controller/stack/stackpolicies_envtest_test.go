//go:build envtest

package stack

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/apiserver"
)

// newStackPolicy returns a StackPolicy for the Stacks with labels.
func newStackPolicy(labels map[string]string, configMaps ...string) *v1alpha1.StackPolicy {
	p := &v1alpha1.StackPolicy{ObjectMeta: metav1.ObjectMeta{Name: "prod"}}
	p.Spec.StackSelector.MatchLabels = labels
	for _, name := range configMaps {
		p.Spec.Policies = append(p.Spec.Policies, v1alpha1.Policy{ConfigMap: v1alpha1.ObjectRef{Name: name}})
	}
	return p
}

const rule = "package main\n\nimport rego.v1\n\ndeny contains \"never\" if input.never\n"

func TestStackPolicies(t *testing.T) {
	r := newTestEnv(t)
	prod := map[string]string{"env": "prod"}
	policy := newStackPolicy(prod, "rules")
	policy.Spec.Windows = []v1alpha1.Window{{Kind: v1alpha1.WindowDeny, Schedule: "@daily",
		Duration: metav1.Duration{Duration: time.Hour}}}
	r.Make(policy)
	r.Seen(policy)
	r.applied("net-1")
	r.Seen(r.stack)
	if doc := r.pinned("net-1"); len(doc.Policies)+len(r.stack.Status.StackPolicies) > 0 {
		t.Errorf("a StackPolicy for other labels applies: %+v", doc)
	}

	// The ConfigMap of its policies has to exist.
	r.label(prod)
	r.reconcile()
	r.expect("False", "ConfigMapNotFound", "net-1 ")
	if m := r.stack.Status.Conditions[0].Message +
		r.stack.Status.Conditions[len(r.stack.Status.Conditions)-1].Message; !strings.Contains(m, "StackPolicy prod") {
		t.Errorf("the message does not name the StackPolicy: %s", m)
	}
	rules := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "rules"}, Data: map[string]string{"a.rego": rule}}
	r.Make(rules)
	r.Seen(rules)
	r.reconcile()
	r.expect("Unknown", "Running", "net-1 net-2 ")
	if doc := r.pinned("net-2"); len(doc.Policies) != 1 || doc.Policies[0].Files["a.rego"] != rule {
		t.Errorf("the inputs are %+v", doc.Policies)
	}
	if got := r.stack.Status.StackPolicies; len(got) != 1 || got[0].UID != policy.UID ||
		got[0].Policies[0] != "rules" || got[0].Windows != 1 {
		t.Errorf("the status has %+v", got)
	}
	if c := r.causeOf("net-2"); c.Type != v1alpha1.CauseStackPolicy || c.By != "" {
		t.Errorf("the cause is %+v", c)
	}
	r.applied("net-2")

	// Windows are no inputs; one that cannot be read stops the Stack.
	policy.Spec.Windows[0].Schedule = "@hourly"
	apiserver.Must(t, r.Env.Client.Update(t.Context(), policy))
	r.Seen(policy)
	r.reconcile()
	r.expect("True", "Applied", "net-1 net-2 ")
	policy.Spec.Windows[0].Schedule = "now and then"
	apiserver.Must(t, r.Env.Client.Update(t.Context(), policy))
	r.Seen(policy)
	r.reconcile()
	r.expect("False", "StackPolicyInvalid", "net-1 net-2 ")

	apiserver.Must(t, r.Env.Client.Delete(t.Context(), policy))
	r.Gone(policy)
	r.reconcile()
	r.expect("Unknown", "Running", "net-1 net-2 net-3 ")
	if doc := r.pinned("net-3"); len(doc.Policies) != 0 {
		t.Errorf("the inputs are %+v", doc.Policies)
	}
}

// withoutPolicies is a cache that did not receive StackPolicies yet.
type withoutPolicies struct{ client.Client }

func (c withoutPolicies) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, ok := list.(*v1alpha1.StackPolicyList); ok {
		return nil
	}
	return c.Client.List(ctx, list, opts...)
}

func TestNoRunStartsWithoutTheStackPolicies(t *testing.T) {
	r := newTestEnv(t)
	r.Make(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "rules"}, Data: map[string]string{"a.rego": rule}})
	r.Seen(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.stack.Namespace, Name: "rules"}})
	policy := newStackPolicy(nil, "rules")
	r.Make(policy)
	r.Seen(policy)
	stale := *r.Reconciler
	stale.Client = withoutPolicies{r.Env.Client}
	for range 3 { // the finalizer is written first
		if _, err := stale.Reconcile(t.Context(),
			ctrl.Request{NamespacedName: client.ObjectKeyFromObject(r.stack)}); err != nil {
			t.Error(err)
		}
		time.Sleep(minConflictBackoff)
	}
	if runs := r.runs(); runs != "" {
		t.Fatalf("a stale cache starts %s", runs)
	}
	r.reconcile()
	if doc := r.pinned("net-1"); len(doc.Policies) != 1 {
		t.Errorf("the inputs are %+v", doc.Policies)
	}
}

func TestInvalidStackPoliciesAreRejected(t *testing.T) {
	r := apiserver.New(t)
	for want, change := range map[string]func(*v1alpha1.StackPolicySpec){
		"operator must be In or NotIn": func(s *v1alpha1.StackPolicySpec) {
			s.StackSelector.MatchExpressions = []metav1.LabelSelectorRequirement{
				{Key: "env", Operator: "Contains", Values: []string{"a"}}}
		},
		"more than 0s": func(s *v1alpha1.StackPolicySpec) {
			s.Windows = []v1alpha1.Window{{Kind: v1alpha1.WindowDeny, Schedule: "@daily"}}
		},
	} {
		policy := newStackPolicy(nil)
		policy.Namespace = r.Namespace
		change(&policy.Spec)
		if err := r.Client.Create(t.Context(), policy); !apierrors.IsInvalid(err) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
