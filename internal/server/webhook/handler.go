// Package webhook handles the webhooks of Git providers.
package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/tracing"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/source/gitprovider"
)

const (
	// largest body. It is GitHub's limit; the others send less.
	largest = 25 << 20
	// small is how much of a body is read before it needs a slot: an unauthenticated client may send it as slowly as
	// headers, of which there may be as much, and so blocks no other. Few pushes are larger.
	small = 64 << 10
	// mostLarge is how many bodies larger than small are read at a time: a client is not authenticated before its body
	// is read.
	mostLarge = 4
	// retryAfter is the Retry-After of transient failures.
	retryAfter = 10 * time.Second
)

// ErrUnknown is returned for a Repository that does not exist.
var ErrUnknown = errors.New("no such Repository")

// Options of a Handler. All are required, except where they have a default.
type Options struct {
	// Secrets that the webhooks of a Repository may be signed with; ErrUnknown when there is no such Repository. The
	// names are from the request's path, and may be anything.
	Secrets func(ctx context.Context, namespace, repository string) ([][]byte, error)
	// RequestFetch has a Repository fetched soon. It does not wait for the fetch.
	RequestFetch func(ctx context.Context, namespace, repository string, e gitprovider.Event) error
	// Log gets a line for each webhook at debug, and what Secrets and RequestFetch could not do at warn. Neither a body
	// nor a signature is ever in it.
	Log *slog.Logger
	// Record is called for each webhook: with the Git provider, empty when it is not signed by one, and the result, one
	// of the Result constants. Nil records nothing.
	Record func(provider, result string)
	// Now is the clock that signatures are checked by; nil means the real one.
	Now func() time.Time
	// Timeout of a request; 0 means 8 s, since Git providers wait for 10.
	Timeout time.Duration
	// Concurrent is how many requests are worked on at once; 0 means 16. At most 4 of them have a large body, which may
	// take 25 MiB of memory, and some more.
	Concurrent int
}

// What becomes of a webhook.
const (
	// ResultAccepted: the Repository is woken.
	ResultAccepted = "accepted"
	// ResultIgnored: it is an event that needs no fetch.
	ResultIgnored = "ignored"
	// ResultRejected: it is not signed with a secret of the Repository, or not what a Git provider sends.
	ResultRejected = "rejected"
	// ResultBusy: there were too many at once.
	ResultBusy = "busy"
	// ResultFailed: the secrets could not be read, or the Repository not be woken.
	ResultFailed = "failed"
)

// Handler takes webhooks at POST /hooks/{namespace}/{repository}.
//
//	202  a push, or an event of a pull request: the Repository is woken
//	200  a ping, or another event
//	401  not signed with a secret of the Repository, or there is no such Repository: the response is the same
//	400  validly signed, and not what a Git provider sends; 405, 413, 415 as usual
//	429  too many requests at once
//	503  Secrets or RequestFetch failed: the Git provider should try again
type Handler struct {
	Options
	mux *http.ServeMux
	// slots are of those that are worked on, whose body is there; large of those whose body is larger than most.
	slots, large chan struct{}
	decoy        [][]byte
}

// New creates a Handler.
func New(o Options) *Handler {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Record == nil {
		o.Record = func(string, string) {}
	}
	o.Timeout = cmp.Or(o.Timeout, 8*time.Second)
	h := &Handler{
		Options: o,
		mux:     http.NewServeMux(),
		slots:   make(chan struct{}, cmp.Or(o.Concurrent, 16)),
		large:   make(chan struct{}, min(cmp.Or(o.Concurrent, 16), mostLarge)),
		decoy:   [][]byte{[]byte(rand.Text())},
	}
	h.mux.HandleFunc("POST /hooks/{namespace}/{repository}", h.limited)
	return h
}

// ServeHTTP answers a request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.mux.ServeHTTP(w, r) }

// limited works on a request for so long.
func (h *Handler) limited(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), h.Timeout)
	defer cancel()
	// A connection that cannot have a deadline is not the server's, and its own server has to limit it.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(h.Timeout))
	h.receive(w, r.WithContext(ctx))
}

