// Package pki manages the keys of an installation: its certificate authority, serving certificates, and encryption
// keys.
package pki

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"filippo.io/age"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
)

// renewEvery is how often the Secret is read again, to find what another process or a user wrote and to create what is
// due. bucketgc relies on it: all processes write with a new identity after it.
const renewEvery = time.Minute

// renewLast is how long the reading at the end may take.
const renewLast = 5 * time.Second

// Keys are the secrets of an installation, stored in one Secret in Cairn's namespace. Without it the contents of the
// bucket are lost: include it in backups.
type Keys struct {
	client client.Client
	secret types.NamespacedName
	used   used
	now    func() time.Time

	log *slog.Logger

	mu   sync.RWMutex
	ring keyring
	// renewing is held while the Secret is read, so that an older one does not replace a newer one.
	renewing sync.Mutex
}

// KeysOptions locate the keys, and the data that shows whether they were in use already.
type KeysOptions struct {
	// Client must not read from a cache.
	Client client.Client
	// Secret that the keys are kept in.
	Secret types.NamespacedName
	// BucketURL and Namespaces are those of the installation; no namespaces are all of the cluster's.
	BucketURL  string
	Namespaces []string
	// Now is the clock.
	Now func() time.Time
	Log *slog.Logger
}

// LoadKeys reads the keys from their Secret. For an installation that was never used it creates them; those of one that
// was are lost, which is an error, since others could decrypt no object of the bucket.
func LoadKeys(ctx context.Context, o KeysOptions) (*Keys, error) {
	k := &Keys{
		client: o.Client, secret: o.Secret, now: o.Now, log: o.Log,
		used: used{client: o.Client, bucketURL: o.BucketURL, namespaces: o.Namespaces},
	}
	if err := k.Renew(ctx); err != nil {
		return nil, err
	}
	return k, nil
}

// Bundle is the PEM of the authorities that a pod started now has to trust.
func (k *Keys) Bundle() []byte { return k.current().bundle() }

// Recipient is the installation's public key.
func (k *Keys) Recipient() string { return k.current().identities[0].Recipient().String() }

// Identities read what was encrypted to the installation's public key, now or before.
func (k *Keys) Identities() []age.Identity {
	var ids []age.Identity
	for _, id := range k.current().identities {
		ids = append(ids, id)
	}
	return ids
}

// Bucket returns the keys of the bucket, which are derived from the identities.
func (k *Keys) Bucket() bucket.Keys { return k.current().bucket }

// Retire ends the use of all identities but the first for the bucket, if its keys are still these: no object is
// encrypted with the others. They stay in the Secret for what runners printed, and a user may remove them.
func (k *Keys) Retire(ctx context.Context, keys bucket.Keys) error {
	return k.change(ctx, func(ring *keyring) bool {
		if !ring.bucket.Equal(keys) {
			return false
		}
		ring.recipients = []string{ring.identities[0].Recipient().String()}
		return true
	})
}

// Fingerprint is a short text, 32 hex digits, that is the same for the same message in every process of the
// installation and for as long as it exists. Without the installation's key the message cannot be determined, not even
// by trying.
func (k *Keys) Fingerprint(message []byte) string {
	mac := hmac.New(sha256.New, k.current().fingerprint)
	mac.Write(message)
	return hex.EncodeToString(mac.Sum(nil))[:32]
}

// DeriveKey returns a key of 32 bytes for a purpose. It stays the same for the lifetime of the installation.
func (k *Keys) DeriveKey(purpose string) ([]byte, error) {
	return hkdf.Key(sha256.New, k.current().fingerprint, nil, purpose, 32)
}

func (k *Keys) current() keyring {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.ring
}

// NeedLeaderElection returns false: every process renews its keys.
func (k *Keys) NeedLeaderElection() bool { return false }

// Start renews the keys until ctx is done, and then once more: what replaced this process may have emptied the Secret
// too, and the next process cannot begin without what this one knows.
func (k *Keys) Start(ctx context.Context) error {
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewLast)
			err := k.Renew(last)
			cancel()
			if err != nil {
				k.log.Warn("keys not read once more at the end", "secret", k.secret.String(), "error", err)
			}
			return nil
		case <-tick.C:
		}
		if err := k.Renew(ctx); err != nil && ctx.Err() == nil {
			k.log.Warn("keys not renewed", "secret", k.secret.String(), "error", err)
		}
	}
}

// Renew reads the keys again and creates what is due. Of two concurrent processes one wins, and the other uses
// what that one created.
func (k *Keys) Renew(ctx context.Context) error {
	return k.change(ctx, func(*keyring) bool { return false })
}

// change is Renew with a change to the keyring.
func (k *Keys) change(ctx context.Context, edit func(*keyring) bool) error {
	k.renewing.Lock()
	defer k.renewing.Unlock()
	for {
		ring, err := k.renew(ctx, edit)
		if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("keys in Secret %s: %w", k.secret, err)
		}
		k.take(ring)
		return nil
	}
}

func (k *Keys) take(ring keyring) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ring.signing != nil && k.ring.signing.cert.Equal(ring.signing.cert) {
		ring.signing = k.ring.signing // so that a certificate of it is known to be
	}
	k.ring = ring
}

func (k *Keys) renew(ctx context.Context, edit func(*keyring) bool) (keyring, error) {
	secret := &corev1.Secret{}
	err := k.client.Get(ctx, k.secret, secret)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return keyring{}, err
	}
	empty := len(secret.Data) == 0 // the chart may create it empty, and let Cairn fill it but not create it
	ring := k.current()            // if the Secret was deleted or emptied, this process restores its keys
	if !empty {
		if ring, err = parseKeyring(secret.Data); err != nil {
			return keyring{}, err
		}
	}
	if !empty && len(ring.identities) == 0 && len(k.current().identities) > 0 {
		return keyring{}, errors.New("the identity is gone, and the bucket cannot be read without it: put it back " +
			"from a backup")
	}
	if len(ring.identities) == 0 {
		if err := k.begin(ctx, secret); err != nil {
			return keyring{}, err
		}
		ring.recipients = nil
	}
	restored, err := ring.restore(k.current())
	if err != nil {
		return keyring{}, err
	}
	if restored {
		k.log.Warn("an identity was removed before all objects in the bucket were encrypted again without it, and "+
			"was restored",
			"secret", k.secret.String())
	}
	known := k.current().fingerprint
	lost := restored || len(ring.fingerprint) == 0 && len(known) > 0
	if len(ring.fingerprint) == 0 { // what this process knows is put back
		ring.fingerprint = known
	}
	ring, changed, err := ring.renew(k.now())
	if err != nil {
		return keyring{}, err
	}
	if ring.bucket, err = ring.bucketKeys(); err != nil {
		return keyring{}, err
	}
	edited := edit(&ring)
	if edited {
		ring.bucket, err = ring.bucketKeys()
	}
	if err != nil || !changed && !empty && !lost && !edited {
		return ring, err
	}
	if secret.Data, err = ring.data(); err != nil {
		return keyring{}, err
	}
	if !missing {
		return ring, k.client.Update(ctx, secret)
	}
	secret.ObjectMeta = metav1.ObjectMeta{
		Namespace: k.secret.Namespace, Name: k.secret.Name,
		Labels: map[string]string{v1alpha1.ManagedByLabel: v1alpha1.ManagedBy},
	}
	err = k.client.Create(ctx, secret)
	if apierrors.IsForbidden(err) {
		err = fmt.Errorf("it does not exist, and this ServiceAccount may fill it but not create it: restore it from "+
			"a backup, or in a new installation create it without any data: %w", err)
	}
	return ring, err
}
