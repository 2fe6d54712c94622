//go:build envtest

package driftpause

import (
	"fmt"
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/massdrift"
	"cairn.dev/cairn/test/apiserver"
)

func TestMain(m *testing.M) { apiserver.Main(m, "../../../charts/cairn/files/crds") }

// env is the reconciler of DriftPauses on a real API server.
type env struct {
	apiserver.Env
	*Reconciler
	events *events.FakeRecorder
	key    client.ObjectKey
	now    time.Time
}

func newEnv(t *testing.T) *env {
	e := &env{Env: apiserver.New(t), events: events.NewFakeRecorder(100), now: time.Now().Truncate(time.Second)}
	e.Reconciler = &Reconciler{
		Client: e.Env.Client, Limits: massdrift.Limits{Percent: 10, Stacks: 5}, Events: e.events,
		Clock: func() time.Time {
			return e.now
		},
	}
	return e
}

// drifts writes a Stack that began to drift now.
func (e *env) drifts(t *testing.T, name string) {
	t.Helper()
	s := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: name}}
	s.Spec.Source.Inline = map[string]string{"main.tf": ""}
	if err := e.Env.Live.Get(t.Context(), client.ObjectKey{Namespace: e.key.Namespace, Name: name}, s); err != nil {
		e.Make(s)
	}
	e.key = client.ObjectKey{Namespace: s.Namespace, Name: v1alpha1.DriftPauseName}
	at := metav1.NewTime(e.now)
	s.Status.Drift = &v1alpha1.DriftStatus{CheckedAt: at, Since: &at, Starts: []v1alpha1.DriftStart{{Time: at}}}
	apiserver.Must(t, e.Env.Client.Status().Update(t.Context(), s))
	e.Seen(s)
}

// reconcile returns the DriftPause after a reconcile, nil if there is none, and the number of its version.
func (e *env) reconcile(t *testing.T) *v1alpha1.DriftPause {
	t.Helper()
	_, err := e.Reconcile(t.Context(), ctrl.Request{NamespacedName: e.key})
	apiserver.Must(t, err)
	p := &v1alpha1.DriftPause{}
	if err := e.Env.Live.Get(t.Context(), e.key, p); err != nil {
		return nil
	}
	e.Seen(p)
	return p
}

func (e *env) resume(t *testing.T, p *v1alpha1.DriftPause, since metav1.Time) {
	t.Helper()
	p.Spec.Resume = &v1alpha1.DriftResume{Since: since, By: "alice"}
	apiserver.Must(t, e.Env.Client.Update(t.Context(), p))
	e.Seen(p)
}

func TestAPauseLastsUntilAUserResumes(t *testing.T) {
	e := newEnv(t)
	for i := range 4 {
		e.drifts(t, fmt.Sprint("s", i))
	}
	if p := e.reconcile(t); p != nil {
		t.Fatalf("four Stacks pause the corrections: %+v", p.Status)
	}
	e.drifts(t, "s4")
	p := e.reconcile(t)
	if p == nil || !massdrift.Paused(p) || p.Status.Drifted != 5 || p.Status.Checked != 5 {
		t.Fatalf("five Stacks: %+v", p)
	}
	ready := apimeta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady)
	if ready.Reason != v1alpha1.ReasonMassDrift || !strings.Contains(ready.Message, "cairn drift resume -n "+
		e.key.Namespace) {
		t.Errorf("the condition is %+v", ready)
	}
	// Nothing is written while nothing happens, and the pause outlasts the hour and the day.
	version := p.ResourceVersion
	for _, later := range []time.Duration{0, 2 * time.Hour, 48 * time.Hour} {
		e.now = e.now.Add(later)
		if p = e.reconcile(t); p.ResourceVersion != version || !massdrift.Paused(p) {
			t.Errorf("%s later: %+v", later, p.Status)
		}
	}
	// A decision about another pause does not count.
	e.resume(t, p, metav1.NewTime(p.Status.Since.Add(-time.Hour)))
	if p = e.reconcile(t); !massdrift.Paused(p) {
		t.Fatalf("a decision about another pause resumed: %+v", p.Status)
	}
	e.resume(t, p, *p.Status.Since)
	p = e.reconcile(t)
	if massdrift.Paused(p) || p.Status.Resumed.By != "alice" {
		t.Fatalf("after the decision: %+v", p.Status)
	}
	if got := len(e.events.Events); got != 2 {
		t.Errorf("%d events", got)
	}
	// What began to drift until then does not count. Five others do.
	if p = e.reconcile(t); massdrift.Paused(p) {
		t.Fatalf("paused again by the same drift: %+v", p.Status)
	}
	e.now = e.now.Add(time.Minute)
	for i := range 5 {
		e.drifts(t, fmt.Sprint("s", i))
	}
	if p = e.reconcile(t); !massdrift.Paused(p) || p.Spec.Resume == nil {
		t.Errorf("after drift of five others: %+v", p.Status)
	}
}

// A DriftPause without a status, as after the end of the process between two writes, is completed.
func TestAPauseWithoutAStatus(t *testing.T) {
	e := newEnv(t)
	e.drifts(t, "net")
	e.Make(&v1alpha1.DriftPause{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.DriftPauseName}})
	if p := e.reconcile(t); p.Status.Since == nil || !massdrift.Paused(p) {
		t.Errorf("got %+v", p.Status)
	}
}
