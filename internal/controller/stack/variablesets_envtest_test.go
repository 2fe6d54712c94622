//go:build envtest

package stack

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/apiserver"
)

// newVariableSet returns a VariableSet for the Stacks with labels.
func newVariableSet(name string, labels map[string]string, variables ...v1alpha1.Variable) *v1alpha1.VariableSet {
	return &v1alpha1.VariableSet{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.VariableSetSpec{
		StackSelector: metav1.LabelSelector{MatchLabels: labels}, Variables: variables,
	}}
}

func region(value string) v1alpha1.Variable {
	return v1alpha1.Variable{Name: "region", Value: &apiextensionsv1.JSON{Raw: []byte(`"` + value + `"`)}}
}

// label writes the labels of the Stack.
func (r *testEnv) label(labels map[string]string) {
	r.Helper()
	r.Seen(r.stack)
	r.stack.Labels = labels
	apiserver.Must(r.T, r.Env.Client.Update(r.Context(), r.stack))
	r.Seen(r.stack)
}

// applied reconciles, and lets the Run that starts succeed.
func (r *testEnv) applied(run string) {
	r.Helper()
	r.reconcile()
	r.ends(run, v1alpha1.PhaseSucceeded)
	r.reconcile()
}

func TestVariableSets(t *testing.T) {
	r := newTestEnv(t)
	prod := map[string]string{"env": "prod"}
	set := newVariableSet("prod", prod, region("eu-west-1"))
	set.Spec.Env = []corev1.EnvVar{{Name: "AWS_REGION", Value: "eu-west-1"}}
	r.Make(set)
	r.Seen(set)
	r.applied("net-1")
	r.Seen(r.stack)
	if doc := r.pinned("net-1"); len(doc.Variables)+len(doc.Env)+len(r.stack.Status.VariableSets) > 0 {
		t.Errorf("a VariableSet for other labels applies: %+v", doc)
	}

	r.label(prod)
	r.reconcile()
	r.expect("Unknown", "Running", "net-1 net-2 ")
	if doc := r.pinned("net-2"); len(doc.Variables) != 1 || string(doc.Variables[0].Value.Raw) != `"eu-west-1"` ||
		len(doc.Env) != 1 {
		t.Errorf("the inputs are %+v", doc)
	}
	if sets := r.stack.Status.VariableSets; len(sets) != 1 || sets[0].Name != "prod" || sets[0].UID != set.UID ||
		sets[0].Variables[0] != "region" || sets[0].Env[0] != "AWS_REGION" {
		t.Errorf("the status has %+v", sets)
	}
	if c := r.causeOf("net-2"); c.Type != v1alpha1.CauseVariableSet || c.Message != "VariableSet prod changed" ||
		c.By != "" {
		t.Errorf("the cause is %+v", c)
	}
	r.applied("net-2")

	// A change plans, and so does the deletion. Neither destroys.
	set.Spec.Variables[0] = region("us-east-1")
	apiserver.Must(t, r.Env.Client.Update(t.Context(), set))
	r.Seen(set)
	r.applied("net-3")
	if doc := r.pinned("net-3"); string(doc.Variables[0].Value.Raw) != `"us-east-1"` {
		t.Errorf("the inputs are %+v", doc)
	}
	r.Make(newVariableSet("other", nil, region("eu-west-1")))
	r.Seen(&v1alpha1.VariableSet{ObjectMeta: metav1.ObjectMeta{Namespace: r.stack.Namespace, Name: "other"}})
	r.reconcile()
	r.expect("False", "VariableSetConflict", "net-1 net-2 net-3 ")
	if sets := r.stack.Status.VariableSets; len(sets) != 1 {
		t.Errorf("the status has %+v", sets)
	}
	apiserver.Must(t, r.Env.Client.Delete(t.Context(), set))
	r.Gone(set)
	r.reconcile()
	r.expect("Unknown", "Running", "net-1 net-2 net-3 net-4 ")
	if run := r.runNamed("net-4"); run.Spec.Operation != v1alpha1.OperationApply {
		t.Errorf("the deletion of a VariableSet starts a %s", run.Spec.Operation)
	}
	r.applied("net-4")

	// What a VariableSet refers to has to exist.
	secret := v1alpha1.Variable{Name: "key",
		ValueFrom: &v1alpha1.ValueFrom{Secret: &v1alpha1.KeyRef{Name: "keys", Key: "key"}}}
	keys := newVariableSet("keys", prod, secret)
	r.Make(keys)
	r.Seen(keys)
	r.reconcile()
	r.expect("False", "SecretNotFound", "net-1 net-2 net-3 net-4 ")
	if m := r.stack.Status.Conditions[0].Message +
		r.stack.Status.Conditions[len(r.stack.Status.Conditions)-1].Message; !strings.Contains(m,
		"variable key of VariableSet keys") {
		t.Errorf("the message does not name the VariableSet: %s", m)
	}
}