// errBusy means that there are too many concurrent requests.
var errBusy = errors.New("too many webhooks at once")

// tryAcquire takes a slot if one is free. The returned function releases it.
func tryAcquire(slots chan struct{}) (leave func(), err error) {
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, nil
	default:
		return nil, errBusy
	}
}

// read reads the body, and takes a place to work on it once it is there. The returned function releases both.
func (h *Handler) read(w http.ResponseWriter, r *http.Request) (body []byte, leave func(), err error) {
	from := http.MaxBytesReader(w, r.Body, largest)
	outside := func() {}
	var read bytes.Buffer
	if _, err = io.CopyN(&read, from, small); err == nil {
		if outside, err = tryAcquire(h.large); err != nil {
			return nil, nil, err
		}
		_, err = read.ReadFrom(from)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		outside()
		return nil, nil, err
	}
	inside, err := tryAcquire(h.slots)
	if err != nil {
		outside()
		return nil, nil, err
	}
	return read.Bytes(), func() { inside(); outside() }, nil
}

func (h *Handler) receive(w http.ResponseWriter, r *http.Request) {
	at, result := h.Now(), ResultRejected
	var event gitprovider.Event
	defer func() { h.Record(event.Provider, result) }()
	namespace, repository := r.PathValue("namespace"), r.PathValue("repository")
	log := h.Log.With("namespace", namespace, "repository", repository)
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != gitprovider.JSONType &&
		kind != gitprovider.FormType {
		answer(w, http.StatusUnsupportedMediaType, "send "+gitprovider.JSONType)
		return
	}
	body, leave, err := h.read(w, r)
	var large *http.MaxBytesError
	switch {
	case errors.Is(err, errBusy):
		result = ResultBusy
		answer(w, http.StatusTooManyRequests, err.Error())
		return
	case errors.As(err, &large):
		answer(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("more than %d bytes", large.Limit))
		return
	case err != nil:
		answer(w, http.StatusBadRequest, "the body did not arrive")
		return
	}
	defer leave()
	event, err = h.verify(r, namespace, repository, body)
	switch {
	case errors.Is(err, ErrUnknown), errors.Is(err, gitprovider.ErrUnsigned), errors.Is(err, gitprovider.ErrSignature):
		log.Debug("webhook refused", "reason", err.Error())
		answer(w, http.StatusUnauthorized, "not signed with a secret of such a Repository")
	case errors.Is(err, gitprovider.ErrBody):
		log.Debug("webhook refused", "reason", gitprovider.ErrBody.Error())
		answer(w, http.StatusBadRequest, gitprovider.ErrBody.Error())
	case err != nil:
		result = ResultFailed
		log.Warn("webhook not checked", "error", err)
		answer(w, http.StatusServiceUnavailable, "try again")
	default:
		log.Debug("webhook", "provider", event.Provider, "event", event.Kind, "ref", event.Ref, "delivery",
			event.Delivery)
		event.At = at
		result = h.take(w, r, log, namespace, repository, event)
	}
}

// verify does the same for a Repository that does not exist, or that has no secret, as for one that exists: so its
// duration does not distinguish them.
func (h *Handler) verify(r *http.Request, namespace, repository string, body []byte) (gitprovider.Event, error) {
	secrets, err := h.Secrets(r.Context(), namespace, repository)
	switch {
	case err != nil && !errors.Is(err, ErrUnknown):
		return gitprovider.Event{}, fmt.Errorf("get the secrets: %w", err)
	case err == nil && !slices.ContainsFunc(secrets, func(s []byte) bool { return len(s) > 0 }):
		err = gitprovider.ErrUnsigned
	}
	if err != nil {
		secrets = h.decoy
	}
	event, wrong := gitprovider.Verify(r.Header, body, secrets, h.Now())
	if err != nil {
		return gitprovider.Event{}, err
	}
	return event, wrong
}

