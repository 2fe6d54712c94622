//go:build envtest

package server_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/internal/server/pki"
	"cairn.dev/cairn/test/apiserver"
)

func TestTwoProcessesCreateTheSameKeys(t *testing.T) {
	e := newEnv(t)
	secret := types.NamespacedName{Namespace: e.namespace, Name: "keys"}
	o := e.keysOptions("file://" + t.TempDir())
	o.Secret = secret
	var g sync.WaitGroup
	all := make([]*pki.Keys, 5)
	errs := make([]error, len(all))
	for i := range all {
		g.Go(func() { all[i], errs[i] = pki.LoadKeys(t.Context(), o) })
	}
	g.Wait()
	must(t, errors.Join(errs...))
	for _, k := range all {
		if k.Recipient() != all[0].Recipient() || !bytes.Equal(k.Bundle(), all[0].Bundle()) {
			t.Fatal("two processes have different keys")
		}
	}

	// A deleted Secret is restored by a process that has it, and a lost identity is not replaced.
	kept := &corev1.Secret{}
	must(t, apiserver.Kube.Get(t.Context(), secret, kept))
	must(t, apiserver.Kube.Delete(t.Context(), kept))
	must(t, all[1].Renew(t.Context()))
	again, err := pki.LoadKeys(t.Context(), o)
	must(t, err)
	if again.Recipient() != all[0].Recipient() {
		t.Fatal("another identity")
	}
	must(t, apiserver.Kube.Get(t.Context(), secret, kept))
	delete(kept.Data, "fingerprint.key")
	must(t, apiserver.Kube.Update(t.Context(), kept))
	must(t, all[2].Renew(t.Context()))
	again, err = pki.LoadKeys(t.Context(), o)
	must(t, err)
	if again.Fingerprint(nil) != all[0].Fingerprint(nil) {
		t.Fatal("another key for fingerprints")
	}
	must(t, apiserver.Kube.Get(t.Context(), secret, kept))
	delete(kept.Data, "identity.age")
	must(t, apiserver.Kube.Update(t.Context(), kept))
	if err := all[0].Renew(t.Context()); err == nil {
		t.Fatal("a lost identity was replaced")
	}
}

// As after an upgrade that replaces all objects: the Secret is empty and the process is stopped, and the next one reads
// its keys.
func TestStoppingProcessRestoresTheKeys(t *testing.T) {
	s := newSecondHand(t)
	s.put("sources/sha256:1")
	if _, err := pki.LoadKeys(t.Context(), s.KeysOptions); err == nil {
		t.Fatal("a process begins with keys of its own")
	}
	ctx, end := context.WithCancel(t.Context())
	end()
	must(t, s.lost.Start(ctx))
	next, err := pki.LoadKeys(t.Context(), s.KeysOptions)
	must(t, err)
	if next.Recipient() != s.lost.Recipient() {
		t.Fatal("another identity")
	}
}

func TestOneProcessRotatesTheKeysAndAllUseThem(t *testing.T) {
	e := newEnv(t)
	secret := types.NamespacedName{Namespace: e.namespace, Name: "keys"}
	now := time.Now()
	o := e.keysOptions("file://" + t.TempDir())
	o.Secret, o.Now = secret, func() time.Time { return now }
	var all []*pki.Keys
	for range 2 {
		k, err := pki.LoadKeys(t.Context(), o)
		must(t, err)
		all = append(all, k)
	}
	before := all[0].Bundle()
	now = now.Add(130 * 24 * time.Hour)
	for _, k := range all {
		must(t, k.Renew(t.Context()))
	}
	if bytes.Equal(before, all[0].Bundle()) || !bytes.Equal(all[0].Bundle(), all[1].Bundle()) {
		t.Fatal("not rotated, or not by all")
	}
	kept := &corev1.Secret{}
	must(t, apiserver.Kube.Get(t.Context(), secret, kept))
	version := kept.ResourceVersion
	must(t, all[0].Renew(t.Context()))
	must(t, apiserver.Kube.Get(t.Context(), secret, kept))
	if kept.ResourceVersion != version {
		t.Fatal("written without cause")
	}
}
