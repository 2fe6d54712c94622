//go:build envtest

package operator

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/repository"
	"cairn.dev/cairn/internal/run/index"
	"cairn.dev/cairn/internal/stack/snapshot"
	"cairn.dev/cairn/test/apiserver"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard()) // Run leaves it as it is here
	apiserver.Main(m, "../../charts/cairn/files/crds")
}

func enter(t *testing.T) apiserver.Room {
	t.Helper()
	return apiserver.Enter(t,
		apiserver.Index{Of: &v1alpha1.Run{}, Field: index.StackField, Values: index.StackNames},
		apiserver.Index{Of: &v1alpha1.Run{}, Field: index.UnfinishedField, Values: index.UnfinishedStackNames},
		apiserver.Index{Of: &v1alpha1.Run{}, Field: index.ReasonField, Values: index.Reasons},
		apiserver.Index{Of: &v1alpha1.Stack{}, Field: snapshot.ObjectIndex, Values: snapshot.IndexObjects},
		apiserver.Index{Of: &v1alpha1.Stack{}, Field: snapshot.DependencyIndex, Values: snapshot.IndexDependencies},
		apiserver.Index{Of: &v1alpha1.Stack{}, Field: snapshot.UnitUserIndex, Values: snapshot.IndexUnitUsers},
		apiserver.Index{Of: &v1alpha1.Stack{}, Field: repository.StackIndex, Values: repository.IndexStack},
		apiserver.Index{Of: &v1alpha1.Repository{}, Field: repository.SecretIndex, Values: repository.IndexSecret},
	)
}

// newStack makes a Stack that depends on others.
func newStack(r apiserver.Room, name string, after ...string) *v1alpha1.Stack {
	r.Helper()
	s := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{v1alpha1.Finalizer}}, Spec: v1alpha1.StackSpec{
		Source: v1alpha1.Source{Inline: map[string]string{"main.tf": ""}},
	}}
	for _, name := range after {
		s.Spec.DependsOn = append(s.Spec.DependsOn, v1alpha1.Dependency{Name: name})
	}
	r.Make(s)
	return s
}

// newRun makes a Run of a Stack, whose condition has a reason.
func newRun(r apiserver.Room, name, of string, phase v1alpha1.RunPhase, reason string) *v1alpha1.Run {
	r.Helper()
	one := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.RunSpec{
		Stack: v1alpha1.ObjectRef{Name: of}, Operation: v1alpha1.OperationApply,
		Cause: v1alpha1.Cause{Type: v1alpha1.CauseSpec}, InputsDigest: "sha256:" + strings.Repeat("0", 64),
	}}
	r.Make(one)
	one.Status = v1alpha1.RunStatus{Phase: phase, Conditions: []metav1.Condition{{
		Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: reason, LastTransitionTime: metav1.Now(),
	}}}
	apiserver.Must(r.T, r.Client.Status().Update(r.Context(), one))
	r.Seen(one)
	return one
}

// names of the requests, those of other namespaces with theirs.
func names(r apiserver.Room, requests []reconcile.Request) string {
	var all []string
	for _, q := range requests {
		all = append(all, strings.TrimPrefix(q.String(), r.Namespace+"/"))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// Each event goes to those to whom it is news, and to no others.
func TestLookups(t *testing.T) {
	r, elsewhere := enter(t), enter(t)
	ask := lookups{r.Client}
	vpc := newStack(r, "vpc")
	newStack(r, "net", "vpc", "dns")

	infra := &v1alpha1.Repository{ObjectMeta: metav1.ObjectMeta{Name: "infra"}, Spec: v1alpha1.RepositorySpec{
		URL: "https://git.example.com/infra.git", Limits: &v1alpha1.RepositoryLimits{Runs: 3},
		Credentials: &v1alpha1.SecretSource{Secret: v1alpha1.ObjectRef{Name: "git"}},
	}}
	open := &v1alpha1.Repository{ObjectMeta: metav1.ObjectMeta{Name: "open"}, Spec: v1alpha1.RepositorySpec{URL: infra.Spec.URL}}
	r.Make(infra, open)
	guest := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: "guest"}, Spec: v1alpha1.StackSpec{
		Source: v1alpha1.Source{Git: &v1alpha1.GitSource{Repository: v1alpha1.RepositoryRef{Namespace: r.Namespace, Name: "infra"}}},
	}}
	elsewhere.Make(guest)
	r.Seen(guest)

	done := newRun(r, "vpc-1", "vpc", v1alpha1.PhaseSucceeded, "Applied")
	left := done.DeepCopy()
	left.Name, left.Status.Phase = "vpc-0", v1alpha1.PhaseApplying
	plan := newRun(r, "vpc-2", "vpc", v1alpha1.PhasePlanning, "Planning")
	newRun(r, "vpc-3", "vpc", v1alpha1.PhaseQueued, v1alpha1.ReasonInputsNotFound)
	newRun(r, "net-1", "net", v1alpha1.PhaseQueued, v1alpha1.ReasonQueued)
	newRun(r, "net-2", "net", v1alpha1.PhaseFailed, v1alpha1.ReasonInputsNotFound)

	for name, tt := range map[string]struct {
		got  []reconcile.Request
		want string
	}{
		"a Stack is news to its Runs that are not finished":     {ask.runsOf(t.Context(), vpc), "vpc-2 vpc-3"},
		"a finished Run is news to those that waited for it":    {ask.siblings(t.Context(), done), "vpc-2 vpc-3"},
		"so is one that went on and that the cache has no more": {ask.siblings(t.Context(), left), "vpc-2 vpc-3"},
		"one that goes on is not":                               {ask.siblings(t.Context(), plan), ""},
		"an object is news to the Runs that wait for one":       {ask.runsWithout(t.Context(), apiserver.Metadata("Secret", r.Namespace, "any")), "vpc-3"},
		"an object of another namespace is not":                 {ask.runsWithout(t.Context(), apiserver.Metadata("Secret", elsewhere.Namespace, "any")), ""},
		"what tells of itself is news to itself":                {itself(t.Context(), client.ObjectKeyFromObject(infra)), "infra"},
	} {
		if got := names(r, tt.got); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}

	limit := ask.limitOf(t.Context())
	for key, want := range map[string]int{r.Namespace + "/infra": 3, r.Namespace + "/open": 0, r.Namespace + "/none": 0, elsewhere.Namespace + "/infra": 0, "": 0} {
		if got := limit(key); got != want {
			t.Errorf("%q: %d Runs at once, want %d", key, got, want)
		}
	}
}
