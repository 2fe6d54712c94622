package userhandler

import (
	"context"
	"errors"
	"net/http"
	"time"

	"cairn.dev/cairn/internal/server/auth"
	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/userapi"
)

const (
	// gatherChanges is how long changes are gathered before they are told: a Stack at work changes many times a second.
	gatherChanges = 250 * time.Millisecond
	// heartbeat is how often who watches is told that the connection lives. Proxies cut what is silent for a minute.
	heartbeat = 20 * time.Second
)

// resources are the kinds of changes as roles name them.
var resources = map[string]string{"Stack": "stacks", "Run": "runs", "Repository": "repositories", "State": "states"}

// showChanges tells of what becomes of objects that the person may list, as server-sent events: "change", a people.Change; and
// "reset" when it cannot be known what has changed since the place that the browser comes back with, so that all is to be read anew;
// and "beat" where there is nothing else to tell.
func (s *API) showChanges(w http.ResponseWriter, r *http.Request, p auth.User) error {
	ctx, end, err := s.follow(r.Context(), p)
	if err != nil {
		return err
	}
	defer end()
	if err := s.filled(); err != nil {
		return err
	}
	news, leave := s.Catalog.Changes.Subscribe()
	defer leave()
	events := newEventStream(w)
	place := r.Header.Get("Last-Event-ID")
	if place == "" {
		place = r.URL.Query().Get("after")
	}
	if place == "" { // or a change between this and the first look would be missed
		_, place, _ = s.Catalog.Changes.Since("")
		if err := events.send(place, "hello", userapi.Me{Name: p.GetName(), Groups: p.GetGroups()}); err != nil {
			return err
		}
	}
	return s.goOnTelling(ctx, events, p, place, news)
}

// goOnTelling tells what changes from a place on, and that the connection lives: by an event, since a browser keeps comments from the
// page, which could not tell then that nothing changes from a connection that is dead.
func (s *API) goOnTelling(ctx context.Context, events *eventStream, p auth.User, place string, news <-chan struct{}) error {
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
		if place, err = s.tellChanges(ctx, events, p, place); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-beat.C:
			err = events.send("", "beat", struct{}{})
		case <-news:
			select {
			case <-time.After(gatherChanges):
			case <-ctx.Done():
			}
		}
		if err != nil {
			return err
		}
	}
}

// tellChanges tells what changed since a place, and gives the place that this leads to.
func (s *API) tellChanges(ctx context.Context, events *eventStream, p auth.User, place string) (string, error) {
	changes, now, ok := s.Catalog.Changes.Since(place)
	if !ok {
		return now, events.send(now, "reset", struct{}{})
	}
	var seen []userapi.Change
	for _, c := range changes {
		allowed, err := s.Authorizer.CanList(ctx, p, resources[c.Kind], "")
		if err == nil && !allowed {
			allowed, err = s.Authorizer.CanList(ctx, p, resources[c.Kind], c.Namespace)
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
