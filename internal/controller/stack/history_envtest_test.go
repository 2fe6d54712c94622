//go:build envtest

package stack

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/test/apiserver"
)

// lean is a client whose cache has no Runs that succeeded, as that of an operator without a server.
type lean struct{ client.Client }

func (c lean) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := c.Client.List(ctx, list, opts...)
	if runs, ok := list.(*v1alpha1.RunList); ok {
		runs.Items = slices.DeleteFunc(runs.Items, func(r v1alpha1.Run) bool {
			return r.Status.Phase == v1alpha1.PhaseSucceeded
		})
	}
	return err
}

// pass reconciles once with another client and returns the error.
func (r *testEnv) pass(c client.Client) error {
	other := *r.Reconciler
	other.Client = c
	_, err := other.Reconcile(r.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(r.stack)})
	r.Seen(r.stack)
	return err
}

func sized(size string) func(*v1alpha1.StackSpec) {
	return func(s *v1alpha1.StackSpec) {
		s.RunHistoryLimit = new(int32(0))
		s.Variables = []v1alpha1.Variable{{Name: "size", Value: &apiextensionsv1.JSON{Raw: []byte(size)}}}
	}
}

// newTestEnvWithOldRun returns the environment of a Stack with a history limit of one, whose second Run has just
// applied the spec.
func newTestEnvWithOldRun(t *testing.T) *testEnv {
	t.Helper()
	r := newTestEnv(t)
	r.updateSpec(sized("0"))
	r.reconcile()
	r.ends("net-1", v1alpha1.PhaseSucceeded)
	r.reconcile()
	r.updateSpec(sized("1"))
	r.reconcile()
	r.ends("net-2", v1alpha1.PhaseSucceeded)
	return r
}

func (r *testEnv) history() string {
	var names []string
	for _, p := range r.stack.Status.History {
		names = append(names, p.Name)
	}
	return strings.Join(names, " ")
}

func TestSucceededRunsAreReadFromTheStatus(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	old := *firstRun(r)
	r.ends("net-1", v1alpha1.PhaseSucceeded)
	apiserver.Must(t, r.pass(lean{r.Env.Client}))
	r.expect("True", "Applied", "net-1 ")
	if r.history() != "net-1" || r.stack.Status.CurrentRun != "" {
		t.Fatalf("the history is %q and the current Run is %q", r.history(), r.stack.Status.CurrentRun)
	}
	before := r.stack.ResourceVersion
	for name, c := range map[string]client.Client{
		"of an operator alone": lean{r.Env.Client}, "of one with a server": r.Env.Client,
		"of one that is behind": withRuns{r.Env.Client, []v1alpha1.Run{old}},
	} {
		apiserver.Must(t, r.pass(c))
		if r.expect("True", "Applied", "net-1 "); r.stack.ResourceVersion != before {
			t.Error("the status was written again with the cache", name)
		}
	}

	// The history is restored if an older operator, or a user, removed it from the status.
	r.stack.Status.History = nil
	apiserver.Must(t, r.Env.Client.Status().Update(t.Context(), r.stack))
	r.Seen(r.stack)
	apiserver.Must(t, r.pass(lean{r.Env.Client}))
	if r.history() != "net-1" {
		t.Errorf("the history is %q", r.history())
	}
}

// undeletableRuns is a client whose Delete returns an error.
type undeletableRuns struct{ client.Client }

func (undeletableRuns) Delete(context.Context, client.Object, ...client.DeleteOption) error {
	return errHeld
}

// TestRunStaysInTheHistoryUntilItIsDeleted checks that a Run which cannot be deleted is deleted in the next reconcile.
func TestRunStaysInTheHistoryUntilItIsDeleted(t *testing.T) {
	r := newTestEnv(t)
	r.updateSpec(sized("0"))
	r.reconcile()
	r.ends("net-1", v1alpha1.PhaseSucceeded)
	r.reconcile()
	r.updateSpec(sized("1"))
	r.reconcile()
	r.expect("Unknown", "Running", "net-1 net-2 ")
	r.ends("net-2", v1alpha1.PhaseSucceeded)
	apiserver.Must(t, r.pass(undeletableRuns{r.Env.Client}))
	if r.history() != "net-1 net-2" {
		t.Errorf("the history is %q", r.history())
	}
	r.reconcile()
	r.expect("True", "Applied", "net-2 ")
	if r.history() != "net-2" {
		t.Errorf("the history is %q", r.history())
	}
}

