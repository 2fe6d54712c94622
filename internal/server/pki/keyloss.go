package pki

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
)

// someStates is how many States are asked for at once.
const someStates = 100

// begin decides whether the first identity of the installation may be created, for a Secret that has none as it was
// read.
func (k *Keys) begin(ctx context.Context, read *corev1.Secret) error {
	lost := k.used.check(ctx)
	if lost == nil {
		return nil
	}
	// Another process may have created the keys since, and used them.
	secret := &corev1.Secret{}
	if err := k.client.Get(ctx, k.secret, secret); client.IgnoreNotFound(err) != nil {
		return err
	}
	if secret.ResourceVersion != read.ResourceVersion {
		return apierrors.NewConflict(corev1.Resource("secrets"), k.secret.Name, errors.New("it was filled meanwhile"))
	}
	return lost
}

// used finds evidence that an installation had keys before. A Secret without them is then one that was wiped or not
// restored, and not one of a new install: new keys would be taken, and all that is there be unreadable, or be written
// with two keys once the old ones are back.
type used struct {
	client     client.Reader
	bucketURL  string
	namespaces []string
}

// check returns an error when the installation was used, and when that cannot be determined.
func (u used) check(ctx context.Context) error {
	if place, err := url.Parse(u.bucketURL); err == nil && place.Scheme == "mem" { // gone with each process in any case
		return nil
	}
	key, err := bucket.First(ctx, u.bucketURL)
	if err != nil {
		return fmt.Errorf("check whether the bucket was used before: %w", err)
	}
	if key != "" {
		return fmt.Errorf("they are gone, and without them the contents of the bucket cannot be read, such as %s: "+
			"put the Secret back from a backup; or, to start without the old data on purpose, empty the bucket", key)
	}
	namespaces := u.namespaces
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	for _, namespace := range namespaces {
		st, err := u.encrypted(ctx, namespace)
		if err != nil {
			return fmt.Errorf("check whether states were encrypted before: %w", err)
		}
		if st != nil {
			return fmt.Errorf("they are gone, and without them the state cannot be read of Stack %s, which is in a "+
				"bucket (this one is empty): put the Secret back from a backup, and check the name of the bucket; "+
				"or, to start without the old data on purpose, remove that State and all that is like it",
				client.ObjectKeyFromObject(st))
		}
	}
	return nil
}

// encrypted is a State some of which is in the bucket.
func (u used) encrypted(ctx context.Context, namespace string) (*v1alpha1.State, error) {
	for next := ""; ; {
		states := &v1alpha1.StateList{}
		err := u.client.List(ctx, states, client.InNamespace(namespace), client.Limit(someStates),
			client.Continue(next))
		if err != nil {
			return nil, err
		}
		for i := range states.Items {
			if inBucket(states.Items[i].Status) {
				return &states.Items[i], nil
			}
		}
		if next = states.Continue; next == "" {
			return nil, nil
		}
	}
}

func inBucket(st v1alpha1.StateStatus) bool {
	if st.Rescued != nil {
		return true
	}
	for _, v := range st.Versions {
		if v.Storage == v1alpha1.StateStorageBucket {
			return true
		}
	}
	return false
}
