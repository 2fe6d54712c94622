// Package endpoint publishes the address of the server, in a ConfigMap that every user of the cluster can read.
package endpoint

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/userapi"
)

const (
	// interval is how often the ConfigMap is checked: CAs change, and a user may have deleted it.
	interval = time.Hour
	// retryInterval is the wait after a failure.
	retryInterval = time.Minute
	timeout       = 10 * time.Second
)

// publishedLabel marks a ConfigMap that Cairn filled and did not create. Its owner, such as Helm, has labels of its own
// there.
const publishedLabel = "cairn.dev/published"

var key = types.NamespacedName{Namespace: userapi.PublicNamespace, Name: userapi.PublicName}

// Publisher writes the ConfigMap. All fields are required, except where they have a default.
type Publisher struct {
	// Client writes the ConfigMap.
	Client client.Client
	// Live reads it from the API server.
	Live client.Reader
	// URL of the server; empty publishes nothing.
	URL string
	// CA returns the CA bundle that the server's certificate is verified with; nil when the certificate is publicly
	// trusted.
	CA func() []byte
	// Log gets failures at warn.
	Log *slog.Logger
}

// Run keeps the ConfigMap up to date until ctx is done.
func (p *Publisher) Run(ctx context.Context) {
	if p.URL == "" {
		return
	}
	for {
		next := interval
		if err := p.publish(ctx); err != nil && ctx.Err() == nil {
			next = retryInterval
			p.Log.Warn("the server's address is not published", "configMap", key.String(), "error", err)
		}
		timer := time.NewTimer(next)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// publish retries after a conflict with another server: during an upgrade that may be an older one, which writes other
// values.
func (p *Publisher) publish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conflict := func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
	return retry.OnError(retry.DefaultBackoff, conflict, func() error { return p.write(ctx) })
}

func (p *Publisher) write(ctx context.Context) error {
	data := map[string]string{userapi.PublicURL: p.URL}
	if p.CA != nil {
		data[userapi.PublicCA] = string(p.CA())
	}
	m := &corev1.ConfigMap{}
	err := p.Live.Get(ctx, key, m)
	switch {
	case apierrors.IsNotFound(err):
		m.ObjectMeta = metav1.ObjectMeta{
			Namespace: key.Namespace, Name: key.Name,
			Labels: map[string]string{v1alpha1.ManagedByLabel: v1alpha1.ManagedBy},
		}
		m.Data = data
		err = p.Client.Create(ctx, m)
	case err == nil && !isOwned(m):
		return fmt.Errorf("the ConfigMap has data and no label %s=%s, so it is not changed", v1alpha1.ManagedByLabel,
			v1alpha1.ManagedBy)
	case err == nil && !maps.Equal(m.Data, data):
		m.Data = data
		if m.Labels == nil {
			m.Labels = map[string]string{}
		}
		m.Labels[publishedLabel] = "true"
		err = p.Client.Update(ctx, m)
	}
	return err
}

// isOwned returns true if Cairn created or filled a ConfigMap, or if it has no data.
func isOwned(m *corev1.ConfigMap) bool {
	return m.Labels[v1alpha1.ManagedByLabel] == v1alpha1.ManagedBy || m.Labels[publishedLabel] != "" ||
		len(m.Data)+len(m.BinaryData) == 0
}
