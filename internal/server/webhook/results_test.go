package webhook

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/source/gitprovider"
)

func TestResultOfEachWebhookIsRecorded(t *testing.T) {
	var recorded []string
	var at time.Time
	var fails error
	h := New(Options{
		Secrets: secretsOf, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return hookTime },
		Record: func(provider, result string) {
			recorded = append(recorded, strings.TrimSpace(provider+" "+result))
		},
		RequestFetch: func(_ context.Context, _, _ string, e gitprovider.Event) error { at = e.At; return fails },
	})
	push := example(t, "github-push")
	send := func(repository, key, event, delivery string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/hooks/team-a/"+repository,
			strings.NewReader(push))
		r.Header = gitHub(key, event, delivery, push)
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	send("infra", hookSecret, "push", "1")
	send("infra", hookSecret, "ping", "2")
	send("infra", "wrong", "push", "3")
	send("broken", hookSecret, "push", "4")
	fails = errors.New("conflict")
	send("infra", hookSecret, "push", "5")
	want := []string{"GitHub accepted", "GitHub ignored", "rejected", "failed", "GitHub failed"}
	if diff := cmp.Diff(want, recorded); diff != "" {
		t.Error(diff)
	}
	if !at.Equal(hookTime) {
		t.Errorf("arrived at %s", at)
	}
}
