//go:build envtest

package stack

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/controller/code"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/repository"
	runs "cairn.dev/cairn/internal/controller/run"
	"cairn.dev/cairn/internal/controller/run/index"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/internal/controller/stack/snapshot"
	"cairn.dev/cairn/internal/controller/stack/source"
	"cairn.dev/cairn/test/apiserver"
)

// memoryBucket is a bucket in memory.
type memoryBucket map[string][]byte

func (m memoryBucket) PutOnce(_ context.Context, key string, data []byte) error {
	m[key] = data
	return nil
}
func (m memoryBucket) Get(_ context.Context, key string, _ int64) ([]byte, error) {
	if data, ok := m[key]; ok {
		return data, nil
	}
	return nil, bucket.ErrNotFound
}
func (m memoryBucket) Renew(_ context.Context, key string) error {
	_, err := m.Get(context.Background(), key, 0)
	return err
}
func (m memoryBucket) Verify(ctx context.Context, key string) error { return m.Renew(ctx, key) }

func (m memoryBucket) DeletePrefix(context.Context, string) error { return nil }

// ended records the States whose deletion was requested.
type ended []string

func (e *ended) Delete(_ context.Context, key client.ObjectKey) error {
	*e = append(*e, key.Name)
	return nil
}

func (e *ended) Purge(ctx context.Context, key client.ObjectKey) error       { return e.Delete(ctx, key) }
func (e *ended) Unsaved(context.Context, client.ObjectKey) ([]string, error) { return nil, nil }

func (e *ended) Promote(context.Context, client.ObjectKey) error { return nil }

func (e *ended) Orphan(context.Context, client.ObjectKey) error { return nil }

func (e *ended) KeepSelfApproval(context.Context, client.ObjectKey,
	func(*v1alpha1.KeptSelfApproval) *v1alpha1.KeptSelfApproval) error {
	return nil
}

// testEnv is a Stack's reconciler and a real API server. Only the test calls Reconcile.
type testEnv struct {
	apiserver.Env
	*Reconciler
	stack  *v1alpha1.Stack
	bucket memoryBucket
	ended  ended
}

func TestMain(m *testing.M) { apiserver.Main(m, "../../../charts/cairn/files/crds") }

// newTestEnv creates a Stack whose variable file is in a Secret.
func newTestEnv(t *testing.T) *testEnv {
	t.Helper()
	r := &testEnv{Env: apiserver.New(t, indexes()...)}
	r.begin(memoryBucket{})
	r.stack = &v1alpha1.Stack{
		ObjectMeta: metav1.ObjectMeta{Name: "net"},
		Spec: v1alpha1.StackSpec{
			Source:        v1alpha1.Source{Inline: map[string]string{"main.tf": ""}},
			VariableFiles: []v1alpha1.VariableFile{{Secret: &v1alpha1.ObjectRef{Name: "vars"}}},
			Timeout:       &metav1.Duration{Duration: time.Hour},
		},
	}
	r.Make(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "vars"}}, r.stack)
	return r
}

func indexes() []apiserver.Index {
	return []apiserver.Index{
		{Of: &v1alpha1.Run{}, Field: index.StackField, Values: index.StackNames},
		{Of: &v1alpha1.Stack{}, Field: snapshot.DependencyIndex, Values: snapshot.IndexDependencies},
		{Of: &v1alpha1.Stack{}, Field: snapshot.UnitIndex, Values: snapshot.IndexUnit},
		{Of: &v1alpha1.Stack{}, Field: repository.StackIndex, Values: repository.IndexStack},
		{Of: &v1alpha1.PullRequest{}, Field: snapshot.HoldIndex, Values: snapshot.IndexHolds},
		{Of: &v1alpha1.PullRequest{}, Field: repository.PullRequestIndex, Values: repository.IndexPullRequest},
	}
}

