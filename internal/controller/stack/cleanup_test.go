package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket/buckettest"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/internal/controller/stack/snapshot"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// fakeClient records what is deleted and created, and counts the writes of a status.
type fakeClient struct {
	client.Client
	deleted []string
	written int
	created string
	// createErr is the error of Create.
	createErr error
	// late means that the Run reserved before exists.
	late bool
}

// List finds nothing.
func (*fakeClient) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func (d *fakeClient) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if d.late {
		o.SetOwnerReferences([]metav1.OwnerReference{owner(&v1alpha1.Stack{})})
		return nil
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "runs"}, key.Name)
}

func (d *fakeClient) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	if d.createErr == nil {
		d.created = o.GetName()
	}
	return d.createErr
}

func (d *fakeClient) Delete(_ context.Context, o client.Object, _ ...client.DeleteOption) error {
	d.deleted = append(d.deleted, o.GetName())
	return nil
}

func (d *fakeClient) Status() client.SubResourceWriter { return fakeStatusWriter{client: d} }

type fakeStatusWriter struct {
	client.SubResourceWriter
	client *fakeClient
}

func (s fakeStatusWriter) Patch(context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
	s.client.written++
	return nil
}

// failingRuns is a bucket that deletes only the Runs of the list. Its errors contain the ID of the request, as those of
// S3.
type failingRuns struct {
	deletable []string
	requests  int
}

func (s *failingRuns) Forget(_ context.Context, r *v1alpha1.Run) error {
	if slices.Contains(s.deletable, r.Name) {
		return nil
	}
	s.requests++
	return fmt.Errorf("delete plans of %s: StatusCode: 403, RequestID: TX%07dA, HostID: k%d/+=, AccessDenied: "+
		"Access Denied", r.Name, s.requests, s.requests)
}

// newTestReconciler returns a reconciler, its client, and the recorder of its events.
func newTestReconciler(runs Runs) (*Reconciler, *fakeClient, *events.FakeRecorder) {
	d, recorder := &fakeClient{}, events.NewFakeRecorder(100)
	return &Reconciler{Gatherer: snapshot.Gatherer{Client: d}, Runs: runs, Events: Recorder{recorder},
		States: deletableStates{}}, d, recorder
}

type deletableStates struct{ States }

func (deletableStates) Delete(context.Context, client.ObjectKey) error { return nil }
func (deletableStates) Orphan(context.Context, client.ObjectKey) error { return nil }

