package snapshot

import (
	"context"
	"errors"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/stack/decision"
	statedecision "cairn.dev/cairn/internal/state/decision"
)

// journals are States whose journal is asked for.
type journals struct {
	err   error
	asked int
}

func (j *journals) Unsaved(context.Context, client.ObjectKey) ([]string, error) {
	j.asked++
	return []string{"aws_vpc.a"}, j.err
}

func (j *journals) Promote(context.Context, client.ObjectKey) error {
	j.asked++
	return j.err
}

func TestGatherUnsaved(t *testing.T) {
	boom := errors.New("the bucket is away")
	for name, tt := range map[string]struct {
		world      decision.Snapshot
		err        error
		asked      int
		unreadable string
		fails      error
	}{
		"of a state without resources":                          {deletedStack(new(int32(0)), false), nil, 1, "", nil},
		"not of one with some":                                  {deletedStack(new(int32(3)), false), nil, 0, "", nil},
		"of one that its engine encrypts, once it is destroyed": {deletedStack(new(int32(-1)), false), nil, 1, "", nil},
		"not when all stays as it is":                           {deletedStack(new(int32(0)), true), nil, 0, "", nil},
		"what cannot be read is told":                           {deletedStack(new(int32(0)), false), fmt.Errorf("read: %w", &statedecision.Rejection{Message: "damaged"}), 1, "damaged", nil},
		"what may pass is tried again":                          {deletedStack(new(int32(0)), false), boom, 1, "", boom},
	} {
		j := &journals{err: tt.err}
		g := &Gatherer{StateReader: j}
		if err := g.gatherUnsaved(t.Context(), &tt.world); !errors.Is(err, tt.fails) || j.asked != tt.asked || tt.world.StateUnreadable != tt.unreadable {
			t.Errorf("%s: %v, asked %d, %q", name, err, j.asked, tt.world.StateUnreadable)
		}
	}
}

// Before a Stack without a State goes, what the bucket knows of it is put back: Kubernetes may have forgotten it.
func TestWhatIsForgottenCountsBeforeAStackGoes(t *testing.T) {
	boom := errors.New("the bucket is away")
	refused := func(reason statedecision.Reason) error {
		return &statedecision.Rejection{Reason: reason, Message: "refused"}
	}
	for name, tt := range map[string]struct {
		world      decision.Snapshot
		err        error
		asked      int
		unreadable string
		fails      error
	}{
		"none":                                   {deletedStack(nil, false), nil, 1, "", nil},
		"not when all stays as it is":            {deletedStack(nil, true), nil, 0, "", nil},
		"what cannot be read is told":            {deletedStack(nil, false), refused(statedecision.Damaged), 1, "refused", nil},
		"what another Stack left is not its own": {deletedStack(nil, false), refused(statedecision.Stale), 1, "", nil},
		"what may pass is tried again":           {deletedStack(nil, false), boom, 1, "", boom},
	} {
		j := &journals{err: tt.err}
		g := &Gatherer{StateReader: j}
		if err := g.promote(t.Context(), &tt.world); !errors.Is(err, tt.fails) || j.asked != tt.asked || tt.world.StateUnreadable != tt.unreadable {
			t.Errorf("%s: %v, asked %d, %q", name, err, j.asked, tt.world.StateUnreadable)
		}
	}
	w := deletedStack(new(int32(3)), false)
	w.State.Status.Version = 1
	g := &Gatherer{StateReader: &journals{err: refused(statedecision.Stale)}}
	if err := g.promote(t.Context(), &w); err != nil || w.StateUnreadable != "refused" {
		t.Errorf("a state that went its own way: %v, %q", err, w.StateUnreadable)
	}
}

// deletedStack returns a snapshot of a Stack that is being deleted, with a State unless resources is nil.
func deletedStack(resources *int32, orphan bool) decision.Snapshot {
	w := decision.Snapshot{Stack: &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: "net"}}}
	if orphan {
		w.Stack.Spec.DeletionPolicy = v1alpha1.DeletionOrphan
	}
	if resources != nil {
		w.State = &v1alpha1.State{Status: v1alpha1.StateStatus{Version: 1, Resources: *resources}}
	}
	return w
}

// A Run that a former leader created late has to end before the next one, without a question to the API server.
func TestALateRunIsALeftover(t *testing.T) {
	w := decision.Snapshot{Stack: &v1alpha1.Stack{}, LateRun: "net-1"}
	if err := (&Gatherer{}).GatherLeftover(t.Context(), &w); err != nil || w.Leftover != (decision.Leftover{Run: "net-1"}) {
		t.Errorf("%+v, %v", w.Leftover, err)
	}
}