// begin starts a process with a bucket.
func (r *testEnv) begin(bucket memoryBucket) {
	r.bucket = bucket
	r.Reconciler = &Reconciler{
		Gatherer: snapshot.Gatherer{
			Client: r.Env.Client, Live: r.Env.Live, StateReader: &r.ended,
			Sources: source.NewSources(r.Env.Live, bucket), Inputs: inputs.NewStore(bucket),
			Code: code.NewSources(r.Env.Client, r.Env.Live, nil),
		},
		States: &r.ended, Runs: runs.Artifacts{Bucket: bucket},
		Events: Recorder{events.NewFakeRecorder(100)}, ConflictBackoff: NewConflictBackoff(), Reserved: NewReserved(),
	}
}

// reconcile reconciles the Stack, and repeats that until the cache has the last write.
func (r *testEnv) reconcile() {
	r.Helper()
	req := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(r.stack)}
	for range 50 {
		_, err := r.Reconcile(r.Context(), req)
		apiserver.Must(r.T, err)
		if r.ConflictBackoff.NumRequeues(req) == 0 {
			return
		}
		time.Sleep(minConflictBackoff)
	}
	r.Fatal("the cache does not receive the last write")
}

// runs returns the names of all Runs of the API server.
func (r *testEnv) runs() string {
	r.Helper()
	var list v1alpha1.RunList
	apiserver.Must(r.T, r.Env.Live.List(r.Context(), &list, client.InNamespace(r.stack.Namespace)))
	names := ""
	for _, run := range list.Items {
		names += run.Name + " "
	}
	return names
}

// ends moves a Run to a final phase.
func (r *testEnv) ends(name string, phase v1alpha1.RunPhase) {
	r.Helper()
	run := &v1alpha1.Run{}
	apiserver.Must(r.T, r.Env.Live.Get(r.Context(), client.ObjectKey{Namespace: r.stack.Namespace, Name: name}, run))
	run.Status = v1alpha1.RunStatus{Phase: phase, Plan: &v1alpha1.Plan{Changes: true},
		FinishedAt: &metav1.Time{Time: r.Now()}}
	apiserver.Must(r.T, r.Env.Client.Status().Update(r.Context(), run))
	r.Seen(run)
}

func (r *testEnv) expect(ready metav1.ConditionStatus, reason, runs string) {
	r.Helper()
	r.Seen(r.stack)
	var c metav1.Condition
	for _, c = range r.stack.Status.Conditions {
		if c.Type == v1alpha1.ConditionReady {
			break
		}
	}
	if c.Status != ready || c.Reason != reason || r.runs() != runs {
		r.Errorf("the Stack is %s %s (%s) with Runs %q, want %s %s with %q", c.Status, c.Reason, c.Message, r.runs(),
			ready, reason, runs)
	}
}

func TestRunsFollowChangesOfInputs(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	r.expect("Unknown", "Running", "net-1 ")
	if len(r.stack.Finalizers) != 1 {
		t.Error("there is no finalizer")
	}
	r.reconcile()
	r.expect("Unknown", "Running", "net-1 ")

	r.ends("net-1", v1alpha1.PhaseSucceeded)
	r.reconcile()
	r.expect("True", "Applied", "net-1 ")

	// Without a change of the inputs nothing is written.
	before := r.stack.ResourceVersion
	r.reconcile()
	r.expect("True", "Applied", "net-1 ")
	if r.stack.ResourceVersion != before {
		t.Error("reconciling without a change wrote the status")
	}

	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.stack.Namespace, Name: "vars"}}
	apiserver.Must(t, r.Env.Live.Get(t.Context(), client.ObjectKeyFromObject(secret), secret))
	secret.StringData = map[string]string{"a.tfvars": "a = 1"}
	apiserver.Must(t, r.Env.Client.Update(t.Context(), secret))
	r.Seen(apiserver.Metadata("Secret", secret.Namespace, secret.Name))
	r.reconcile()
	r.expect("Unknown", "Running", "net-1 net-2 ")

	apiserver.Must(t, r.Env.Client.Delete(t.Context(), secret))
	r.ends("net-2", v1alpha1.PhaseSucceeded)
	r.Gone(apiserver.Metadata("Secret", secret.Namespace, secret.Name))
	r.reconcile()
	r.expect("False", "SecretNotFound", "net-1 net-2 ")
}

