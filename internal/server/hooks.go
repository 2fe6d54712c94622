package server

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/gitprovider"
	"cairn.dev/cairn/internal/repository"
	"cairn.dev/cairn/internal/server/webhook"
	"cairn.dev/cairn/internal/tracing"
)

// hookSecrets are what a forge may sign the webhooks of a Repository with: every value of the Secret that it names. None
// are taken for a Repository that names none.
func (s *Web) hookSecrets(ctx context.Context, namespace, name string) ([][]byte, error) {
	repo := &v1alpha1.Repository{}
	err := s.Cache.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, repo)
	if apierrors.IsNotFound(err) || (err == nil && repo.Spec.Webhook == nil) {
		return nil, webhook.ErrUnknown
	}
	if err != nil {
		return nil, err
	}
	var secret corev1.Secret
	err = s.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: repo.Spec.Webhook.Secret.Name}, &secret)
	if apierrors.IsNotFound(err) {
		return nil, webhook.ErrUnknown
	}
	var secrets [][]byte
	for _, key := range slices.Sorted(maps.Keys(secret.Data)) {
		secrets = append(secrets, secret.Data[key])
	}
	return secrets, err
}

// fetchSoon asks for a fetch, as a person could. What the push says is not taken: the remote is asked.
func (s *Web) fetchSoon(ctx context.Context, namespace, name string, push gitprovider.Push) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.RequestedAtAnnotation, time.Now().UTC().Format(time.RFC3339Nano))
	repo := &v1alpha1.Repository{}
	repo.Namespace, repo.Name = namespace, name
	if err := s.Client.Patch(ctx, repo, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("ask for a fetch after the %s of %s: %w", push.Event, push.Provider, err)
	}
	s.trace(ctx, namespace, name, push)
	return nil
}

// trace tells that the commit of a push was heard of, if Stacks read from its branch or tag: then a fetch of it follows, and
// tells what it led to.
func (s *Web) trace(ctx context.Context, namespace, name string, push gitprovider.Push) {
	repo := &v1alpha1.Repository{}
	if !s.Traces.On() || push.Commit == "" || s.Cache.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, repo) != nil || !repository.IsRead(repo, push.Ref) {
		return
	}
	root := tracing.Commit(string(repo.UID), push.Commit)
	s.Traces.Send(tracing.Span{
		ID: root.Child("webhook", push.Delivery), Parent: root, Name: "webhook", Start: push.At, End: time.Now(),
		Attributes: []attribute.KeyValue{
			attribute.String("cairn.namespace", namespace), attribute.String("cairn.repository", name), attribute.String("cairn.git_provider", push.Provider),
		},
	})
}
