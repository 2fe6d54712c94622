package webhook

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/gitprovider"
	"cairn.dev/cairn/internal/repository"
	"cairn.dev/cairn/internal/tracing"
)

// Repositories receives the webhooks of the cluster's Repositories, and requests a fetch for each push. All fields are required, except
// where they have a default.
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

// secrets are those that a Git provider may sign the webhooks of a Repository with. ErrUnknown when it names no Secret that exists.
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

// requestFetch requests a fetch as a user can. The contents of the push are not trusted: the fetch reads the remote.
func (r Repositories) requestFetch(ctx context.Context, namespace, name string, push gitprovider.Push) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.RequestedAtAnnotation, time.Now().UTC().Format(time.RFC3339Nano))
	repo := &v1alpha1.Repository{}
	repo.Namespace, repo.Name = namespace, name
	if err := r.Client.Patch(ctx, repo, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("request a fetch after the %s of %s: %w", push.Event, push.Provider, err)
	}
	r.trace(ctx, namespace, name, push)
	return nil
}

// trace sends a span for the commit of a push, if Stacks read from its branch or tag: then a fetch of it follows, and continues the trace.
func (r Repositories) trace(ctx context.Context, namespace, name string, push gitprovider.Push) {
	repo := &v1alpha1.Repository{}
	if !r.Traces.On() || push.Commit == "" || r.Cache.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, repo) != nil || !repository.IsRead(repo, push.Ref) {
		return
	}
	root := tracing.Commit(string(repo.UID), push.Commit)
	r.Traces.Send(tracing.Span{
		ID: root.Child("webhook", push.Delivery), Parent: root, Name: "webhook", Start: push.At, End: time.Now(),
		Attributes: []attribute.KeyValue{
			attribute.String("cairn.namespace", namespace), attribute.String("cairn.repository", name), attribute.String("cairn.git_provider", push.Provider),
		},
	})
}