// TestNameOfARunThatDoesNotExistIsNotReused checks a status that names a Run which does not exist: the operator ended
// before it created the Run, or a user deleted it.
func TestNameOfARunThatDoesNotExistIsNotReused(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	r.deleteRun("net-1")
	r.reconcile()
	r.expect("Unknown", "Running", "net-2 ")
}

// TestNextRunWaitsForThePodOfADeletedRun checks a Run that a user deletes during its apply. Its pod saves what it
// applied, and no other Run starts until it has ended.
func TestNextRunWaitsForThePodOfADeletedRun(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	pod := newPod(firstRun(r))
	r.Make(pod)
	pod.Status.Phase = corev1.PodRunning
	apiserver.Must(t, r.Env.Client.Status().Update(t.Context(), pod))
	r.deleteRun("net-1")
	r.reconcile()
	r.expect("False", "PodTerminating", "")

	pod.Status.Phase = corev1.PodFailed
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{
		{Name: "engine", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}}}
	apiserver.Must(t, r.Env.Client.Status().Update(t.Context(), pod))
	r.reconcile()
	r.expect("Unknown", "Running", "net-2 ")
}

// TestStaleCacheCreatesNoSecondRun checks a cache that does not have the Run which the status names.
func TestStaleCacheCreatesNoSecondRun(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	r.Seen(r.stack)
	if result := r.blind(); result.RequeueAfter != decision.UncachedRequeue {
		t.Errorf("requeue after %s, but no event may report that the Run is deleted", result.RequeueAfter)
	}
	r.expect("Unknown", "Running", "net-1 ")
	r.ends("net-1", v1alpha1.PhaseFailed)
	if result := r.blind(); result.RequeueAfter != 0 {
		t.Errorf("requeue after %s although the end of the Run is recorded", result.RequeueAfter)
	}
	r.expect("False", "RunFailed", "net-1 ")
}

// blind reconciles once with a cache that has no Run.
func (r *testEnv) blind() ctrl.Result {
	r.Helper()
	blind := *r.Reconciler
	blind.Client = emptyRunCache{r.Env.Client}
	result, err := blind.Reconcile(r.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(r.stack)})
	apiserver.Must(r.T, err)
	return result
}

// emptyRunCache is a client whose cache has no Run.
type emptyRunCache struct{ client.Client }

func (c emptyRunCache) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, ok := list.(*v1alpha1.RunList); ok {
		return nil
	}
	return c.Client.List(ctx, list, opts...)
}

func TestDeletionReadsTheStateFromTheAPIServer(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	r.ends("net-1", v1alpha1.PhaseFailed)
	// A state that is not in the cache: it was created a moment ago.
	state := &v1alpha1.State{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.stack.Namespace, Name: "net"},
		Status: v1alpha1.StateStatus{Version: 1, UpdatedBy: "net-1", Resources: 2,
			InputsDigest: firstRun(r).Spec.InputsDigest, StackUID: r.stack.UID},
	}
	apiserver.Must(t, r.Env.Client.Create(t.Context(), state))
	apiserver.Must(t, r.Env.Client.Delete(t.Context(), r.stack))
	r.Seen(r.stack)
	blind := *r.Reconciler
	blind.Client = withoutState{r.Env.Client}
	_, err := blind.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(r.stack)})
	apiserver.Must(t, err)
	r.expect("Unknown", "Destroying", "net-1 net-2 ")
	if len(r.ended) != 0 {
		t.Error("a state that holds resources was deleted")
	}
}

// TestStackIsDeletedAfterItsState checks that the finalizer stays until the State is deleted (I5).
func TestStackIsDeletedAfterItsState(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	r.ends("net-1", v1alpha1.PhaseFailed) // nothing was created
	apiserver.Must(t, r.Env.Client.Delete(t.Context(), r.stack))
	r.Seen(r.stack)
	held := *r.Reconciler
	held.States = undeletable{&r.ended}
	_, err := held.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(r.stack)})
	if !errors.Is(err, errHeld) {
		t.Errorf("got %v", err)
	}
	r.expect("False", "StateCleanupFailed", "net-1 ")
	r.reconcile()
	r.Gone(r.stack)
}

