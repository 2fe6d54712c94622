// Package runnerhandler handles the requests of the runner API (internal/runnerapi). It does not trust what a request
// claims: the token names the pod, the Run of that pod names what it can access, and everything else is derived from
// that Run or compared with it.
package runnerhandler

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/engine/providers"
	"cairn.dev/cairn/internal/server/artifact"
	"cairn.dev/cairn/internal/server/auth"
	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/server/httpbackend"
	"cairn.dev/cairn/internal/server/listing"
	"cairn.dev/cairn/internal/server/policyeval"
	"cairn.dev/cairn/internal/server/servermetrics"
	"cairn.dev/cairn/internal/server/tenant"
	"cairn.dev/cairn/internal/state"
)

// Options of an API. All are required, except where they have a default.
type Options struct {
	// Pods authenticates tokens, and Namespaces are those that are served.
	Pods       *auth.PodAuthenticator
	Namespaces tenant.Namespaces
	// Client writes Secrets and ConfigMaps.
	Client client.Client
	// Live reads past every cache.
	Live client.Reader
	// Catalog has the sizes of States.
	Catalog *listing.Catalog
	// State keeps the states.
	State *state.Store
	// Bucket keeps sources and plans, and Logs the logs.
	Bucket *bucket.Bucket
	Logs   *artifact.Logs
	// Fingerprint hashes with the installation's key.
	Fingerprint func(message []byte) string
	// Runs, Orders and Reports are the Runs' side.
	Runs    Runs
	Orders  Orders
	Reports Reports
	// Policies are asked about plans.
	Policies *policyeval.Evaluator
	// Inputs returns the document of a Run's inputs.
	Inputs func(ctx context.Context, digest string) (inputs.Document, error)
	// Outputs returns where a Run's outputs are written, and their Stack; nil when they are not written.
	Outputs func(ctx context.Context, run *v1alpha1.Run) (*v1alpha1.Outputs, *v1alpha1.Stack, error)
	// Engines has the engines that an image lacks; nil for none.
	Engines Engines
	// Providers is a mirror of providers; nil for none.
	Providers *providers.Mirror
	// Events records on a State that it moved, and on a Run that the token of its pod was misused; nil records nothing.
	Events events.EventRecorder
	// Metrics count bytes of logs; nil for none.
	Metrics *servermetrics.Metrics
	// Log gets a line for each request at debug, and its errors at warn.
	Log *slog.Logger
	// Stopping is done once the server stops. Runners that wait for an order are then asked to retry, with another
	// process.
	Stopping context.Context
}

// API handles the requests of runners.
type API struct {
	Options
	polls    polls
	sessions *sessions
	progress *progress
	memory   httpbackend.StateMemory
}

// New creates an API.
func New(o Options) *API {
	return &API{Options: o, sessions: newSessions(o.Bucket), progress: newProgress(o.Reports, o.Log),
		memory: httpbackend.StateMemory{
			Semaphore: tenant.NewSemaphore(bodyMemory, bodyPart, httpapi.LargeBody), Catalog: o.Catalog, Live: o.Live,
		}}
}

// Flush writes the reports of runners that are due until ctx is done, and then all that wait.
func (s *API) Flush(ctx context.Context) { s.progress.run(ctx) }

// statePath is where the engines' http protocol is served.
const statePath = "/v1/state"

// AddRoutes adds the runner API, which internal/runnerapi describes.
func (s *API) AddRoutes(mux *http.ServeMux) {
	type handler func(http.ResponseWriter, *http.Request, Caller) error
	from := func(pod sender, pattern string, time time.Duration, meets requirement, h handler) {
		mux.Handle(pattern, s.answer(time, func(w http.ResponseWriter, r *http.Request) (Caller, error) {
			c, err := s.caller(r, pod, meets)
			if err != nil {
				return c, err
			}
			return c, h(w, r, c)
		}))
	}
	handle := func(pattern string, time time.Duration, meets requirement, h handler) {
		from(s.Pods.Authenticate, pattern, time, meets, h)
	}
	mux.Handle("GET /v1/order", s.answer(maxWait+httpapi.ShortTimeout, s.order))
	handle("GET /v1/sources/{digest}", httpapi.LongTimeout, currentOrBuild, s.source)
	handle("GET "+statePath, httpapi.LongTimeout, orHolder(current), s.readState)
	handle("POST "+statePath, httpapi.LongTimeout, owns(orHolder(current)), s.writeState)
	handle("LOCK "+statePath, httpapi.ShortTimeout, owns(current), s.lockState)
	handle("UNLOCK "+statePath, httpapi.ShortTimeout, owns(orHolder(named)), s.unlockState)
	handle("DELETE "+statePath, httpapi.ShortTimeout, owns(orHolder(named)), s.deleteState)
	handle("PUT /v1/backend", httpapi.LongTimeout, owns(current), s.followBackend)
	from(s.Pods.AuthenticateDeleted, "PUT /v1/rescue", httpapi.LongTimeout, owns(orHolder(named)), s.rescueState)
	handle("PUT /v1/plan", httpapi.LongTimeout, current, s.putPlan)
	handle("GET /v1/plan/{digest}", httpapi.LongTimeout, current, s.getPlan)
	handle("PUT /v1/plan/{digest}/document", httpapi.LongTimeout, current, s.putPlanDocument)
	handle("GET /v1/plan/{digest}/json", httpapi.LongTimeout, current, s.getPlanJSON)
	handle("POST /v1/policy/{digest}", httpapi.LongTimeout, current, s.checkPolicy)
	handle("GET /v1/interrupt", maxWait+httpapi.ShortTimeout, currentOrBuild, s.interrupt)
	handle("PUT /v1/inputs", httpapi.ShortTimeout, owns(current), s.keepInputs)
	handle("GET /v1/inputs", httpapi.ShortTimeout, hasStack(current), s.keptInputs)
	handle("GET /v1/outputs/{stack}/{output}", httpapi.LongTimeout, current, s.stackOutput)
	handle("POST /v1/outputs", httpapi.ShortTimeout, owns(current), s.writeOutputs)
	if s.Engines != nil {
		e := engines{from: s.Engines, inputs: s.Inputs}
		handle("GET /v1/engines/{name}", httpapi.LongTimeout, current, e.find)
		handle("GET /v1/engines/{name}/{version}", httpapi.LongTimeout, current, e.program)
	}
	handle("GET /v1/providers/{hostname}/{namespace}/{type}/{file}", httpapi.LongTimeout, current,
		provider(s.Providers))
	from(s.Pods.AuthenticateDeleted, "POST /v1/journal", httpapi.ShortTimeout, owns(named), s.appendJournal)
	handle("GET /v1/journal", httpapi.LongTimeout, current, s.journal)
	handle("POST /v1/steps", httpapi.ShortTimeout, named, s.report)
	handle("POST /v1/logs", httpapi.ShortTimeout, logging, s.appendLog)
	handle("POST /v1/operations", httpapi.ShortTimeout, logging, s.appendOperations)
}
