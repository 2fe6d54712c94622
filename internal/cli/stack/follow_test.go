package stack

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/session"
)

// untilGets counts how often a Run is read until a condition holds, with an API server whose watch returns these
// results.
func untilGets(t *testing.T, enough int, watches func() (watch.Interface, error)) (gets int, elapsed time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, _, _ := quietStack()
	s.Client = interceptor.NewClient(nil, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			if gets++; gets > 100 {
				cancel()
			}
			return nil
		},
		Watch: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) (watch.Interface,
			error) {
			return watches()
		},
	})
	began := time.Now()
	err := await(ctx, s, &v1alpha1.Run{}, &v1alpha1.RunList{}, client.ObjectKey{Namespace: "ns", Name: "net-1"},
		newProgress(s), func(client.Object, bool) (bool, error) {
			return gets == enough, nil
		})
	if err != nil {
		t.Errorf("read %d times: %v", gets, err)
	}
	return gets, time.Since(began)
}

func TestAwaitWaitsAfterAWatchThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, elapsed := untilGets(t, 5, func() (watch.Interface, error) {
			w := watch.NewFake()
			w.Stop()
			return w, nil
		})
		if elapsed != 4*retryInterval {
			t.Errorf("elapsed: %s", elapsed)
		}
	})
}

// TestAwaitPollsWithoutPermissionToWatch checks a role with get and without watch.
func TestAwaitPollsWithoutPermissionToWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, elapsed := untilGets(t, 5, func() (watch.Interface, error) {
			return nil, apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("runs").GroupResource(), "net-1",
				errors.New("bob cannot watch"))
		})
		if elapsed != 4*pollInterval {
			t.Errorf("elapsed: %s", elapsed)
		}
	})
}

// TestFollowAwaitsTheRecord checks how long follow continues after the end of a Run. A Stack whose status never has the
// end is one without an operator.
func TestFollowAwaitsTheRecord(t *testing.T) {
	for name, tt := range map[string]struct {
		gets  int // of the Stack, until its status has the end; 0: never
		err   error
		phase v1alpha1.RunPhase
		want  time.Duration
		// earlier: the Run is of an earlier Stack of the name.
		earlier bool
	}{
		"another Stack has the name": {phase: v1alpha1.PhaseSucceeded, earlier: true},
		"recorded already":           {gets: 1, phase: v1alpha1.PhaseSucceeded},
		"recorded later":             {gets: 3, phase: v1alpha1.PhaseFailed, want: 2 * retryInterval},
		"never":                      {phase: v1alpha1.PhaseSucceeded, want: recordTimeout},
		"the user may not read Stacks": {phase: v1alpha1.PhaseSucceeded,
			err: apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("stacks").GroupResource(), "net", nil)},
		"the Stack is deleted": {phase: v1alpha1.PhaseSucceeded,
			err: apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("stacks").GroupResource(), "net")},
		"the Run waits for an approval": {phase: v1alpha1.PhaseAwaitingApproval},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _, _ := quietStack()
				gets := 0
				s.Client = interceptor.NewClient(nil, interceptor.Funcs{
					Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, o client.Object,
						_ ...client.GetOption) error {
						switch o := o.(type) {
						case *v1alpha1.Run:
							o.Name, o.Spec.Stack.Name, o.Status.Phase = "net-1", "net", tt.phase
							stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: "net", UID: "stack"}}
							o.OwnerReferences = []metav1.OwnerReference{
								*metav1.NewControllerRef(stack, v1alpha1.GroupVersion.WithKind("Stack"))}
						case *v1alpha1.Stack:
							o.UID = "stack"
							if tt.earlier {
								o.UID = "another"
							}
							o.Status.CurrentRun = "net-1"
							if gets++; gets == tt.gets {
								o.Status.CurrentRun = ""
							}
							return tt.err
						}
						return nil
					},
					Watch: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) (
						watch.Interface, error) {
						w := watch.NewFake()
						w.Stop()
						return w, nil
					},
				})
				run := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Name: "net-1"}}
				began := time.Now()
				run, err := follow(t.Context(), s, run, func(*v1alpha1.Run) bool { return true })
				if elapsed := time.Since(began); err != nil || run.Status.Phase != tt.phase || elapsed != tt.want {
					t.Errorf("%s after %s: %v", run.Status.Phase, elapsed, err)
				}
			})
		})
	}
}

func TestProgress(t *testing.T) {
	s, _, errOut := quietStack()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s.Now = func() time.Time { return now }
	stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: "net"}}
	run := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Name: "net-1"},
		Spec: v1alpha1.RunSpec{Operation: v1alpha1.OperationApply, Cause: v1alpha1.Cause{Message: "new"}}}
	run.Status.Phase = v1alpha1.PhasePlanning
	run.Status.Attempts = []v1alpha1.Attempt{{Number: 1, Phase: v1alpha1.AttemptPlan, Pod: "net-1-plan-1",
		Steps: []v1alpha1.Step{
			{Name: "init", State: v1alpha1.StepRunning, StartedAt: &metav1.MicroTime{Time: now.Add(-3 * time.Second)}},
		}}}
	t.Run("a pending request prints nothing at first", func(t *testing.T) {
		p := newProgress(s)
		p.pending(stack)
		if errOut.Len() > 0 {
			t.Errorf("%q", errOut)
		}
		now = now.Add(pendingDelay)
		p.draw()
		p.draw()
		if diff := cmp.Diff("Stack net: not reconciled yet\n", errOut.String()); diff != "" {
			t.Error(diff)
		}
		now = now.Add(-pendingDelay)
	})
	t.Run("each line is printed once, also when it is followed twice", func(t *testing.T) {
		errOut.Reset()
		for range 2 {
			p := newProgress(s)
			p.run(run)
			p.run(run)
			p.end()
		}
		if diff := cmp.Diff("Run net-1 (Apply): new\nplan in pod net-1-plan-1\n", errOut.String()); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("on a terminal one line is overwritten, and removed at the end", func(t *testing.T) {
		errOut.Reset()
		s.Redraw = true
		p := newProgress(s)
		p.run(run)
		now = now.Add(time.Second)
		p.draw()
		p.end()
		want := "\r\x1b[?7lRun net-1 plans: init 3.0s\x1b[K\x1b[?7h" +
			"\r\x1b[?7lRun net-1 plans: init 4.0s\x1b[K\x1b[?7h" + "\r\x1b[K"
		if diff := cmp.Diff(want, errOut.String()); diff != "" {
			t.Error(diff)
		}
	})
}

// quietStack returns a session whose output can be read, without a terminal.
func quietStack() (s *session.Session, out, errOut *bytes.Buffer) {
	out, errOut = &bytes.Buffer{}, &bytes.Buffer{}
	return session.New(genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: errOut}, "cairn"),
		out, errOut
}
