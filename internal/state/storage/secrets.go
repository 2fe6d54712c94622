package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
)

const (
	chunkKey = "chunk"
	// listPage is how many Secrets are listed at a time.
	listPage = 500
	// together is how many Secrets are read or written at a time.
	together = 4
)

// errOccupied means that a Secret of the wanted name has other content, or is being deleted.
var errOccupied = errors.New("a Secret of that name exists with other content")

// putSecrets keeps the chunks of a version. Chunks that are there already, from a try that came to no end, are used.
func (s *Versions) putSecrets(
	ctx context.Context, key types.NamespacedName, v v1alpha1.StateVersion, chunks [][]byte,
) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(together)
	for i, chunk := range chunks {
		g.Go(func() error { return s.putSecret(ctx, key, secretName(key.Name, v, i), chunk) })
	}
	return g.Wait()
}

// putSecret stores one chunk. The Secret has no owner, so that it is not garbage-collected with one, and a
// finalizer, so that a deletion of it or of its namespace cannot remove a state that Cairn still needs.
func (s *Versions) putSecret(ctx context.Context, key types.NamespacedName, name string, chunk []byte) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: name, Labels: labels(key.Name), Finalizers: []string{v1alpha1.Finalizer},
		},
		Type:      SecretType,
		Immutable: ptr.To(true),
		Data:      map[string][]byte{chunkKey: chunk},
	}
	err := s.Client.Create(ctx, secret)
	if !apierrors.IsAlreadyExists(err) {
		return wrap("write", key.Namespace, name, err)
	}
	there := &corev1.Secret{}
	if err := s.Live.Get(ctx, client.ObjectKeyFromObject(secret), there); err != nil {
		return wrap("read", key.Namespace, name, err)
	}
	if there.Type != SecretType || there.DeletionTimestamp != nil || !bytes.Equal(there.Data[chunkKey], chunk) {
		return fmt.Errorf("state Secret %s/%s: %w", key.Namespace, name, errOccupied)
	}
	return nil
}

// getSecrets reads the chunks of a version.
func (s *Versions) getSecrets(ctx context.Context, key types.NamespacedName, v v1alpha1.StateVersion) ([]byte, error) {
	chunks := make([][]byte, v.Chunks)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(together)
	for i, name := range secretNames(key.Name, v) {
		g.Go(func() error {
			secret := &corev1.Secret{}
			err := s.Live.Get(ctx, types.NamespacedName{Namespace: key.Namespace, Name: name}, secret)
			chunks[i] = secret.Data[chunkKey]
			return wrap("read", key.Namespace, name, err)
		})
	}
	err := g.Wait()
	return bytes.Join(chunks, nil), err
}

// DeleteSecrets deletes Secrets. It ignores those that are gone already.
func (s *Versions) DeleteSecrets(ctx context.Context, namespace string, names []string) error {
	var g errgroup.Group
	g.SetLimit(together)
	for _, name := range names {
		g.Go(func() error {
			secret := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
			secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
			patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
			err := s.Client.Patch(ctx, secret, patch)
			if err == nil {
				err = s.Client.Delete(ctx, secret)
			}
			return wrap("delete", namespace, name, client.IgnoreNotFound(err))
		})
	}
	return g.Wait()
}

// ListSecrets names all Secrets that hold versions of a state, also those that never counted. Soon is the list that the
// API server has at hand, which may lack what is new: for a true one it can take it a tenth of a second to be sure.
func (s *Versions) ListSecrets(ctx context.Context, key types.NamespacedName, soon bool) ([]string, error) {
	var found []string
	raw := &metav1.ListOptions{}
	if soon {
		raw.ResourceVersion = "0"
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	for {
		err := s.Live.List(ctx, list, client.InNamespace(key.Namespace), client.MatchingLabels(labels(key.Name)),
			client.Limit(listPage), client.Continue(list.Continue), &client.ListOptions{Raw: raw})
		if err != nil {
			return nil, fmt.Errorf("list Secrets of state %s: %w", key, err)
		}
		for _, secret := range list.Items {
			if _, ours := versionOf(key.Name, secret.Name); ours {
				found = append(found, secret.Name)
			}
		}
		if list.Continue == "" {
			return found, nil
		}
	}
}

func wrap(what, namespace, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s Secret %s/%s: %w", what, namespace, name, err)
}
