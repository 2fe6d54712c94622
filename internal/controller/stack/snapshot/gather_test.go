package snapshot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stack/decision"
	statedecision "cairn.dev/cairn/internal/state/decision"
)

// journals are States that count the reads of their journal.
type journals struct {
	err   error
	reads int
}

func (j *journals) Unsaved(context.Context, client.ObjectKey) ([]string, error) {
	j.reads++
	return []string{"aws_vpc.a"}, j.err
}

func (j *journals) Promote(context.Context, client.ObjectKey) error {
	j.reads++
	return j.err
}

func TestGatherUnsaved(t *testing.T) {
	errUnavailable := errors.New("the bucket is unavailable")
	for name, tt := range map[string]struct {
		snapshot   decision.Snapshot
		err        error
		reads      int
		unreadable string
		fails      error
	}{
		"a state without resources": {deletedStack(new(int32(0)), false), nil, 1, "", nil},
		"a state with resources":    {deletedStack(new(int32(3)), false), nil, 0, "", nil},
		"an encrypted state":        {deletedStack(new(int32(-1)), false), nil, 1, "", nil},
		"deletion policy Orphan":    {deletedStack(new(int32(0)), true), nil, 0, "", nil},
		"damaged": {deletedStack(new(int32(0)), false),
			fmt.Errorf("read: %w", &statedecision.Rejection{Message: "damaged"}), 1, "damaged", nil},
		"transient error": {deletedStack(new(int32(0)), false), errUnavailable, 1, "", errUnavailable},
	} {
		j := &journals{err: tt.err}
		g := &Gatherer{StateReader: j}
		if err := g.gatherUnsaved(t.Context(), &tt.snapshot); !errors.Is(err, tt.fails) || j.reads != tt.reads ||
			tt.snapshot.StateUnreadable != tt.unreadable {
			t.Errorf("%s: %v, %d reads, %q", name, err, j.reads, tt.snapshot.StateUnreadable)
		}
	}
}

// TestStateIsRestoredFromTheBucketBeforeDeletion checks a deleted Stack without a State: the State may be lost in
// Kubernetes while the bucket has it.
func TestStateIsRestoredFromTheBucketBeforeDeletion(t *testing.T) {
	errUnavailable := errors.New("the bucket is unavailable")
	rejected := func(reason statedecision.Reason) error {
		return &statedecision.Rejection{Reason: reason, Message: "rejected"}
	}
	for name, tt := range map[string]struct {
		snapshot   decision.Snapshot
		err        error
		reads      int
		unreadable string
		fails      error
	}{
		"none":                   {deletedStack(nil, false), nil, 1, "", nil},
		"deletion policy Orphan": {deletedStack(nil, true), nil, 0, "", nil},
		"damaged":                {deletedStack(nil, false), rejected(statedecision.Damaged), 1, "rejected", nil},
		// see below
		"the State of another Stack": {deletedStack(nil, false), rejected(statedecision.Stale), 1, "", nil},
		"transient error":            {deletedStack(nil, false), errUnavailable, 1, "", errUnavailable},
	} {
		j := &journals{err: tt.err}
		g := &Gatherer{StateReader: j}
		if err := g.promote(t.Context(), &tt.snapshot); !errors.Is(err, tt.fails) || j.reads != tt.reads ||
			tt.snapshot.StateUnreadable != tt.unreadable {
			t.Errorf("%s: %v, %d reads, %q", name, err, j.reads, tt.snapshot.StateUnreadable)
		}
	}
	w := deletedStack(nil, false)
	other := &Gatherer{StateReader: &journals{err: rejected(statedecision.Stale)}}
	if err := other.promote(t.Context(), &w); err != nil || w.UnclaimedState != "rejected" {
		t.Errorf("the State of another Stack: %v, %q", err, w.UnclaimedState)
	}
	w = deletedStack(new(int32(3)), false)
	w.State.Status.Version = 1
	g := &Gatherer{StateReader: &journals{err: rejected(statedecision.Stale)}}
	if err := g.promote(t.Context(), &w); err != nil || w.StateUnreadable != "rejected" {
		t.Errorf("a state of another lineage: %v, %q", err, w.StateUnreadable)
	}
}

// deletedStack returns a snapshot of a Stack that is being deleted, with a State unless resources is nil.
func deletedStack(resources *int32, orphan bool) decision.Snapshot {
	w := decision.Snapshot{Stack: &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: "net"}}}
	if orphan {
		w.Stack.Spec.DeletionPolicy = v1alpha1.DeletionOrphan
	}
	if resources != nil {
		w.State = &v1alpha1.State{
			Status: v1alpha1.StateStatus{Version: 1, Resources: v1alpha1.ResourceCount(*resources)}}
	}
	return w
}

// TestLateRunIsALeftover checks that a Run which a former leader created late has to end before the next one, without a
// request to the API server.
func TestLateRunIsALeftover(t *testing.T) {
	w := decision.Snapshot{Stack: &v1alpha1.Stack{}, LateRun: "net-1"}
	if err := (&Gatherer{}).GatherLeftover(t.Context(), &w); err != nil ||
		w.Leftover != (decision.Leftover{Run: "net-1"}) {
		t.Errorf("%+v, %v", w.Leftover, err)
	}
}

// TestStateOfAnEarlierStackIsReadAgain checks a cache that has a State from before the Stack applied it.
func TestStateOfAnEarlierStackIsReadAgain(t *testing.T) {
	w := decision.Snapshot{
		Stack: &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{UID: "now"}},
		State: &v1alpha1.State{Status: v1alpha1.StateStatus{StackUID: "before"}},
	}
	none := interceptor.NewClient(nil, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, o client.Object,
			_ ...client.GetOption) error {
			return apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("states").GroupResource(), "net")
		},
	})
	if err := (&Gatherer{Live: none}).GatherLeftover(t.Context(), &w); err != nil || w.State != nil {
		t.Errorf("%+v, %v", w.State, err)
	}
}

func TestIgnoredEnvNamesWhatTheEngineDoesNotGet(t *testing.T) {
	stack := &v1alpha1.Stack{}
	for _, name := range []string{"AWS_REGION", "TF_WORKSPACE", "TF_HTTP_ADDRESS"} {
		stack.Spec.Env = append(stack.Spec.Env, corev1.EnvVar{Name: name})
	}
	want := []string{
		"TF_WORKSPACE (set spec.workspace of the Stack)", "TF_HTTP_ADDRESS (Cairn keeps the state; a backend of the " +
			"engine is set in spec.backend)",
	}
	if got := ignoredEnv(stack); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	stack.Spec.Backend = &v1alpha1.Backend{FromCode: true} // which may be of type http
	if got := ignoredEnv(stack); !slices.Equal(got, want[:1]) {
		t.Errorf("with a backend of the engine: %q", got)
	}
}