// take requests what a webhook that is signed well is for, and returns the result. One that is sent again requests
// another fetch: the ID of a delivery is not signed, and a fetch that finds nothing new costs a request.
func (h *Handler) take(
	w http.ResponseWriter, r *http.Request, log *slog.Logger, namespace, repository string, event gitprovider.Event,
) string {
	if event.Ping {
		answer(w, http.StatusOK, "pong")
		return ResultIgnored
	}
	if !event.NeedsFetch() {
		answer(w, http.StatusOK, "nothing to do for this event")
		return ResultIgnored
	}
	if err := h.RequestFetch(r.Context(), namespace, repository, event); err != nil {
		log.Warn("repository not woken", "error", err)
		answer(w, http.StatusServiceUnavailable, "try again")
		return ResultFailed
	}
	answer(w, http.StatusAccepted, "accepted")
	return ResultAccepted
}

func answer(w http.ResponseWriter, code int, text string) {
	if code == http.StatusServiceUnavailable || code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", strconv.Itoa(int(retryAfter.Seconds())))
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	fmt.Fprintln(w, text)
}

// Repositories receives the webhooks of the cluster's Repositories, and requests a fetch for each event that needs one.
// All fields are required, except where they have a default.
type Repositories struct {
	// Cache has the Repositories.
	Cache client.Reader
	// Client reads the Secrets of webhooks, and requests fetches.
	Client client.Client
	// Record counts each webhook, as Options.Record does; nil records nothing.
	Record func(provider, result string)
	// Traces get a span for each push; nil for none.
	Traces *tracing.Tracer
	// Log gets a line for each request at debug, and its errors at warn.
	Log *slog.Logger
}

// Handler receives webhooks at POST /hooks/{namespace}/{repository}.
func (r Repositories) Handler() *Handler {
	return New(Options{Secrets: r.secrets, RequestFetch: r.requestFetch, Record: r.Record, Log: r.Log})
}

// secrets are those that a Git provider may sign the webhooks of a Repository with. ErrUnknown when it names no Secret
// that exists.
func (r Repositories) secrets(ctx context.Context, namespace, name string) ([][]byte, error) {
	repo := &v1alpha1.Repository{}
	err := r.Cache.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, repo)
	if apierrors.IsNotFound(err) || (err == nil && repo.Spec.Webhook == nil) {
		return nil, ErrUnknown
	}
	if err != nil {
		return nil, err
	}
	var secret corev1.Secret
	err = r.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: repo.Spec.Webhook.Secret.Name}, &secret)
	if apierrors.IsNotFound(err) {
		return nil, ErrUnknown
	}
	if err != nil {
		return nil, err
	}
	secrets, _ := repository.WebhookSecrets(repo.Spec.Webhook, secret.Data) // the Repository reports a problem
	return secrets, nil
}

// requestFetch requests a fetch as a user can. The contents of the event are not trusted: the fetch reads the remote.
func (r Repositories) requestFetch(ctx context.Context, namespace, name string, event gitprovider.Event) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.RequestedAtAnnotation,
		time.Now().UTC().Format(time.RFC3339Nano))
	repo := &v1alpha1.Repository{}
	repo.Namespace, repo.Name = namespace, name
	if err := r.Client.Patch(ctx, repo, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("request a fetch after the %s of %s: %w", event.Kind, event.Provider, err)
	}
	r.trace(ctx, namespace, name, event)
	return nil
}

// trace sends a span for the commit of a push, if Stacks read from its branch or tag: then a fetch of it follows, and
// continues the trace.
func (r Repositories) trace(ctx context.Context, namespace, name string, event gitprovider.Event) {
	repo := &v1alpha1.Repository{}
	if !r.Traces.On() || event.Commit == "" || r.Cache.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name},
		repo) != nil || !repository.IsRead(repo, event.Ref) {
		return
	}
	root := tracing.Commit(string(repo.UID), event.Commit)
	r.Traces.Send(tracing.Span{
		ID: root.Child("webhook", event.Delivery), Parent: root, Name: "webhook", Start: event.At, End: time.Now(),
		Attributes: []attribute.KeyValue{
			attribute.String("cairn.namespace", namespace), attribute.String("cairn.repository", name),
			attribute.String("cairn.git_provider", event.Provider),
		},
	})
}