// withSucceededRuns adds n Runs that succeeded.
func withSucceededRuns(n int) func(*decision.Snapshot) {
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

func TestOldRunThatCannotBeDeletedDoesNotBlockOthers(t *testing.T) {
	w := newSnapshot(withSucceededRuns(5))
	r, d, recorder := newTestReconciler(&failingRuns{deletable: []string{"net-2", "net-3", "net-4"}})
	if again, err := r.act(t.Context(), w, decision.Decide(w)); err != nil || again != pruneAgain {
		t.Errorf("requeue after %s: %v", again, err)
	}
	if got := strings.Join(d.deleted, " "); got != "net-2 net-3 net-4" {
		t.Errorf("deleted are %q", got)
	}
	if h := w.Stack.Status.History; len(h) != 2 || h[0].Name != "net-1" {
		t.Errorf("the history is %v", h)
	}
	if len(recorder.Events) == 0 {
		t.Fatal("no event was published")
	}
	if e := <-recorder.Events; !strings.Contains(e,
		"Warning OldRunsCleanupFailed Run net-1, past spec.runHistoryLimit, cannot be deleted: delete plans of "+
			"net-1: StatusCode: 403") {
		t.Errorf("the event is %q", e)
	}
}

// TestRequeueTimeIsKeptWhenOldRunsCannotBeDeleted checks that a failed deletion does not delay a drift check.
func TestRequeueTimeIsKeptWhenOldRunsCannotBeDeleted(t *testing.T) {
	w := newSnapshot(withSucceededRuns(5))
	r, _, _ := newTestReconciler(&failingRuns{})
	d := decision.Decide(w)
	d.RequeueAfter = 3 * time.Minute
	if again, err := r.act(t.Context(), w, d); err != nil || again != 3*time.Minute {
		t.Errorf("requeue after %s: %v", again, err)
	}
}

// TestNumberOfRunsThatCannotBeDeletedIsBounded checks a bucket that deletes nothing for years. The Runs use memory of
// the API server, and their records could exceed the size limit of the status.
func TestNumberOfRunsThatCannotBeDeletedIsBounded(t *testing.T) {
	w := newSnapshot(withSucceededRuns(151))
	bucket := &failingRuns{}
	r, d, recorder := newTestReconciler(bucket)
	if again, err := r.act(t.Context(), w, decision.Decide(w)); err != nil || again != pruneAgain {
		t.Errorf("requeue after %s: %v", again, err)
	}
	if len(d.deleted) != 50 || d.deleted[0] != "net-1" || d.deleted[49] != "net-50" {
		t.Errorf("deleted are %v", d.deleted)
	}
	if h := w.Stack.Status.History; len(h) != 101 || h[0].Name != "net-51" {
		t.Errorf("the history has %d Runs", len(h))
	}
	if e := <-recorder.Events; !strings.Contains(e, "Run net-51, and 99 more past spec.runHistoryLimit, cannot "+
		"be deleted; ") || !strings.Contains(e, "the logs and plans of 50 deleted Runs are still in the bucket: "+
		"delete plans of net-1") {
		t.Errorf("the event is %q", e)
	}
	if bucket.requests > 60 {
		t.Errorf("the bucket got %d requests", bucket.requests)
	}
}

// TestStackReportsWhyItCannotBeDeleted checks that the Ready condition has the reason of a failed cleanup.
func TestStackReportsWhyItCannotBeDeleted(t *testing.T) {
	for name, change := range map[string]func(*decision.Snapshot){"destroyed": func(*decision.Snapshot) {},
		"orphaned": withOrphanPolicy} {
		w := newSnapshot(withDeletion, withSucceededRuns(1), change)
		r, d, _ := newTestReconciler(&failingRuns{})
		for range 3 { // and writes it once: each write is an event that starts a reconcile
			if _, err := r.act(t.Context(), w, decision.Decide(w)); err == nil {
				t.Errorf("%s: there is no error", name)
			}
		}
		if reason := decision.ReadyReason(w.Stack.Status); reason != "RunsCleanupFailed" || d.written != 1 {
			t.Errorf("%s: the reason is %q, and it was written %d times", name, reason, d.written)
		}
	}
}

// heldStates are States that cannot be deleted.
type heldStates struct {
	States
	requests *int
}

func (s heldStates) Delete(context.Context, client.ObjectKey) error {
	*s.requests++
	return errors.New("delete journals/ns/net/1: RequestID: TX" + strings.Repeat("9", *s.requests%3+1))
}

func TestFailedStateCleanupIsReportedOnce(t *testing.T) {
	w := newSnapshot(withDeletion, withSucceededRuns(1))
	r, d, _ := newTestReconciler(&failingRuns{})
	r.States = heldStates{requests: new(int)}
	for range 3 {
		if _, err := r.act(t.Context(), w, decision.Decide(w)); err == nil {
			t.Error("there is no error")
		}
	}
	if reason := decision.ReadyReason(w.Stack.Status); reason != "StateCleanupFailed" || d.written != 1 {
		t.Errorf("the reason is %q, and it was written %d times", reason, d.written)
	}
}

// TestErrorOfRunCreationIsReported checks that the Stack reports the error of a quota or of a webhook.
func TestErrorOfRunCreationIsReported(t *testing.T) {
	r, d, recorder := newTestReconciler(nil)
	r.Inputs, r.Live, r.Reserved = inputs.NewStore(discardBucket{}), d, NewReserved()
	w := newSnapshot(withAppliedInputs("sha256:old"), withRun("net-1", "Succeeded", "sha256:old"), withLastRun("net-1"))
	for i := range 3 {
		d.createErr = apierrors.NewForbidden(schema.GroupResource{Resource: "runs"}, "net-2",
			fmt.Errorf("webhook a.b denied the request: no (%d)", i))
		w.Reserved = r.Reserved.of(w.Stack)
		if _, err := r.act(t.Context(), w, decision.Decide(w)); !apierrors.IsForbidden(err) {
			t.Fatalf("got %v", err)
		}
	}
	if ready := decision.ReadyOf(w.Stack.Status); ready.Reason != "Running" ||
		!strings.HasPrefix(ready.Message, "Run net-2 cannot be created: ") ||
		!strings.Contains(ready.Message, "denied the request: no") {
		t.Errorf("Ready is %s: %s", ready.Reason, ready.Message)
	}
	if d.written != 2 || len(recorder.Events) != 1 { // the reservation and the error
		t.Errorf("the status was written %d times, with %d events", d.written, len(recorder.Events))
	}

	d.createErr, w.Reserved = nil, r.Reserved.of(w.Stack)
	if _, err := r.act(t.Context(), w, decision.Decide(w)); err != nil || d.created != "net-2" ||
		r.Reserved.of(w.Stack).Run != "" {
		t.Errorf("created is %q: %v", d.created, err)
	}
	withRun("net-2", "Planning", "sha256:now")(&w)
	if _, err := r.act(t.Context(), w, decision.Decide(w)); err != nil ||
		!strings.Contains(decision.ReadyOf(w.Stack.Status).Message, "Run net-2 is under way") {
		t.Errorf("the message is %q: %v", decision.ReadyOf(w.Stack.Status).Message, err)
	}
}

// TestErrorWithoutAnAnswerIsReported checks an API server and a bucket that do not answer: the Stack reports it. A
// newer version of the Stack is no error for users.
func TestErrorWithoutAnAnswerIsReported(t *testing.T) {
	runs := schema.GroupResource{Resource: "runs"}
	for name, tt := range map[string]struct {
		create error
		inputs *inputs.Store
		want   string
	}{
		"an internal error": {apierrors.NewInternalError(errors.New("etcd is full")),
			inputs.NewStore(discardBucket{}), "Run net-2 cannot be created: Internal error occurred: etcd is full"},
		"a lost connection": {errors.New("connection reset by peer"), inputs.NewStore(discardBucket{}),
			"Run net-2 cannot be created: connection reset by peer"},
		"a bucket that is down": {nil, inputs.NewStore(unavailableBucket2{}), "Run net-2 cannot be created: "},
		"a conflict": {apierrors.NewConflict(runs, "net-2", errors.New("changed")),
			inputs.NewStore(discardBucket{}), ""},
		"a Run that exists": {apierrors.NewAlreadyExists(runs, "net-2"), inputs.NewStore(discardBucket{}), ""},
	} {
		r, d, _ := newTestReconciler(nil)
		r.Inputs, r.Live, r.Reserved, d.createErr = tt.inputs, d, NewReserved(), tt.create
		w := newSnapshot(withAppliedInputs("sha256:old"), withRun("net-1", "Succeeded", "sha256:old"),
			withLastRun("net-1"))
		if _, err := r.act(t.Context(), w, decision.Decide(w)); err == nil {
			t.Errorf("%s: there is no error", name)
		}
		message := decision.ReadyOf(w.Stack.Status).Message
		if !strings.HasPrefix(message, tt.want) || tt.want == "" && strings.Contains(message, "cannot be created") {
			t.Errorf("%s: %q, want %q", name, message, tt.want)
		}
	}
}

// TestRunNameIsUsedInOneRequestAtMost checks a create request whose response is lost: the Run may have been created and
// deleted since, so the next Run has another name. If the bucket failed before the request there is no such Run, so its
// name is used again.
func TestRunNameIsUsedInOneRequestAtMost(t *testing.T) {
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
	r.Inputs = inputs.NewStore(unavailableBucket2{})
	if first, second := act(), act(); first != "net-2" || second != "net-2" {
		t.Errorf("the bucket is unavailable, and the names are %s and %s", first, second)
	}
	r.Inputs, d.createErr = inputs.NewStore(discardBucket{}), errors.New("connection reset by peer")
	if first, second := act(), act(); first != "net-2" || second != "net-3" {
		t.Errorf("the responses are lost, and the names are %s and %s", first, second)
	}
}

// TestNoRunIsCreatedBesideALateOne checks a former leader that creates its reserved Run while the new leader reserves
// the next one: only one of them is started.
func TestNoRunIsCreatedBesideALateOne(t *testing.T) {
	r, d, _ := newTestReconciler(nil)
	r.Inputs, r.Live, r.Reserved, d.late = inputs.NewStore(discardBucket{}), d, NewReserved(), true
	w := newSnapshot(withRun("net-1", "Succeeded", "sha256:old"), withReservedRun("net-2"))
	if _, err := r.act(t.Context(), w, decision.Decide(w)); !apierrors.IsConflict(err) || d.created != "" {
		t.Errorf("Run %q is created: %v", d.created, err)
	}
	d.late = false
	if _, err := r.act(t.Context(), w, decision.Decide(w)); err != nil || d.created != "net-4" {
		t.Errorf("Run %q is created: %v", d.created, err)
	}
	// the reservation was dropped while nothing was to be started
	w, d.late, d.created = newSnapshot(withRun("net-1", "Succeeded", "sha256:old"), withLastRun("net-2")), true, ""
	if _, err := r.act(t.Context(), w, decision.Decide(w)); !apierrors.IsConflict(err) || d.created != "" {
		t.Errorf("Run %q is created: %v", d.created, err)
	}
}

// TestRunAfterAFailedOneHasReadableInputs checks damage that only the server found, in a process of its own: its Run
// failed. The operator has the document in memory, and reads it before the next Run.
func TestRunAfterAFailedOneHasReadableInputs(t *testing.T) {
	dir := t.TempDir()
	b := buckettest.Open(t, "file://"+filepath.ToSlash(dir))
	r, d, _ := newTestReconciler(nil)
	r.Inputs, r.Live, r.Reserved = inputs.NewStore(b), d, NewReserved()
	w := newSnapshot(withRun("net-1", "Failed", "sha256:old"), withLastRun("net-1"))
	if err := b.PutOnce(t.Context(), "sources/"+w.Inputs.Source, []byte("code")); err != nil {
		t.Fatal(err)
	}
	digest, err := r.Inputs.Put(t.Context(), w.Inputs)
	if err == nil {
		err = b.Renew(t.Context(), "inputs/"+digest)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.Digest = digest
	if err := os.WriteFile(filepath.Join(dir, "inputs", digest), []byte("not what Cairn wrote"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := r.act(t.Context(), w, decision.Decide(w)); err != nil || d.created != "net-2" {
		t.Fatalf("created is %q: %v", d.created, err)
	}
	if _, err := inputs.NewStore(b).Get(t.Context(), digest); err != nil {
		t.Errorf("the inputs of the new Run: %v", err)
	}
}

// silentBucket is a bucket that does not answer.
type unavailableBucket2 struct{ inputs.Bucket }

func (unavailableBucket2) PutOnce(context.Context, string, []byte) error {
	return errors.New("connection refused")
}
func (unavailableBucket2) Renew(context.Context, string) error {
	return errors.New("connection refused")
}

// discardBucket is a bucket that accepts all writes.
type discardBucket struct{ inputs.Bucket }

func (discardBucket) PutOnce(context.Context, string, []byte) error { return nil }
func (discardBucket) Renew(context.Context, string) error           { return nil }
func (discardBucket) Verify(context.Context, string) error          { return nil }

// TestRunDoesNotBlockDeletionOfItsStack checks the owner reference: with blockOwnerDeletion, a foreground deletion of
// the Stack would delete the Run in the middle of an apply.
func TestRunDoesNotBlockDeletionOfItsStack(t *testing.T) {
	if ref := owner(newSnapshot().Stack); ref.BlockOwnerDeletion != nil || ref.Controller == nil || !*ref.Controller {
		t.Errorf("got %+v", ref)
	}
}
