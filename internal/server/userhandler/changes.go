package userhandler

import (
	"context"
	"errors"
	"net/http"
	"time"

	"cairn.dev/cairn/internal/lifecycle/kinds"
	"cairn.dev/cairn/internal/server/auth"
	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/userapi"
)

const (
	// gatherChanges is how long changes are gathered after some were sent: a Stack at work changes many times a second.
	// The first one is sent at once.
	gatherChanges = 250 * time.Millisecond
	// heartbeat is how often a heartbeat is sent. Proxies end connections that are silent for a minute.
	heartbeat = 20 * time.Second
)

// showChanges sends changes of objects that the user may list, as server-sent events: "change", a userapi.Change; and
// "reset" when the changes since the event that the browser continues from are not known, so that it has to read all
// again; and "beat" without a change.
func (s *API) showChanges(w http.ResponseWriter, r *http.Request, p auth.User) error {
	ctx, end, err := s.follow(r.Context(), p)
	if err != nil {
		return err
	}
	defer end()
	if err := s.Catalog.CheckFilled(); err != nil {
		return err
	}
	news, leave := s.Catalog.Changes.Subscribe()
	defer leave()
	events := newEventStream(w)
	place := r.Header.Get("Last-Event-ID")
	if place == "" {
		place = r.URL.Query().Get("after")
	}
	if place == "" { // or a change between this and the first read would be missed
		_, place, _ = s.Catalog.Changes.Since("")
		if err := events.send(place, "hello", userapi.Me{Name: p.GetName(), Groups: p.GetGroups()}); err != nil {
			return err
		}
	}
	return s.sendChanges(ctx, events, p, place, news)
}

// sendChanges sends what changes from a place on, and heartbeats: as events, since a browser hides comments from the
// web UI, which could then not distinguish a quiet connection from a dead one.
func (s *API) sendChanges(ctx context.Context, events *eventStream, p auth.User, place string,
	news <-chan struct{}) error {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for asked := time.Now(); ; {
		var err error
		if time.Since(asked) > askAgain { // what they may list is asked each time
			asked = time.Now()
			var no *httpapi.Error
			if err := s.Users.Revalidate(ctx, p); errors.As(err, &no) && no.Code == http.StatusUnauthorized {
				return err
			}
		}
		if place, err = s.sendChangesSince(ctx, events, p, place); err != nil {
			return err
		}
		sent := time.Now()
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-beat.C:
			err = events.send("", "beat", struct{}{})
		case <-news:
			select {
			case <-time.After(time.Until(sent.Add(gatherChanges))):
			case <-ctx.Done():
			}
		}
		if err != nil {
			return err
		}
	}
}

// sendChangesSince sends what changed since a place, and returns the place that this leads to.
func (s *API) sendChangesSince(ctx context.Context, events *eventStream, p auth.User, place string) (string, error) {
	changes, now, ok := s.Catalog.Changes.Since(place)
	if !ok {
		return now, events.send(now, "reset", struct{}{})
	}
	var seen []userapi.Change
	for _, c := range changes {
		kind, ok := kinds.Named(c.Kind)
		if !ok {
			continue
		}
		resource := kind.Named().Resource()
		allowed, err := s.Authorizer.CanList(ctx, p, resource, "")
		if err == nil && !allowed {
			allowed, err = s.Authorizer.CanList(ctx, p, resource, c.Namespace)
		}
		if err != nil {
			return place, err
		}
		if allowed {
			seen = append(seen, c)
		}
	}
	for i, c := range seen {
		id := "" // who is cut off in the middle gets all of them again
		if i == len(seen)-1 {
			id = now
		}
		if err := events.send(id, "change", c); err != nil {
			return place, err
		}
	}
	return now, nil
}
