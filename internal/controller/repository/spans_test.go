package repository

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/tracing"
)

func withRefs(revisions ...string) *v1alpha1.Repository {
	r := &v1alpha1.Repository{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "infra", UID: "uid"}}
	for i := 0; i+1 < len(revisions); i += 2 {
		r.Status.Refs = append(r.Status.Refs, v1alpha1.RefStatus{Name: revisions[i], Revision: revisions[i+1]})
	}
	return r
}

func TestEachFetchedCommitIsTheRootOfATrace(t *testing.T) {
	at := time.Date(2026, 11, 21, 6, 0, 10, 0, time.UTC)
	before := withRefs("HEAD", "main@sha1:aa", "v1", "v1@sha1:cc", "gone", "gone@sha1:dd")
	after := withRefs("HEAD", "main@sha1:bb", "main", "main@sha1:bb", "v1", "v1@sha1:cc", "new", "new@sha1:ee",
		"gone", "")
	fetch := &Fetch{Ask: Ask{Request: "2026-11-21T06:00:07.5Z"}, At: at, Took: 2 * time.Second}
	got := spans(before, after, fetch)
	if len(got) != 2 || got[0].ID != tracing.Commit("uid", "bb") || got[1].Parent != got[0].ID ||
		got[0].Parent != (tracing.ID{}) {
		t.Fatalf("got %+v", got)
	}
	if commit, fetch := got[0].End.Sub(got[0].Start), got[1].End.Sub(got[1].Start); commit != 2500*time.Millisecond ||
		fetch != 2*time.Second {
		t.Errorf("from the request on %s, the fetch %s", commit, fetch)
	}
	// that one was for an earlier fetch
	before.Status.LastHandledRequest = &v1alpha1.HandledRequest{Value: fetch.Request}
	if got := spans(before, after, fetch); got[0].Start != got[1].Start {
		t.Errorf("begins %s before the fetch", got[1].Start.Sub(got[0].Start))
	}
	for name, none := range map[string][]tracing.Span{
		"before the first fetch":    spans(before, after, nil),
		"a fetch that failed":       spans(before, after, &Fetch{Reason: "Timeout", At: at}),
		"a fetch that moved no ref": spans(after, after, fetch),
		"the first refs":            spans(withRefs(), after, fetch),
	} {
		if len(none) > 0 {
			t.Errorf("%s: %+v", name, none)
		}
	}
}

func TestWebhookRefsIncludeThoseOfStacks(t *testing.T) {
	repo := withRefs("HEAD", "main@sha1:aa", "v1", "v1@sha1:cc", "gone", "", "0123", "sha1:0123")
	for ref, want := range map[string]bool{
		"refs/heads/main": true, "refs/tags/v1": true, "refs/heads/other": false, "refs/heads/gone": false, "": false,
		"refs/heads/": false,
	} {
		if got := IsRead(repo, ref); got != want {
			t.Errorf("%q: %v", ref, got)
		}
	}
}

func TestMetricsCountFetchesAndReportTheOldest(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := NewMirrors(t.TempDir())
	m.Metrics = NewMetrics(registry)
	registry.MustRegister(m)
	m.Metrics.count(&Fetch{Took: time.Second})
	m.Metrics.count(&Fetch{Took: time.Second, Reason: "Timeout"})
	m.all["a"] = &mirror{fetched: time.Unix(300, 0)}
	m.all["b"] = &mirror{fetched: time.Unix(200, 0)}
	m.all["c"] = &mirror{} // never asked for
	m.all["a"].key.Namespace, m.all["b"].key.Namespace, m.all["c"].key.Namespace = "prod", "prod", "dev"
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, s := range f.Metric {
			if s.Histogram == nil {
				got[f.GetName()+" "+s.Label[0].GetValue()] = s.Counter.GetValue() + s.Gauge.GetValue()
			}
		}
	}
	want := map[string]float64{
		"cairn_repository_fetches_total Fetched": 1, "cairn_repository_fetches_total Timeout": 1,
		"cairn_repository_oldest_fetch_timestamp_seconds prod": 200,
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %v, want %v", name, got[name], value)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %v", got)
	}
}
