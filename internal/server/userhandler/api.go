// Package userhandler handles the requests of the user API (internal/userapi). Kubernetes decides who a user is and
// what they are allowed.
package userhandler

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"filippo.io/age"
	"golang.org/x/sync/semaphore"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/server/artifact"
	"cairn.dev/cairn/internal/server/auth"
	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/server/httpbackend"
	"cairn.dev/cairn/internal/server/inventory"
	"cairn.dev/cairn/internal/server/listing"
	"cairn.dev/cairn/internal/server/servermetrics"
	"cairn.dev/cairn/internal/server/tenant"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/web"
)

// Options of an API. All are required, except where they have a default.
type Options struct {
	// Users authenticates requests, Authorizer authorizes them, and Namespaces are those that are served.
	Users      *auth.UserAuthenticator
	Authorizer *auth.Authorizer
	Namespaces tenant.Namespaces
	// Client has the scheme and the mapper for Clients of users.
	Client client.Client
	// Live reads past every cache; Cache has the Runs whose logs users follow.
	Live, Cache client.Reader
	// State keeps the states, Bucket the plans, and Logs the logs.
	State  *state.Store
	Bucket *bucket.Bucket
	Logs   *artifact.Logs
	// Identities decrypt states that runners sealed.
	Identities func() []age.Identity
	// Catalog is what users can list.
	Catalog *listing.Catalog
	// Kubernetes is how users' own writes reach the API server; without it they can write only states.
	Kubernetes *rest.Config
	// Events records on a State what a user did to it; nil records nothing.
	Events events.EventRecorder
	// Metrics count what users do; nil for none.
	Metrics *servermetrics.Metrics
	// Log gets a line for each request at debug, its errors at warn, and the audit lines.
	Log *slog.Logger
	// Now is the clock.
	Now func() time.Time
	// Stopping is done once the server stops. It ends what is held open.
	Stopping context.Context
}

// API handles the requests of users: of the CLI, the web UI, and engines outside of the cluster.
type API struct {
	Options
	// memory that users' requests take.
	memory httpbackend.StateMemory
	// inventory has the resources of all states.
	inventory *inventory.Inventory
	// following are the streams of each user, and followers all of them.
	following following
	followers *semaphore.Weighted
}

// New creates an API.
func New(o Options) *API {
	memory := httpbackend.StateMemory{
		Semaphore: tenant.NewSemaphore(userMemory, userPart, httpapi.LargeBody), Catalog: o.Catalog, Live: o.Live,
	}
	return &API{
		Options: o, memory: memory, inventory: inventory.New(o.State, o.Catalog, memory.Semaphore, o.Log),
		followers: semaphore.NewWeighted(mostFollowers),
	}
}

// AddRoutes adds all that browsers use: the user API, sign-in, and the web UI for all other paths.
func (s *API) AddRoutes(mux router) {
	s.addRoutes(mux)
	s.addSignIn(mux)
	for _, path := range []string{"/api/", "/v1/", "/hooks/", "/signin/"} {
		mux.Handle(path, s.handleUnauthenticated(func(_ http.ResponseWriter, r *http.Request) error {
			return httpapi.Errorf(http.StatusNotFound, "there is no %.200s", r.URL.Path)
		}))
	}
	mux.Handle("GET /healthz", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}))
	page := web.Handler()
	mux.Handle("/", page)
	mux.Handle("/signin", page) // or it would be taken for /signin/
}

const (
	// userMemory is how much of users' large states is in memory at a time. It is apart from bodyMemory: a user who
	// pulls or pushes slowly must not keep a runner from saving its state.
	userMemory = 4 * state.MaxSize
	// userPart is how much of it they have for one namespace.
	userPart = 3 * state.MaxSize
)
