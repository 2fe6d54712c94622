package server

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/userapi"
)

const (
	// publishEvery is how often what is published is looked at: authorities change, and somebody may have deleted it.
	publishEvery = time.Hour
	// publishAgain is how soon after it could not be.
	publishAgain = time.Minute
	publishTime  = 10 * time.Second
)

// Public is where people find the server.
type Public struct {
	// URL with https. Example: https://cairn.example.com.
	URL string
	// OwnCA says that the certificate there is the server's own, and not one that everybody trusts.
	OwnCA bool
}

// announce tells people where the server is, in a ConfigMap that everybody may read, until ctx is done.
func (s *Server) announce(ctx context.Context) {
	if s.Public.URL == "" {
		return
	}
	for {
		next := publishEvery
		if err := s.announceOnce(ctx); err != nil && ctx.Err() == nil {
			next = publishAgain
			s.Log.Warn("where people find the server is not published", "configMap", publicKey.String(), "error", err)
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

var publicKey = types.NamespacedName{Namespace: userapi.PublicNamespace, Name: userapi.PublicName}

// announceOnce writes the ConfigMap if it is not as it should be. Of several servers one is faster, and the others look at
// what it wrote: in an upgrade it may have been an older one, that says something else.
func (s *Server) announceOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	faster := func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
	return retry.OnError(retry.DefaultBackoff, faster, func() error { return s.writePublic(ctx) })
}

func (s *Server) writePublic(ctx context.Context) error {
	data := map[string]string{userapi.PublicURL: s.Public.URL}
	if s.Public.OwnCA {
		data[userapi.PublicCA] = string(s.Keys.Bundle())
	}
	m := &corev1.ConfigMap{}
	err := s.Live.Get(ctx, publicKey, m)
	switch {
	case apierrors.IsNotFound(err):
		m.ObjectMeta = metav1.ObjectMeta{
			Namespace: publicKey.Namespace, Name: publicKey.Name, Labels: map[string]string{v1alpha1.ManagedByLabel: v1alpha1.ManagedBy},
		}
		m.Data = data
		err = s.Client.Create(ctx, m)
	case err == nil && !isOurs(m):
		return fmt.Errorf("it is there, with data and without the label %s=%s: it is left alone", v1alpha1.ManagedByLabel, v1alpha1.ManagedBy)
	case err == nil && !maps.Equal(m.Data, data):
		m.Data = data
		if m.Labels == nil {
			m.Labels = map[string]string{}
		}
		m.Labels[publishedLabel] = "true"
		err = s.Client.Update(ctx, m)
	}
	return err
}

// publishedLabel marks the ConfigMap as one that Cairn filled. Who made it has labels of its own there, as Helm does.
const publishedLabel = "cairn.dev/published"

// isOurs says that a ConfigMap was made or filled by Cairn, or is there without data for Cairn to fill.
func isOurs(m *corev1.ConfigMap) bool {
	return m.Labels[v1alpha1.ManagedByLabel] == v1alpha1.ManagedBy || m.Labels[publishedLabel] != "" || len(m.Data)+len(m.BinaryData) == 0
}