// TestOldRunsAreDeletedWhileAStackWaitsForItsState checks that the bucket keeps nothing of old Runs of a Stack that is
// deleted.
func TestOldRunsAreDeletedWhileAStackWaitsForItsState(t *testing.T) {
	r := newTestEnvWithOldRun(t)
	apiserver.Must(t, r.Env.Client.Delete(t.Context(), r.stack))
	r.Seen(r.stack)
	held := *r.Reconciler
	held.States = undeletable{&r.ended}
	if _, err := held.Reconcile(t.Context(),
		ctrl.Request{NamespacedName: client.ObjectKeyFromObject(r.stack)}); !errors.Is(err, errHeld) {
		t.Fatalf("got %v", err)
	}
	if r.expect("False", "StateCleanupFailed", "net-2 "); r.history() != "net-2" {
		t.Errorf("the history is %q", r.history())
	}
}

// TestRunWithAnotherUIDIsNotDeleted checks that a new Run with the name of an old one is kept.
func TestRunWithAnotherUIDIsNotDeleted(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	r.ends("net-1", v1alpha1.PhaseFailed)
	r.Seen(r.stack)
	w := decision.Snapshot{Now: r.Now(), Stack: r.stack, Effective: r.stack,
		Runs: []v1alpha1.Run{*firstRun(r), *firstRun(r)}}
	w.Stack.Spec.RunHistoryLimit = new(int32(0))
	w.Runs[0].UID, w.Runs[1].Name = "another", "net-2"
	apiserver.Must(t, r.prune(t.Context(), &w))
	if r.runs() != "net-1 " {
		t.Errorf("the Runs are %q", r.runs())
	}
	w.Runs[0].UID = firstRun(r).UID
	held := *r.Reconciler
	held.Client = undeletableRuns{r.Env.Client}
	if err := held.prune(t.Context(), &w); !errors.Is(err, errHeld) {
		t.Errorf("got %v", err)
	}
	apiserver.Must(t, r.prune(t.Context(), &w))
	if r.runs() != "" {
		t.Errorf("the Runs are %q", r.runs())
	}
}

// counting is a bucket that counts its reads.
type counting struct {
	memoryBucket
	reads *int
}

func (c counting) Get(ctx context.Context, key string, limit int64) ([]byte, error) {
	*c.reads++
	return c.memoryBucket.Get(ctx, key, limit)
}

// TestStackThatIsUpToDateReadsNothingFromTheBucket checks the first reconcile of a new process.
func TestStackThatIsUpToDateReadsNothingFromTheBucket(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	r.ends("net-1", v1alpha1.PhaseSucceeded)
	r.reconcile()
	r.expect("True", "Applied", "net-1 ")
	r.begin(r.bucket)
	reads := 0
	r.Inputs = inputs.NewStore(counting{r.bucket, &reads})
	r.reconcile()
	r.expect("True", "Applied", "net-1 ")
	if reads != 0 {
		t.Errorf("it read %d documents of inputs", reads)
	}
}

// TestFailedDeletionOfOldRunsDoesNotBlockNewRuns checks that the status is written and a Run created although old Runs
// cannot be deleted.
func TestFailedDeletionOfOldRunsDoesNotBlockNewRuns(t *testing.T) {
	r := newTestEnvWithOldRun(t)
	apiserver.Must(t, r.pass(undeletableRuns{r.Env.Client}))
	r.expect("True", "Applied", "net-1 net-2 ")
	r.updateSpec(sized("2"))
	apiserver.Must(t, r.pass(undeletableRuns{r.Env.Client}))
	r.expect("Unknown", "Running", "net-1 net-2 net-3 ")
	r.ends("net-3", v1alpha1.PhaseSucceeded)
	r.reconcile()
	if r.expect("True", "Applied", "net-3 "); r.history() != "net-3" {
		t.Errorf("the history is %q", r.history())
	}
}
