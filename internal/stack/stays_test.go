package stack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/inputs"
	"cairn.dev/cairn/internal/run/runinfo"
	"cairn.dev/cairn/internal/stack/decision"
	"cairn.dev/cairn/internal/stack/snapshot"
)

// fakeClient takes note of what is deleted and made, and of how often a status is written.
type fakeClient struct {
	client.Client
	deleted []string
	written int
	made    string
	// refuses is what it says to who makes something; nil for nothing.
	refuses error
	// late says that it has the Run that was named before.
	late bool
}

func (d *fakeClient) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	if d.late {
		return nil
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "runs"}, key.Name)
}

func (d *fakeClient) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	if d.refuses == nil {
		d.made = o.GetName()
	}
	return d.refuses
}

func (d *fakeClient) Delete(_ context.Context, o client.Object, _ ...client.DeleteOption) error {
	d.deleted = append(d.deleted, o.GetName())
	return nil
}

func (d *fakeClient) Status() client.SubResourceWriter { return statusDesk{desk: d} }

type statusDesk struct {
	client.SubResourceWriter
	desk *fakeClient
}

func (s statusDesk) Patch(context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
	s.desk.written++
	return nil
}

// stuck is a bucket that lets go of nothing that it is not told to. Its answers have the ID of the request in them, as those of S3 have.
type stuck struct {
	lets  []string
	asked int
}

func (s *stuck) Forget(_ context.Context, r *v1alpha1.Run) error {
	if slices.Contains(s.lets, r.Name) {
		return nil
	}
	s.asked++
	return fmt.Errorf("delete plans of %s: StatusCode: 403, RequestID: TX%07dA, HostID: k%d/+=, AccessDenied: Access Denied", r.Name, s.asked, s.asked)
}

// newTestReconciler is a reconciler that deletes and writes at a desk, and the events that it tells.
func newTestReconciler(runs Runs) (*Reconciler, *fakeClient, *events.FakeRecorder) {
	d, told := &fakeClient{}, events.NewFakeRecorder(100)
	return &Reconciler{Gatherer: snapshot.Gatherer{Client: d}, Runs: runs, Events: Recorder{told}, States: letGo{}}, d, told
}

type letGo struct{ States }

func (letGo) Delete(context.Context, client.ObjectKey) error { return nil }
func (letGo) Orphan(context.Context, client.ObjectKey) error { return nil }

// went are n Runs that went well.
func went(n int) func(*decision.Snapshot) {
	return func(w *decision.Snapshot) {
		for i := range n {
			withRun(runinfo.Name("net", i+1), v1alpha1.PhaseSucceeded, "sha256:now")(w)
		}
		withAppliedInputs("sha256:now")(w)
		withReadyReason("Applied")(w)
		w.Stack.Status.LastRun = w.LatestRun().Name
		w.Stack.Spec.RunHistoryLimit = new(int32(1))
	}
}

func TestAnOldRunThatStaysHoldsUpNoOther(t *testing.T) {
	w := newSnapshot(went(5))
	r, d, told := newTestReconciler(&stuck{lets: []string{"net-2", "net-3", "net-4"}})
	if again, err := r.act(t.Context(), w, decision.Decide(w)); err != nil || again != pruneAgain {
		t.Errorf("it is tried again in %s: %v", again, err)
	}
	if got := strings.Join(d.deleted, " "); got != "net-2 net-3 net-4" {
		t.Errorf("deleted are %q", got)
	}
	if h := w.Stack.Status.History; len(h) != 2 || h[0].Name != "net-1" {
		t.Errorf("the history is %v", h)
	}
	if len(told.Events) == 0 {
		t.Fatal("nobody is told")
	}
	if e := <-told.Events; !strings.Contains(e, "Warning OldRunsCleanupFailed Run net-1, past spec.runHistoryLimit, cannot be deleted: delete plans of net-1: StatusCode: 403") {
		t.Errorf("what is told is %q", e)
	}
}

// A bucket that lets nothing be deleted is no reason to miss a drift check, or anything else that is due at a time.
func TestWhatIsDueIsNotMissedForAnOldRunThatStays(t *testing.T) {
	w := newSnapshot(went(5))
	r, _, _ := newTestReconciler(&stuck{})
	d := decision.Decide(w)
	d.RequeueAfter = 3 * time.Minute
	if again, err := r.act(t.Context(), w, d); err != nil || again != 3*time.Minute {
		t.Errorf("it is looked at again in %s: %v", again, err)
	}
}

