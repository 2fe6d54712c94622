//go:build envtest

package server_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/server/pki"
	"cairn.dev/cairn/test/apiserver"
)

// secondHand is an install that may have been used, and whose Secret has been wiped.
type secondHand struct {
	*env
	pki.KeysOptions
	dir  string
	lost *pki.Keys
}

func newSecondHand(t *testing.T) *secondHand {
	t.Helper()
	s := &secondHand{env: newEnv(t), dir: t.TempDir()}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "second-hand-"}}
	must(t, apiserver.Kube.Create(t.Context(), ns))
	s.KeysOptions = s.keysOptions("file://" + s.dir)
	s.Secret.Namespace, s.Namespaces = ns.Name, []string{"not-this-one", ns.Name}
	var err error
	s.lost, err = pki.LoadKeys(t.Context(), s.KeysOptions)
	must(t, err)
	s.wipe()
	return s
}

func (s *secondHand) secret() *corev1.Secret {
	s.Helper()
	secret := &corev1.Secret{}
	must(s.T, apiserver.Kube.Get(s.Context(), s.Secret, secret))
	return secret
}

func (s *secondHand) wipe(keep ...string) {
	s.Helper()
	secret, kept := s.secret(), map[string][]byte{}
	for _, field := range keep {
		kept[field] = secret.Data[field]
	}
	secret.Data = kept
	must(s.T, apiserver.Kube.Update(s.Context(), secret))
}

func (s *secondHand) put(key string) {
	s.Helper()
	b, err := bucket.Open(s.Context(), "file://"+s.dir, s.lost.Bucket())
	must(s.T, err)
	defer b.Close()
	must(s.T, b.Put(s.Context(), key, []byte("x")))
}

func (s *secondHand) state(name string, status v1alpha1.StateStatus) {
	s.Helper()
	must(s.T, apiserver.Kube.Create(s.Context(), &v1alpha1.State{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Secret.Namespace, Name: name}, Status: status,
	}))
}

func keptIn(homes ...v1alpha1.StateStorage) v1alpha1.StateStatus {
	var st v1alpha1.StateStatus
	for i, home := range homes {
		st.Versions = append(st.Versions, v1alpha1.StateVersion{Version: int64(i + 1), SHA256: "sha256:1",
			Storage: home, At: metav1.Now()})
	}
	return st
}

func TestKeysAreNotCreatedForAUsedInstallation(t *testing.T) {
	inSecret, inBucket := v1alpha1.StateStorageSecret, v1alpha1.StateStorageBucket
	for name, tt := range map[string]struct {
		left func(*secondHand)
		// says is why it is refused; empty when it is not.
		says string
	}{
		"nothing is left": {func(*secondHand) {}, ""},
		"a folder of a volume": {func(s *secondHand) {
			must(s.T, os.Mkdir(filepath.Join(s.dir, "lost+found"), 0o700))
		}, ""},
		"an object in the bucket": {func(s *secondHand) { s.put("sources/sha256:1") },
			"sources/sha256:1: put the Secret back from a backup; or, to start without the old data on purpose, " +
				"empty the bucket"},
		"only the identity is gone": {func(s *secondHand) {
			s.put("sources/sha256:1")
			must(s.T, s.lost.Renew(s.Context()))
			s.wipe("fingerprint.key", "ca.crt", "ca.key", "next.crt", "next.key")
		}, "sources/sha256:1"},
		"states in Secrets": {func(s *secondHand) { s.state("net", keptIn(inSecret, inSecret)) }, ""},
		"a state in the bucket": {func(s *secondHand) {
			s.state("net", keptIn(inSecret, inBucket))
		}, "/net, which is in a bucket"},
		"an older one in the bucket": {func(s *secondHand) {
			s.state("net", keptIn(inBucket, inSecret))
		}, "/net, which is in a bucket"},
		"a state that was not written": {func(s *secondHand) { s.state("net", v1alpha1.StateStatus{}) }, ""},
		"a state that was rescued": {func(s *secondHand) {
			s.state("net", v1alpha1.StateStatus{Rescued: &v1alpha1.RescuedState{At: metav1.Now()}})
		}, "/net"},
		"a state on another page": {func(s *secondHand) {
			s.state("a", keptIn(inSecret))
			s.state("b", keptIn(inBucket))
		}, "/b"},
		"another install's namespace": {func(s *secondHand) {
			s.state("net", keptIn(inBucket))
			s.Namespaces = s.Namespaces[:1]
		}, ""},
		"any namespace": {func(s *secondHand) {
			s.state("net", keptIn(inBucket))
			s.Namespaces = nil
		}, "which is in a bucket"},
		"a bucket in memory": {func(s *secondHand) { s.state("net", keptIn(inBucket)); s.BucketURL = "mem://" }, ""},
		"a bucket that is away": {func(s *secondHand) { s.BucketURL = "file:///dev/null/bucket" },
			"whether the bucket was used"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSecondHand(t)
			tt.left(s)
			kube, err := client.NewWithWatch(apiserver.Config, client.Options{Scheme: apiserver.Kube.Scheme()})
			must(t, err)
			s.Client = interceptor.NewClient(kube, interceptor.Funcs{
				List: func(ctx context.Context, c client.WithWatch, list client.ObjectList,
					opts ...client.ListOption) error {
					return c.List(ctx, list, append(opts, client.Limit(1))...)
				},
			})
			_, err = pki.LoadKeys(t.Context(), s.KeysOptions)
			if there := len(s.secret().Data["identity.age"]) > 0; there != (tt.says == "") {
				t.Errorf("an identity was made: %v", there)
			}
			if tt.says == "" {
				must(t, err)
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.says) ||
				!strings.Contains(err.Error(), s.Secret.String()) {
				t.Fatalf("got %v, want it to say %q", err, tt.says)
			}
			// A process that has the keys restores them, and then another one starts.
			s.wipe()
			must(t, s.lost.Renew(t.Context()))
			again, err := pki.LoadKeys(t.Context(), s.KeysOptions)
			must(t, err)
			if again.Recipient() != s.lost.Recipient() {
				t.Error("other keys")
			}
		})
	}
}

// Of two processes that begin an install the slower one may find the bucket used by the faster one.
func TestKeysOfAConcurrentProcessAreUsed(t *testing.T) {
	s := newSecondHand(t)
	kube, err := client.NewWithWatch(apiserver.Config, client.Options{Scheme: apiserver.Kube.Scheme()})
	must(t, err)
	faster := false
	s.Client = interceptor.NewClient(kube, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			if err := c.Get(ctx, key, o, opts...); err != nil || faster {
				return err
			}
			faster = true
			must(t, s.lost.Renew(ctx))
			s.put("sources/sha256:1")
			return nil
		},
	})
	k, err := pki.LoadKeys(t.Context(), s.KeysOptions)
	must(t, err)
	if k.Recipient() != s.lost.Recipient() {
		t.Error("other keys")
	}
}
