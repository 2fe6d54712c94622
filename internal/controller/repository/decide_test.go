package repository

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// newSnapshot is a Snapshot with a Repository that was fetched a minute ago; the options change it.
func newSnapshot(options ...func(*Snapshot)) Snapshot {
	w := Snapshot{
		Now: now,
		Repository: &v1alpha1.Repository{
			ObjectMeta: metav1.ObjectMeta{Name: "infra", Generation: 2, UID: "uid"},
			Spec: v1alpha1.RepositorySpec{
				URL: "https://git.example.com/infra.git", Ref: "main",
				Interval: &metav1.Duration{Duration: 5 * time.Minute}, Timeout: &metav1.Duration{Duration: time.Minute},
			},
		},
		Ask:     Ask{Generation: 2},
		Last:    &Fetch{Ask: Ask{Generation: 2}, At: now.Add(-time.Minute), Took: time.Second},
		Refs:    []v1alpha1.RefStatus{{Name: "main", Revision: "main@sha1:1f3c2ab000"}},
		Subject: "Widen the subnet",
	}
	for _, o := range options {
		o(&w)
	}
	return w
}

func never(w *Snapshot)    { w.Last, w.Refs = nil, nil }
func fetching(w *Snapshot) { w.Fetching = true }
func before(w *Snapshot) {
	w.Repository.Status.LastFetch = &v1alpha1.FetchStatus{FinishedAt: metav1.NewTime(now)}
}
func later(d time.Duration) func(*Snapshot) {
	return func(w *Snapshot) { w.Now = now.Add(d) }
}
func failed(reason string, times int) func(*Snapshot) {
	return func(w *Snapshot) { w.Last.Reason, w.Last.Message, w.Last.Failures = reason, "what git said", times }
}

func TestDecide(t *testing.T) {
	tests := map[string]struct {
		snapshot Snapshot
		fetch    bool
		ready    metav1.ConditionStatus
		reason   string
		message  string
		stalled  bool
		requeue  time.Duration
	}{
		"a new Repository is fetched": {snapshot: newSnapshot(never), fetch: true,
			ready: "Unknown", reason: "Fetching", message: "the first fetch of https://"},
		"a running first fetch is not repeated": {snapshot: newSnapshot(never, fetching),
			ready: "Unknown", reason: "Fetching"},
		"a new process fetches and keeps the status": {snapshot: newSnapshot(never, before), fetch: true},
		"missing credentials stop the fetch": {snapshot: newSnapshot(never, func(w *Snapshot) {
			w.Problem = &Problem{Reason: "CredentialsNotFound", Message: "Secret x"}
		}), ready: "False", reason: "CredentialsNotFound", stalled: true},
		"a fetched Repository is ready": {snapshot: newSnapshot(), ready: "True",
			reason: "Fetched", message: "main@1f3c2ab Widen the subnet", requeue: 4*time.Minute - jitterOf()},
		"the next fetch starts after the interval": {snapshot: newSnapshot(later(4 * time.Minute)),
			fetch: true},
		"the condition is kept during a fetch": {snapshot: newSnapshot(later(9*time.Minute),
			fetching)},
		"a missing Secret for webhooks is reported": {snapshot: newSnapshot(func(w *Snapshot) {
			w.WebhookProblem = "webhooks are denied: Secret hook was not found"
		}), ready: "True", reason: "Fetched", message: "Widen the subnet; webhooks are denied: Secret hook " +
			"was not found", requeue: 4*time.Minute - jitterOf()},
		"an interval of 0 waits for a request": {snapshot: newSnapshot(later(9*time.Hour), func(w *Snapshot) {
			w.Repository.Spec.Interval.Duration = 0
		}), ready: "True", reason: "Fetched"},
		"a changed spec starts a fetch": {snapshot: newSnapshot(func(w *Snapshot) {
			w.Ask.Generation = 3
		}), fetch: true},
		"changed credentials start a fetch": {snapshot: newSnapshot(failed("AuthenticationFailed", 1),
			func(w *Snapshot) {
				w.Ask.Credentials = "uid/2"
			}), fetch: true},
		"a request starts a fetch": {snapshot: newSnapshot(func(w *Snapshot) {
			w.Ask.Request = "now"
		}), fetch: true},
		"a commit outside of branches starts a fetch": {snapshot: newSnapshot(func(w *Snapshot) {
			w.Ask.Commits = "1f3c"
		}), fetch: true},
		"a failure is reported and retried soon": {snapshot: newSnapshot(failed("Unreachable", 3), func(w *Snapshot) {
			w.Last.At = now
		}), ready: "False", reason: "Unreachable", message: "what git said", requeue: 40 * time.Second},
		"a failure is retried": {snapshot: newSnapshot(failed("Unreachable", 1)),
			fetch: true},
		"a failure is retried at most every 5m": {snapshot: newSnapshot(failed("Unreachable", 60)),
			ready: "False", reason: "Unreachable", requeue: 4 * time.Minute},
		"a failure is retried at least once in the interval": {snapshot: newSnapshot(failed("Unreachable", 60),
			func(w *Snapshot) {
				w.Repository.Spec.Interval.Duration = 90 * time.Second
			}), ready: "False", reason: "Unreachable", requeue: 30 * time.Second},
		"a mirror that is too large is retried after an hour": {snapshot: newSnapshot(failed("MirrorTooLarge", 1)),
			ready: "False", reason: "MirrorTooLarge", stalled: true, requeue: 59 * time.Minute},
		"a failure that only a user can correct": {snapshot: newSnapshot(failed("HostKeyUnknown", 9)),
			ready: "False", reason: "HostKeyUnknown", stalled: true, requeue: 4 * time.Minute},
		"a missing ref is reported": {snapshot: newSnapshot(func(w *Snapshot) {
			w.Refs[0].Revision = ""
		}), ready: "False", reason: "RefNotFound", message: "no branch, tag or commit main", stalled: true,
			requeue: 4*time.Minute - jitterOf()},
		"a missing default branch is reported": {snapshot: newSnapshot(func(w *Snapshot) {
			w.Repository.Spec.Ref, w.Refs = "", []v1alpha1.RefStatus{{Name: Head}}
		}), ready: "False", reason: "RefNotFound", message: "no default branch", stalled: true,
			requeue: 4*time.Minute - jitterOf()},
		"a missing ref of a Stack does not affect the Repository": {snapshot: newSnapshot(func(w *Snapshot) {
			w.Refs = append(w.Refs, v1alpha1.RefStatus{Name: "v9"})
		}), ready: "True", reason: "Fetched", requeue: 4*time.Minute - jitterOf()},
		"a commit that is not found is retried every 5m": {snapshot: newSnapshot(func(w *Snapshot) {
			w.Unknown, w.Repository.Spec.Interval.Duration = true, time.Hour
		}), ready: "True", reason: "Fetched", requeue: 4 * time.Minute},
		"and without an interval": {snapshot: newSnapshot(func(w *Snapshot) {
			w.Unknown, w.Repository.Spec.Interval.Duration = true, 0
		}), ready: "True", reason: "Fetched", requeue: 4 * time.Minute},
		"but not later than the interval": {snapshot: newSnapshot(func(w *Snapshot) {
			w.Unknown = true
		}), ready: "True", reason: "Fetched", requeue: 4*time.Minute - jitterOf()},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := Decide(tt.snapshot)
			if !strings.Contains(d.Message, tt.message) {
				t.Errorf("message %q does not contain %q", d.Message, tt.message)
			}
			d.Message = ""
			want := Decision{Fetch: tt.fetch, Ready: tt.ready, Reason: tt.reason, Stalled: tt.stalled,
				RequeueAfter: tt.requeue}
			if diff := cmp.Diff(want, d); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func jitterOf() time.Duration { return -jitter(newSnapshot().Repository, 5*time.Minute) }

func TestJitter(t *testing.T) {
	seen := map[time.Duration]bool{}
	for _, uid := range []string{"a", "b", "c", "d", "e"} {
		j := jitter(&v1alpha1.Repository{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)}}, time.Hour)
		if j > 0 || j < -6*time.Minute {
			t.Errorf("%s: %s", uid, j)
		}
		seen[j] = true
	}
	if len(seen) < 5 {
		t.Errorf("%d values of 5", len(seen))
	}
}