func (r *testEnv) runNamed(name string) *v1alpha1.Run {
	r.Helper()
	run := &v1alpha1.Run{}
	apiserver.Must(r.T, r.Env.Live.Get(r.Context(), client.ObjectKey{Namespace: r.stack.Namespace, Name: name}, run))
	return run
}

func (r *testEnv) causeOf(name string) v1alpha1.Cause { r.Helper(); return r.runNamed(name).Spec.Cause }

// withoutSets is a cache that did not receive VariableSets yet, or a server that does not return them.
type withoutSets struct {
	client.Client
	err error
}

func (c withoutSets) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, ok := list.(*v1alpha1.VariableSetList); ok {
		return c.err
	}
	return c.Client.List(ctx, list, opts...)
}

// TestNoRunStartsWithoutTheVariableSets checks a cache that has the Stack and not yet the VariableSet that was created
// before it, and VariableSets that cannot be read.
func TestNoRunStartsWithoutTheVariableSets(t *testing.T) {
	r := newTestEnv(t)
	req := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(r.stack)}
	r.Make(newVariableSet("all", nil, region("eu-west-1")))
	r.Seen(&v1alpha1.VariableSet{ObjectMeta: metav1.ObjectMeta{Namespace: r.stack.Namespace, Name: "all"}})
	stale := *r.Reconciler
	for _, err := range []error{nil, apierrors.NewTooManyRequestsError("later")} {
		stale.Client = withoutSets{r.Env.Client, err}
		for range 3 { // the finalizer is written first
			_, got := stale.Reconcile(t.Context(), req)
			if apierrors.IsTooManyRequests(got) != (err != nil) {
				t.Errorf("got %v", got)
			}
			time.Sleep(minConflictBackoff)
		}
		if runs := r.runs(); runs != "" {
			t.Fatalf("a stale cache starts %s", runs)
		}
	}
	r.reconcile()
	if doc := r.pinned("net-1"); len(doc.Variables) != 1 {
		t.Errorf("the inputs are %+v", doc)
	}
}

// TestReconcileReadsNoVariableSet checks that only a Run that starts reads VariableSets past the cache.
func TestReconcileReadsNoVariableSet(t *testing.T) {
	r := newTestEnv(t)
	live := &listsOfSets{Reader: r.Env.Live}
	r.Reconciler.Live = live
	r.Make(newVariableSet("all", nil, region("eu-west-1")))
	r.Seen(&v1alpha1.VariableSet{ObjectMeta: metav1.ObjectMeta{Namespace: r.stack.Namespace, Name: "all"}})
	r.applied("net-1")
	for range 5 {
		r.reconcile()
	}
	if live.n != 1 {
		t.Errorf("%d lists for one Run", live.n)
	}
}

type listsOfSets struct {
	client.Reader
	n int
}

func (l *listsOfSets) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, ok := list.(*v1alpha1.VariableSetList); ok {
		l.n++
	}
	return l.Reader.List(ctx, list, opts...)
}

func TestInvalidVariableSetsAreRejected(t *testing.T) {
	r := apiserver.New(t)
	for want, change := range map[string]func(*v1alpha1.VariableSetSpec){
		"operator must be In or NotIn": func(s *v1alpha1.VariableSetSpec) {
			s.StackSelector.MatchExpressions = []metav1.LabelSelectorRequirement{
				{Key: "env", Operator: "Contains", Values: []string{"a"}}}
		},
		"with values": func(s *v1alpha1.VariableSetSpec) {
			s.StackSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "env", Operator: "In"}}
		},
		"valueFrom.stack is not supported": func(s *v1alpha1.VariableSetSpec) {
			s.Variables = []v1alpha1.Variable{
				{Name: "a", ValueFrom: &v1alpha1.ValueFrom{Stack: &v1alpha1.OutputRef{Name: "net", Output: "id"}}}}
		},
		"CAIRN_ are reserved": func(s *v1alpha1.VariableSetSpec) {
			s.Env = []corev1.EnvVar{{Name: "CAIRN_A", Value: "b"}}
		},
		"Duplicate value": func(s *v1alpha1.VariableSetSpec) {
			s.Variables = []v1alpha1.Variable{region("a"), region("b")}
		},
		"resourceFieldRef": func(s *v1alpha1.VariableSetSpec) {
			s.Env = []corev1.EnvVar{
				{Name: "A", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{
					Resource: "limits.cpu"}}}}
		},
	} {
		set := newVariableSet("set", nil)
		set.Namespace = r.Namespace
		change(&set.Spec)
		if err := r.Client.Create(t.Context(), set); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestDependentOfAStackWithAVariableSet checks that Stacks which depend on one that a VariableSet selects are applied
// once that one is.
func TestDependentOfAStackWithAVariableSet(t *testing.T) {
	r := newTestEnv(t)
	prod := map[string]string{"env": "prod"}
	set := newVariableSet("prod", prod, region("eu-west-1"))
	r.Make(set)
	r.Seen(set)
	r.label(prod)
	app := r.withStack("app", after("net"))
	r.applied("net-1")
	r.expect("True", "Applied", "net-1 ")
	app.reconcile()
	app.expectReady("Unknown", "Running", "")
}
