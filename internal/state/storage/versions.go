// Package storage stores the bytes of states' versions, in Secrets or in the bucket. Which version counts is not
// decided here.
package storage

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/internal/state/document"
)

// chunkSize is how many bytes go into one Secret.
const chunkSize = 900 << 10

// Bucket stores bytes under names; *bucket.Bucket is one.
type Bucket interface {
	Put(ctx context.Context, key string, data []byte) error
	PutOnce(ctx context.Context, key string, data []byte) error
	Get(ctx context.Context, key string, limit int64) ([]byte, error)
	Read(ctx context.Context, key string) (io.ReadCloser, error)
	List(ctx context.Context, dir string) ([]string, error)
	Delete(ctx context.Context, key string) error
	DeletePrefix(ctx context.Context, dir string) error
}

// Versions stores the bytes of the versions of states, in Secrets or in the bucket.
type Versions struct {
	Client client.Client
	// Live reads without a cache.
	Live   client.Reader
	Bucket Bucket
	// Storage of new versions.
	Storage v1alpha1.StateStorage
	// SecretLimit is the compressed size above which a version is stored in the bucket.
	SecretLimit int
	Log         *slog.Logger
}

// Put stores the bytes of a version that does not count yet, and returns where. If a Secret cannot be written, for
// lack of quota or in a namespace that is being deleted, the bucket stores it, so that no state is lost.
func (s *Versions) Put(
	ctx context.Context, key types.NamespacedName, v v1alpha1.StateVersion, data []byte,
) (v1alpha1.StateVersion, error) {
	packed, err := Pack(data)
	if err != nil {
		return v, fmt.Errorf("compress state %s: %w", key, err)
	}
	if s.Storage == v1alpha1.StateStorageSecret && len(packed) <= s.SecretLimit {
		chunks := split(packed, chunkSize)
		v.Storage, v.Chunks = v1alpha1.StateStorageSecret, int32(len(chunks))
		err := s.putSecrets(ctx, key, v, chunks)
		if err == nil || !isPermanent(err) {
			return v, err
		}
		s.Log.Warn("a state goes to the bucket, as its Secrets cannot be written",
			"namespace", key.Namespace, "stack", key.Name, "error", err)
	}
	v.Storage, v.Chunks = v1alpha1.StateStorageBucket, 0
	return v, s.Bucket.PutOnce(ctx, bucketKey(key, v), packed)
}

// isPermanent reports whether Secrets are rejected for a reason that a retry does not change.
func isPermanent(err error) bool {
	return errors.Is(err, errOccupied) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err) ||
		apierrors.IsRequestEntityTooLargeError(err)
}

// Get reads the bytes of a version and verifies its digest.
func (s *Versions) Get(ctx context.Context, key types.NamespacedName, v v1alpha1.StateVersion) ([]byte, error) {
	var packed []byte
	var err error
	if v.Storage == v1alpha1.StateStorageBucket {
		packed, err = s.Bucket.Get(ctx, bucketKey(key, v), document.MaxSize+1<<20)
	} else {
		packed, err = s.getSecrets(ctx, key, v)
	}
	if apierrors.IsNotFound(err) || bucket.IsLost(err) {
		return nil, damaged(key, v, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read version %d of state %s: %w", v.Version, key, err)
	}
	data, err := Unpack(packed, v)
	if err != nil {
		return nil, damaged(key, v, err)
	}
	return data, nil
}

func damaged(key types.NamespacedName, v v1alpha1.StateVersion, err error) error {
	place := "bucket object " + bucketKey(key, v)
	if v.Storage != v1alpha1.StateStorageBucket {
		place = "Secrets " + strings.Join(secretNames(key.Name, v), ", ")
	}
	return decision.Reject(decision.Damaged, "version %[1]d of state %[2]s is damaged (%[3]s): %[4]v. Go back "+
		"to an older version with cairn state rollback %[5]s VERSION, or push a copy with cairn state push %[5]s "+
		"FILE --force",
		v.Version, key, place, err, key.Name)
}

// packers are kept for the next state, since one takes most of a megabyte.
var packers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// Pack compresses a state. Equal states result in equal bytes.
func Pack(data []byte) ([]byte, error) {
	var packed bytes.Buffer
	w := packers.Get().(*gzip.Writer)
	defer packers.Put(w)
	w.Reset(&packed)
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// Unpack returns the state of a version, in one piece of memory. Other bytes are an error.
func Unpack(packed []byte, v v1alpha1.StateVersion) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	if v.Size < 0 || v.Size > document.MaxSize {
		return nil, fmt.Errorf("the version has %d bytes", v.Size)
	}
	var data bytes.Buffer
	data.Grow(int(v.Size) + bytes.MinRead)
	if _, err := data.ReadFrom(io.LimitReader(r, v.Size+1)); err != nil {
		return nil, err
	}
	if got := document.Digest(data.Bytes()); got != v.SHA256 {
		return nil, fmt.Errorf("the bytes are %s, the version is %s", got, v.SHA256)
	}
	return data.Bytes(), nil
}

// Decompress returns what Pack compressed, if it has at most so many bytes.
func Decompress(packed []byte, most int64) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("it has more than %d bytes", most)
	}
	return data, err
}

// split cuts packed bytes into chunks that fit a Secret each.
func split(packed []byte, size int) [][]byte {
	var chunks [][]byte
	for len(packed) > size {
		chunks, packed = append(chunks, packed[:size]), packed[size:]
	}
	return append(chunks, packed)
}

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

// Found is a version whose Secrets exist, whatever the State names.
type Found struct {
	Version int64
	// digest is the start of the SHA256 that is in their names.
	digest string
	chunks int32
}

// Find returns the versions of a state that are in Secrets, oldest first. It omits those of which a Secret is missing.
func (s *Versions) Find(ctx context.Context, key types.NamespacedName) ([]Found, error) {
	names, err := s.ListSecrets(ctx, key, false)
	if err != nil {
		return nil, err
	}
	return foundIn(key.Name, names), nil
}

// Read returns the state of a version that Find returned. A Rejection means that its Secrets are damaged.
func (s *Versions) Read(ctx context.Context, key types.NamespacedName, f Found) ([]byte, error) {
	packed, err := s.getSecrets(ctx, key, f.version())
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	var data []byte
	if err == nil {
		data, err = Decompress(packed, document.MaxSize)
	}
	if got := shortDigest(document.Digest(data)); err == nil && got != f.digest {
		err = fmt.Errorf("the bytes are %s, the version is %s", got, f.digest)
	}
	if err != nil {
		return nil, decision.Reject(decision.Damaged, "version %d of state %s is damaged (Secrets %s): %v. Restore "+
			"them from a backup, or push a copy with cairn state push %s FILE --force",
			f.Version, key, strings.Join(secretNames(key.Name, f.version()), ", "), err, key.Name)
	}
	return data, nil
}

// Has reports whether the names of the version's Secrets have the digest of data.
func (f Found) Has(data []byte) bool { return f.digest == shortDigest(document.Digest(data)) }

func (f Found) version() v1alpha1.StateVersion {
	return v1alpha1.StateVersion{Version: f.Version, SHA256: f.digest, Chunks: f.chunks}
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