// A fetch that finds all as it was is not written down; one with new commits is, and so are a failure and its end.
func TestStatusSettles(t *testing.T) {
	w := newSnapshot(func(w *Snapshot) { w.Last.Moved = true })
	pass := func() v1alpha1.RepositoryStatus {
		w.Repository.Status = status(w, Decide(w))
		return w.Repository.Status
	}
	first := pass()
	if first.LastFetch == nil || first.Refs[0].Revision != "main@sha1:1f3c2ab000" {
		t.Fatalf("%+v", first)
	}
	w.Last = &Fetch{Ask: w.Ask, At: now.Add(time.Hour), Took: time.Minute}
	w.Now = now.Add(time.Hour)
	if diff := cmp.Diff(first, pass()); diff != "" {
		t.Errorf("a fetch that found nothing was written down:\n%s", diff)
	}

	w.Last = &Fetch{Ask: w.Ask, At: now.Add(2 * time.Hour), Reason: "Unreachable", Message: "away", Failures: 1}
	w.Now = now.Add(2 * time.Hour)
	bad := pass()
	if !bad.LastFetch.FinishedAt.Time.Equal(now.Add(2*time.Hour)) || apimeta.IsStatusConditionTrue(bad.Conditions,
		v1alpha1.ConditionReady) {
		t.Errorf("%+v", bad)
	}
	if diff := cmp.Diff(first.Refs, bad.Refs); diff != "" {
		t.Errorf("the last good state is not kept:\n%s", diff)
	}
	w.Last = &Fetch{Ask: w.Ask, At: now.Add(3 * time.Hour), Reason: "Unreachable", Message: "away", Failures: 2}
	if diff := cmp.Diff(bad, pass()); diff != "" {
		t.Errorf("the same failure was written down again:\n%s", diff)
	}
	w.Last = &Fetch{Ask: w.Ask, At: now.Add(4 * time.Hour)}
	if good := pass(); !good.LastFetch.FinishedAt.Time.Equal(now.Add(4 * time.Hour)) {
		t.Errorf("%+v", good)
	}
}

func TestAllows(t *testing.T) {
	r := &v1alpha1.Repository{ObjectMeta: metav1.ObjectMeta{Namespace: "platform"}}
	r.Spec.AllowedNamespaces = []string{"team-a"}
	for namespace, want := range map[string]bool{"platform": true, "team-a": true, "team-b": false, "team": false,
		"": false} {
		if got := Allows(r, namespace); got != want {
			t.Errorf("%q: %t", namespace, got)
		}
	}
	r.Spec.AllowedNamespaces = []string{"*"}
	if !Allows(r, "team-b") {
		t.Error("* does not name all")
	}
}
