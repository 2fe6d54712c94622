package userhandler

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cairn.dev/cairn/internal/server/auth"
	"cairn.dev/cairn/internal/server/listing"
)

// A browser passes on no comment of a stream, so the heartbeat has to be an event.
func TestSilentChangeStreamSendsEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*heartbeat+time.Second)
		defer cancel()
		s := New(Options{Catalog: listing.NewCatalog()})
		_, place, _ := s.Catalog.Changes.Since("")
		w := httptest.NewRecorder()
		if err := s.sendChanges(ctx, newEventStream(w), auth.User{}, place, nil); err == nil {
			t.Fatal("there is no end but that of the context")
		}
		if beats := strings.Count(w.Body.String(), "event: beat\ndata: {}\n\n"); beats != 2 ||
			strings.Contains(w.Body.String(), "id:") {
			t.Errorf("%d beats in %q", beats, w.Body.String())
		}
	})
}
