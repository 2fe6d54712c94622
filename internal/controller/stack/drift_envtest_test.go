//go:build envtest

package stack

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/massdrift"
	"cairn.dev/cairn/test/apiserver"
)

func checked(every time.Duration) func(*v1alpha1.StackSpec) {
	return func(s *v1alpha1.StackSpec) { s.Drift = &v1alpha1.Drift{Interval: &metav1.Duration{Duration: every}} }
}

// failingCreates is a client whose Create returns an error.
type failingCreates struct {
	client.Client
	err error
}

func (c failingCreates) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	if _, ok := o.(*v1alpha1.Run); ok {
		return c.err
	}
	return c.Client.Create(ctx, o, opts...)
}

// TestDriftCheckIsRecordedBeforeItIsCreated checks that the status names a drift check before the Run exists, so that a
// crash between the two creates exactly one Run.
func TestDriftCheckIsRecordedBeforeItIsCreated(t *testing.T) {
	r := newEmptyTestEnv(t).withStack("net", checked(time.Hour))
	r.setState(1, nil)
	r.finishFirstApply()
	r.expectNoRun("net-2")

	waits, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(r.stack)})
	if err != nil || waits.RequeueAfter == 0 {
		t.Fatalf("requeue after %s, %v", waits.RequeueAfter, err)
	}
	due := time.Now().Add(waits.RequeueAfter + time.Second)
	r.Clock = func() time.Time { return due }
	crash := failingCreates{r.Env.Client, errors.New("the process ends here")}
	crashing := *r.Reconciler
	crashing.Client = crash
	_, err = crashing.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(r.stack)})
	if !errors.Is(err, crash.err) {
		t.Errorf("got %v", err)
	}
	r.Seen(r.stack)
	if r.stack.Status.CurrentRun != "net-2" || r.stack.Status.LastRun != "net-2" {
		t.Errorf("the status names %q and %q", r.stack.Status.CurrentRun, r.stack.Status.LastRun)
	}
	r.expectNoRun("net-2")

	r.reconcile()
	r.expect("True", "Applied", "net-1 net-3 ")
	check := r.run("net-3")
	want := v1alpha1.Cause{Type: v1alpha1.CauseDrift, Message: "check for drift, every 60m"}
	if check.Spec.Operation != v1alpha1.OperationPlan || check.Spec.Cause != want ||
		check.Spec.InputsDigest != r.stack.Status.AppliedInputsDigest {
		t.Errorf("the check is %+v", check.Spec)
	}
	r.Seen(check)
	r.reconcile()
	r.expect("True", "Applied", "net-1 net-3 ")

	r.ends("net-3", v1alpha1.PhaseSucceeded) // with changes
	r.reconcile()
	r.expect("False", "Drifted", "net-1 net-3 ")
	if c := apimeta.FindStatusCondition(r.stack.Status.Conditions, v1alpha1.ConditionDrifted); c == nil ||
		c.Status != metav1.ConditionTrue {
		t.Errorf("Drifted is %+v", c)
	}
	if d := r.stack.Status.Drift; d == nil || d.Run != "net-3" || d.Since == nil {
		t.Errorf("the drift is %+v", d)
	}
}

// TestNoDriftCheckWithoutAState checks that no drift check starts before the first apply.
func TestNoDriftCheckWithoutAState(t *testing.T) {
	r := newEmptyTestEnv(t).withStack("net", checked(time.Hour))
	r.finishFirstApply()
	r.Clock = func() time.Time { return time.Now().Add(2 * time.Hour) }
	r.reconcile()
	r.expect("True", "Applied", "net-1 ")
}

// TestInvalidWindowStopsDriftChecks checks that no Run starts while a window cannot be parsed.
func TestInvalidWindowStopsDriftChecks(t *testing.T) {
	r := newEmptyTestEnv(t).withStack("net", func(s *v1alpha1.StackSpec) {
		s.Windows = []v1alpha1.Window{{Kind: v1alpha1.WindowDeny, Schedule: "0 25 * * *",
			Duration: metav1.Duration{Duration: time.Hour}}}
	})
	r.reconcile()
	r.expect("False", "WindowInvalid", "")
	c := apimeta.FindStatusCondition(r.stack.Status.Conditions, v1alpha1.ConditionReady)
	if !strings.Contains(c.Message, "spec.windows[0]") || !apimeta.IsStatusConditionTrue(r.stack.Status.Conditions,
		v1alpha1.ConditionStalled) {
		t.Errorf("got %+v", r.stack.Status.Conditions)
	}
	r.Seen(r.stack)
	r.stack.Spec.Windows[0].Schedule = "0 23 * * *"
	apiserver.Must(t, r.Env.Client.Update(t.Context(), r.stack))
	r.Seen(r.stack)
	r.reconcile()
	r.expect("Unknown", "Running", "net-1 ")
}

