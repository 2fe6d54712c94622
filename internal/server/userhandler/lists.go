package userhandler

import (
	"context"
	"net/http"
	"time"

	"cairn.dev/cairn/internal/base/version"
	"cairn.dev/cairn/internal/lifecycle/kinds"
	"cairn.dev/cairn/internal/server/auth"
	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/server/listing"
	"cairn.dev/cairn/internal/userapi"
)

// addLists adds what users can list, get and watch.
func (s *API) addLists(mux router) {
	for _, k := range kinds.All {
		s.addKind(mux, k)
	}
	mux.Handle("GET /api/v1/resources", s.answerAnyone(httpapi.ShortTimeout, s.listResources))
	mux.Handle("GET /api/v1/namespaces/{namespace}/resources", s.answerAnyone(httpapi.ShortTimeout, s.listResources))
	mux.Handle("GET /api/v1/activity", s.answerAnyone(httpapi.ShortTimeout, s.showActivity))
	mux.Handle("GET /api/v1/changes", s.answerAnyone(httpapi.ShortTimeout, s.showChanges))
	mux.Handle("GET /api/v1/openapi.json", http.HandlerFunc(showOpenAPI))
	mux.Handle("GET /api/v1/me", s.answerAnyone(httpapi.ShortTimeout, showMe))
	mux.Handle("GET /api/v1/version", s.answerAnyone(httpapi.ShortTimeout, showVersion))
}

// addKind adds the lists of a kind, of all namespaces and of one, which are answered from the catalog; its objects and
// their events, which are read from the API server; and what users may do with them.
func (s *API) addKind(mux router, kind kinds.Kind) {
	name, resource := kind.Named().Kind, kind.Named().Resource()
	list := func(w http.ResponseWriter, r *http.Request, p auth.User) error {
		rows, err := s.seenBy(r.Context(), p, mayList(resource), kind, r.PathValue("namespace"))
		if err != nil {
			return err
		}
		page, err := kind.Select(rows, r.URL.Query())
		if err != nil {
			return err
		}
		return httpapi.WriteJSON(w, http.StatusOK, page)
	}
	mux.Handle("GET /api/v1/"+resource, s.answerAnyone(httpapi.ShortTimeout, list))
	mux.Handle("GET /api/v1/namespaces/{namespace}/"+resource, s.answerAnyone(httpapi.ShortTimeout, list))
	get := func(path string, h handler) {
		may := auth.Right{Verb: "get", Resource: resource}
		mux.Handle("GET "+object(resource)+path, s.handleUser(httpapi.ShortTimeout, may, h))
	}
	get("", func(w http.ResponseWriter, r *http.Request, a ask) error {
		o := kind.New()
		if err := s.read(r.Context(), a, name, o); err != nil {
			return err
		}
		return httpapi.WriteJSON(w, http.StatusOK, kind.Detail(o))
	})
	get("/events", func(w http.ResponseWriter, r *http.Request, a ask) error {
		o := kind.New()
		if err := s.read(r.Context(), a, name, o); err != nil {
			return err
		}
		return s.showEvents(w, r, o)
	})
	get("/access", func(w http.ResponseWriter, r *http.Request, a ask) error { return s.showAccess(w, r, a, resource) })
}

func mayList(resource string) auth.Right { return auth.Right{Verb: "list", Resource: resource} }

// seenBy returns the rows of a kind to which a user has a right, such as to list them: of one namespace, or of all.
func (s *API) seenBy(
	ctx context.Context, p auth.User, need auth.Right, kind kinds.Kind, namespace string,
) ([]any, error) {
	if err := s.Catalog.CheckFilled(); err != nil { // half a list must not pass for a whole one
		return nil, err
	}
	// Of any kind: a user of a namespace without objects of this one gets an empty list.
	seen, err := s.Authorizer.VisibleNamespaces(ctx, p, need, namespace, s.Catalog.Namespaces)
	if err != nil {
		return nil, err
	}
	see := func(in string) bool { return (namespace == "" || in == namespace) && seen(in) }
	return s.Catalog.Shelf(kind).All(see), nil
}

// showActivity responds with how many Runs ended in which way, in steps of time.
func (s *API) showActivity(w http.ResponseWriter, r *http.Request, p auth.User) error {
	since, err := span(r, "since", 7*24*time.Hour)
	if err != nil {
		return err
	}
	step, err := span(r, "step", since/56)
	if err != nil {
		return err
	}
	runs, err := s.seenBy(r.Context(), p, mayList("runs"), kinds.Runs, r.URL.Query().Get("namespace"))
	if err != nil {
		return err
	}
	activity, err := listing.Activity(kinds.Typed[userapi.Run](runs), s.Now(), since, step)
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, activity)
}

// span reads how long, from the query.
func span(r *http.Request, name string, otherwise time.Duration) (time.Duration, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return otherwise, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, &kinds.BadQuery{Parameter: name, Message: "it is no time above zero, as in 24h"}
	}
	return d, nil
}

// showMe responds with the user's name and groups.
func showMe(w http.ResponseWriter, _ *http.Request, p auth.User) error {
	me := userapi.Me{Name: p.GetName(), Groups: p.GetGroups()}
	if p.Real != nil {
		me.Real = p.Real.GetName()
	}
	return httpapi.WriteJSON(w, http.StatusOK, me)
}

// showVersion needs authentication: who searches for servers of a version learns nothing.
func showVersion(w http.ResponseWriter, _ *http.Request, _ auth.User) error {
	return httpapi.WriteJSON(w, http.StatusOK, userapi.Build{Version: version.Version})
}