// A bucket may keep all it has for years. Runs are in the API server, where there is no room for them, and their records in the status,
// which can no longer be written one day.
func TestWhatCannotBeDeletedHasAnEnd(t *testing.T) {
	w := newSnapshot(went(151))
	bucket := &stuck{}
	r, d, told := newTestReconciler(bucket)
	if again, err := r.act(t.Context(), w, decision.Decide(w)); err != nil || again != pruneAgain {
		t.Errorf("it is tried again in %s: %v", again, err)
	}
	if len(d.deleted) != 50 || d.deleted[0] != "net-1" || d.deleted[49] != "net-50" {
		t.Errorf("deleted are %v", d.deleted)
	}
	if h := w.Stack.Status.History; len(h) != 101 || h[0].Name != "net-51" {
		t.Errorf("the history has %d Runs", len(h))
	}
	if e := <-told.Events; !strings.Contains(e, "Run net-51, and 99 more past spec.runHistoryLimit, cannot be deleted; ") || !strings.Contains(e, "the logs and plans of 50 deleted Runs are still in the bucket: delete plans of net-1") {
		t.Errorf("what is told is %q", e)
	}
	if bucket.asked > 60 {
		t.Errorf("the bucket was asked %d times", bucket.asked)
	}
}

// A Stack that may go and does not says why: nothing else would.
func TestAStackThatCannotGoSaysWhy(t *testing.T) {
	for name, change := range map[string]func(*decision.Snapshot){"that is destroyed": func(*decision.Snapshot) {}, "that leaves what there is": withOrphanPolicy} {
		w := newSnapshot(withDeletion, went(1), change)
		r, d, _ := newTestReconciler(&stuck{})
		for range 3 { // and says it once: a write is an event, by which it is tried again
			if _, err := r.act(t.Context(), w, decision.Decide(w)); err == nil {
				t.Errorf("%s: there is no error", name)
			}
		}
		if why := decision.ReadyReason(w.Stack.Status); why != "RunsCleanupFailed" || d.written != 1 {
			t.Errorf("%s: the reason is %q, and it was written %d times", name, why, d.written)
		}
	}
}

// heldStates do not go either.
type heldStates struct {
	States
	asked *int
}

func (s heldStates) Delete(context.Context, client.ObjectKey) error {
	*s.asked++
	return errors.New("delete journals/ns/net/1: RequestID: TX" + strings.Repeat("9", *s.asked%3+1))
}

func TestAStateThatStaysIsToldOnce(t *testing.T) {
	w := newSnapshot(withDeletion, went(1))
	r, d, _ := newTestReconciler(&stuck{})
	r.States = heldStates{asked: new(int)}
	for range 3 {
		if _, err := r.act(t.Context(), w, decision.Decide(w)); err == nil {
			t.Error("there is no error")
		}
	}
	if why := decision.ReadyReason(w.Stack.Status); why != "StateCleanupFailed" || d.written != 1 {
		t.Errorf("the reason is %q, and it was written %d times", why, d.written)
	}
}

// A quota of Runs, or a webhook, may keep a Run from being made. Nothing but the Stack can say so.
func TestARunThatIsRefusedIsTold(t *testing.T) {
	r, d, told := newTestReconciler(nil)
	r.Inputs, r.Reserved = inputs.NewStore(nowhere{}), NewReserved()
	w := newSnapshot(withAppliedInputs("sha256:old"), withRun("net-1", "Succeeded", "sha256:old"), withLastRun("net-1"))
	for i := range 3 {
		d.refuses = apierrors.NewForbidden(schema.GroupResource{Resource: "runs"}, "net-2", fmt.Errorf("webhook a.b denied the request: no (%d)", i))
		w.Reserved = r.Reserved.of(w.Stack)
		if _, err := r.act(t.Context(), w, decision.Decide(w)); !apierrors.IsForbidden(err) {
			t.Fatalf("got %v", err)
		}
	}
	if ready := decision.ReadyOf(w.Stack.Status); ready.Reason != "Running" || !strings.HasPrefix(ready.Message, "Run net-2 cannot be created: ") || !strings.Contains(ready.Message, "denied the request: no") {
		t.Errorf("it says %s: %s", ready.Reason, ready.Message)
	}
	if d.written != 2 || len(told.Events) != 1 { // that it is named, and that it is refused
		t.Errorf("it was written %d times, and %d events tell it", d.written, len(told.Events))
	}

	d.refuses, w.Reserved = nil, r.Reserved.of(w.Stack)
	if _, err := r.act(t.Context(), w, decision.Decide(w)); err != nil || d.made != "net-2" || r.Reserved.of(w.Stack).Run != "" {
		t.Errorf("made is %q: %v", d.made, err)
	}
	withRun("net-2", "Planning", "sha256:now")(&w)
	if _, err := r.act(t.Context(), w, decision.Decide(w)); err != nil || !strings.Contains(decision.ReadyOf(w.Stack.Status).Message, "Run net-2 is under way") {
		t.Errorf("it says %q: %v", decision.ReadyOf(w.Stack.Status).Message, err)
	}
}