// TestDefaultDriftInterval checks a Stack that sets no interval. The first check does not start at once, and nothing is
// written between two checks, also after a restart.
func TestDefaultDriftInterval(t *testing.T) {
	r := newEmptyTestEnv(t).withStack("net", func(s *v1alpha1.StackSpec) {
		s.Drift = &v1alpha1.Drift{OnDrift: v1alpha1.DriftApply}
	})
	off := newEmptyTestEnv(t).withStack("dns", checked(0))
	for _, r := range []*testEnv{r, off} {
		r.Reconciler.DriftInterval = 12 * time.Hour
		r.setState(1, nil)
		r.finishFirstApply()
		r.reconcile()
		r.Seen(r.stack)
	}
	if off.stack.Status.DriftChecks != nil {
		t.Errorf("a Stack without drift checks has %+v", off.stack.Status.DriftChecks)
	}
	announced := r.stack.Status.DriftChecks
	if announced == nil || announced.Interval.Duration != 12*time.Hour ||
		announced.IntervalSource != v1alpha1.IntervalFromInstallation || announced.NextCheckTime == nil {
		t.Fatalf("the status has %+v", announced)
	}
	version := r.stack.ResourceVersion
	for _, before := range []time.Duration{12 * time.Hour, time.Hour, time.Second} {
		at := announced.NextCheckTime.Add(-before)
		r.Clock = func() time.Time { return at }
		if at.Before(time.Now()) {
			continue
		}
		r.reconcile()
		r.Seen(r.stack)
		if r.stack.ResourceVersion != version {
			t.Errorf("%s before the check the status is written: %+v", before, r.stack.Status.DriftChecks)
		}
	}
	r.expectNoRun("net-2")
	r.Clock = func() time.Time { return announced.NextCheckTime.Time }
	r.reconcile()
	if check := r.run("net-2"); check.Spec.Operation != v1alpha1.OperationPlan ||
		check.Spec.Cause.Message != "check for drift, every 12h" {
		t.Errorf("the check is %+v", check.Spec)
	}
	off.Clock = func() time.Time { return time.Now().Add(48 * time.Hour) }
	off.reconcile()
	off.expectNoRun("dns-2")
}

// TestMassDriftPausesCorrections checks that a correction does not start while the namespace is paused, or should be,
// by what the API server has, whatever the cache has.
func TestMassDriftPausesCorrections(t *testing.T) {
	r := newEmptyTestEnv(t).withStack("net", func(s *v1alpha1.StackSpec) {
		s.Drift = &v1alpha1.Drift{Interval: &metav1.Duration{Duration: time.Hour}, OnDrift: v1alpha1.DriftApply}
	})
	r.MassDrift = massdrift.Limits{Percent: 10, Stacks: 3}
	r.setState(1, nil)
	r.finishFirstApply()
	waits, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(r.stack)})
	apiserver.Must(t, err)
	at := time.Now().Add(waits.RequeueAfter + time.Second)
	r.Clock = func() time.Time { return at }
	r.reconcile()
	now := metav1.NewTime(at)
	for _, name := range []string{"a", "b"} {
		other := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: name}}
		other.Spec.Source.Inline = map[string]string{"main.tf": ""}
		r.Make(other)
		other.Status.Drift = &v1alpha1.DriftStatus{CheckedAt: now, Since: &now,
			Starts: []v1alpha1.DriftStart{{Time: now}}}
		apiserver.Must(t, r.Env.Client.Status().Update(t.Context(), other))
		r.Seen(other)
	}
	cached := r.Reconciler.Client
	r.Reconciler.Client = withoutOthers{cached, r.stack.Name}
	r.Seen(r.run("net-2"))
	r.ends("net-2", v1alpha1.PhaseSucceeded) // with changes
	r.reconcile()
	r.expect("False", "Drifted", "net-1 net-2 ")
	r.Seen(r.stack)
	ready := apimeta.FindStatusCondition(r.stack.Status.Conditions, v1alpha1.ConditionReady)
	if !strings.Contains(ready.Message,
		"3 of 3 Stacks of the namespace that were checked began to drift within an hour") {
		t.Errorf("the message is %q", ready.Message)
	}

	// With the pause that another process recorded, which the cache does not have.
	r.MassDrift = massdrift.Limits{}
	pause := &v1alpha1.DriftPause{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.DriftPauseName}}
	r.Make(pause)
	r.Seen(r.stack)
	r.reconcile()
	r.expect("False", "Drifted", "net-1 net-2 ")

	pause.Status.Resumed = &v1alpha1.ResumedDrift{Time: metav1.NewTime(at), By: "alice"}
	apiserver.Must(t, r.Env.Client.Status().Update(t.Context(), pause))
	r.Seen(pause)
	r.MassDrift = massdrift.Limits{Percent: 10, Stacks: 3}
	r.reconcile()
	r.expect("Unknown", "Running", "net-1 net-2 net-3 ")
}

// withoutOthers is a cache that has no other Stack than one, and no DriftPause.
type withoutOthers struct {
	client.Client
	only string
}

func (c withoutOthers) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, ok := o.(*v1alpha1.DriftPause); ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "driftpauses"}, key.Name)
	}
	return c.Client.Get(ctx, key, o, opts...)
}

func (c withoutOthers) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := c.Client.List(ctx, list, opts...)
	if stacks, ok := list.(*v1alpha1.StackList); ok {
		stacks.Items = slices.DeleteFunc(slices.Clone(stacks.Items), func(s v1alpha1.Stack) bool {
			return s.Name != c.only
		})
	}
	return err
}