var errHeld = errors.New("the state is locked")

// undeletable are States that cannot be deleted.
type undeletable struct{ States }

func (undeletable) Delete(context.Context, client.ObjectKey) error { return errHeld }

// withoutState is a client whose cache has no State.
type withoutState struct{ client.Client }

func (c withoutState) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, ok := o.(*v1alpha1.State); ok {
		key.Name = "none"
	}
	return c.Client.Get(ctx, key, o, opts...)
}

func firstRun(r *testEnv) *v1alpha1.Run {
	run := &v1alpha1.Run{}
	apiserver.Must(r.T, r.Env.Live.Get(r.Context(), client.ObjectKey{Namespace: r.stack.Namespace, Name: "net-1"}, run))
	return run
}

// TestStaleRunDoesNotReplaceTheCurrentRun checks a former leader whose view of the Stack is newer than that of its
// Runs: the status does not return to the Run that ended.
func TestStaleRunDoesNotReplaceTheCurrentRun(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	old := firstRun(r).DeepCopy()
	r.ends("net-1", v1alpha1.PhaseFailed)
	r.Seen(r.stack)
	r.stack.Spec.Variables = []v1alpha1.Variable{{Name: "size", Value: &apiextensionsv1.JSON{Raw: []byte("1")}}}
	apiserver.Must(t, r.Env.Client.Update(t.Context(), r.stack))
	r.Seen(r.stack)
	named := *r.Reconciler
	named.Client = noNewRuns{r.Env.Client}
	if _, err := named.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(r.stack)}); err ==
		nil {
		t.Fatal("a Run was created")
	}
	r.Seen(r.stack)
	behind := *r.Reconciler
	behind.Reserved = NewReserved() // another process
	behind.Client = withRuns{r.Env.Client, []v1alpha1.Run{*old}}
	_, err := behind.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(r.stack)})
	apiserver.Must(t, err)
	r.expect("Unknown", "Running", "net-1 net-3 ")
	if s := r.stack.Status; s.CurrentRun != "net-3" || s.LastRun != "net-3" {
		t.Errorf("the status names %s, and %s as the last", s.CurrentRun, s.LastRun)
	}
}

// TestLateRunOfAFormerLeaderIsIgnored checks a Run that a former leader creates after its successor reserved the next
// one and a user deleted that.
func TestLateRunOfAFormerLeaderIsIgnored(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	before := r.stack.DeepCopy()
	r.Seen(r.stack)
	r.stack.Status.CurrentRun, r.stack.Status.LastRun = "net-2", "net-2"
	apiserver.Must(t, r.Env.Client.Status().Patch(t.Context(), r.stack, client.MergeFrom(before)))
	r.Seen(r.stack)
	r.reconcile()
	r.expect("Unknown", "Running", "net-1 ")
	if s := r.stack.Status; s.CurrentRun != "" || s.LastRun != "net-2" {
		t.Errorf("the status names %q, and %s as the last", s.CurrentRun, s.LastRun)
	}
	r.ends("net-1", v1alpha1.PhaseSuperseded)
	r.reconcile()
	r.expect("Unknown", "Running", "net-1 net-3 ")
}

// noNewRuns is a client that cannot create a Run.
type noNewRuns struct{ client.Client }

func (c noNewRuns) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	if _, ok := o.(*v1alpha1.Run); ok {
		return errors.New("the operator ends here")
	}
	return c.Client.Create(ctx, o, opts...)
}

// withRuns is a client whose cache has these Runs.
type withRuns struct {
	client.Client
	runs []v1alpha1.Run
}

func (c withRuns) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if all, ok := list.(*v1alpha1.RunList); ok {
		all.Items = c.runs
		return nil
	}
	return c.Client.List(ctx, list, opts...)
}