// The answer to the request that creates a Run is lost: it may have been created, and deleted since. The next Run has another name. Where the bucket
// failed before the request there is no such Run, so numbers are not used up.
func TestANameIsInOneRequestAtMost(t *testing.T) {
	r, d, _ := newTestReconciler(nil)
	r.Live, r.Reserved = d, NewReserved()
	w := newSnapshot(withRun("net-1", "Succeeded", "sha256:old"), withLastRun("net-1"))
	act := func() string {
		w.Reserved = r.Reserved.of(w.Stack)
		if _, err := r.act(t.Context(), w, decision.Decide(w)); err == nil {
			t.Fatal("there is no error")
		}
		return w.Stack.Status.LastRun
	}
	r.Inputs = inputs.NewStore(away{})
	if first, second := act(), act(); first != "net-2" || second != "net-2" {
		t.Errorf("the bucket is away, and the names are %s and %s", first, second)
	}
	r.Inputs, d.refuses = inputs.NewStore(nowhere{}), errors.New("connection reset by peer")
	if first, second := act(), act(); first != "net-2" || second != "net-3" {
		t.Errorf("the answers are lost, and the names are %s and %s", first, second)
	}
}

// A leader that is one no more created the Run that it had named, while its successor named the next one: there is one Run, and not two.
func TestNoRunIsCreatedBesideOneThatCameLate(t *testing.T) {
	r, d, _ := newTestReconciler(nil)
	r.Inputs, r.Live, r.Reserved, d.late = inputs.NewStore(nowhere{}), d, NewReserved(), true
	w := newSnapshot(withRun("net-1", "Succeeded", "sha256:old"), withReservedRun("net-2"))
	if _, err := r.act(t.Context(), w, decision.Decide(w)); !apierrors.IsConflict(err) || d.made != "" {
		t.Errorf("Run %q is created: %v", d.made, err)
	}
	d.late = false
	if _, err := r.act(t.Context(), w, decision.Decide(w)); err != nil || d.made != "net-4" {
		t.Errorf("Run %q is created: %v", d.made, err)
	}
	w, d.late, d.made = newSnapshot(withRun("net-1", "Succeeded", "sha256:old"), withLastRun("net-2")), true, "" // it was given up while nothing was to be started
	if _, err := r.act(t.Context(), w, decision.Decide(w)); !apierrors.IsConflict(err) || d.made != "" {
		t.Errorf("Run %q is created: %v", d.made, err)
	}
}

// away is a bucket that does not answer.
type away struct{ inputs.Bucket }

func (away) PutOnce(context.Context, string, []byte) error { return errors.New("connection refused") }
func (away) Renew(context.Context, string) error           { return errors.New("connection refused") }

// nowhere is a bucket that takes everything.
type nowhere struct{ inputs.Bucket }

func (nowhere) PutOnce(context.Context, string, []byte) error { return nil }
func (nowhere) Renew(context.Context, string) error           { return nil }

// A foreground deletion of the Stack would have the garbage collector delete a Run that blocks it, in the middle of an apply.
func TestARunDoesNotBlockItsStacksDeletion(t *testing.T) {
	if ref := owner(newSnapshot().Stack); ref.BlockOwnerDeletion != nil || ref.Controller == nil || !*ref.Controller {
		t.Errorf("got %+v", ref)
	}
}
