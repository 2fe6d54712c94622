//go:build envtest

package server_test

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/controller/bucketgc"
	"cairn.dev/cairn/internal/server/artifact"
	"cairn.dev/cairn/internal/server/pki"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/test/apiserver"
	"cairn.dev/cairn/test/s3"
)

// A user replaces the identity by another one, because the first one leaked.
func TestRemovedIdentityWithObjectsIsRestored(t *testing.T) {
	s := newSecondHand(t)
	must(t, s.lost.Renew(t.Context()))
	s.put("plans/ns/uid/sha256:1")
	other, err := age.GenerateX25519Identity()
	must(t, err)
	secret := s.secret()
	secret.Data["identity.age"] = []byte(other.String())
	must(t, apiserver.Kube.Update(t.Context(), secret))
	_, err = pki.LoadKeys(t.Context(), s.KeysOptions)
	if err == nil || !strings.Contains(err.Error(), s.lost.Recipient()+
		" is gone, and objects in the bucket are encrypted with it") {
		t.Errorf("a process that does not know the identity starts: %v", err)
	}
	must(t, s.lost.Renew(t.Context())) // of one that knows it
	again, err := pki.LoadKeys(t.Context(), s.KeysOptions)
	must(t, err)
	b, err := bucket.Open(t.Context(), s.BucketURL, again.Bucket())
	must(t, err)
	defer b.Close()
	if _, err := b.Get(t.Context(), "plans/ns/uid/sha256:1", 10); err != nil {
		t.Error(err)
	}
	if again.Recipient() != other.Recipient().String() {
		t.Error("objects are not written with the first identity")
	}
	// With the list of those in use removed, the process that runs restores both.
	secret = s.secret()
	secret.Data["identity.age"] = []byte(other.String())
	delete(secret.Data, "bucket-recipients")
	must(t, apiserver.Kube.Update(t.Context(), secret))
	must(t, s.lost.Renew(t.Context()))
	if !bytes.Contains(s.secret().Data["bucket-recipients"], []byte(other.Recipient().String())) ||
		len(s.lost.Identities()) != 2 {
		t.Errorf("%s", s.secret().Data["bucket-recipients"])
	}
}

// process is one of the processes of an installation.
type process struct {
	keys   *pki.Keys
	bucket *bucket.Bucket
	state  *state.Store
	logs   *artifact.Logs
}

func (e *env) process(o pki.KeysOptions) process {
	e.Helper()
	var p process
	var err error
	p.keys, err = pki.LoadKeys(e.Context(), o)
	must(e.T, err)
	p.bucket, err = bucket.Open(e.Context(), o.BucketURL, p.keys.Bucket())
	must(e.T, err)
	e.Cleanup(func() { p.bucket.Close() })
	p.bucket.Follow(p.keys.Bucket, p.keys.Renew)
	p.state = state.New(apiserver.Kube, apiserver.Kube, p.bucket, state.Options{
		Storage: v1alpha1.StateStorageBucket, Log: o.Log, Fingerprint: p.keys.Fingerprint,
	})
	p.logs = artifact.NewLogs(p.bucket)
	return p
}

// From the request of a user to the day when the old identity is removed.
func TestOldIdentityIsRemovedAfterARotation(t *testing.T) {
	server, err := s3.New(t.Context(), "127.0.0.1", t.TempDir())
	must(t, err)
	t.Cleanup(server.Kill)
	t.Setenv("AWS_ACCESS_KEY_ID", server.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", server.SecretKey)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	must(t, server.MakeBucket("cairn"))
	e := newEnv(t)
	o := e.keysOptions(server.URL("cairn"))
	o.Secret.Name = "rotated"
	net := client.ObjectKeyFromObject(e.stack)

	one, two := e.process(o), e.process(o)
	old := one.keys.Recipient()
	first, second := stateFile(1, "L", "first"), stateFile(2, "L", "second")
	_, err = one.state.Push(t.Context(), net, "alice", first, false, 0)
	must(t, err)
	plan := bytes.Repeat([]byte("plan"), 3<<20)
	must(t, one.bucket.Put(t.Context(), "plans/ns/uid/sha256:1", plan))
	_, _, err = one.logs.Append(t.Context(), "logs/ns/uid/1", 0, []byte("log"), 100)
	must(t, err)

	secret := &corev1.Secret{}
	edit := func(change func(data map[string][]byte)) {
		t.Helper()
		must(t, apiserver.Kube.Get(t.Context(), o.Secret, secret))
		change(secret.Data)
		must(t, apiserver.Kube.Update(t.Context(), secret))
	}
	used := func() []string {
		t.Helper()
		must(t, apiserver.Kube.Get(t.Context(), o.Secret, secret))
		return strings.Fields(string(secret.Data["bucket-recipients"]))
	}
	edit(func(data map[string][]byte) { data["rotate"] = []byte("now") })
	must(t, one.keys.Renew(t.Context()))
	current := one.keys.Recipient()
	if _, requested := secret.Data["rotate"]; current == old || !requested ||
		!slices.Equal(used(), []string{old, current}) || secret.Data["rotate"] != nil {
		t.Fatalf("%s after %s: in use are %v", current, old, used())
	}
	must(t, one.keys.Renew(t.Context()))
	if one.keys.Recipient() != current {
		t.Error("one request created two identities")
	}
	// The other process did not read the Secret yet: it writes with the old identity, and reads what has the new one.
	_, _, err = two.logs.Append(t.Context(), "logs/ns/uid/2", 0, []byte("late"), 100)
	must(t, err)
	_, err = one.state.Push(t.Context(), net, "alice", second, false, 0)
	must(t, err)
	if got, err := two.state.Read(t.Context(), net); err != nil || !bytes.Equal(got, second) ||
		two.keys.Recipient() != current {
		t.Errorf("%s, %v", got, err)
	}

	var log bytes.Buffer
	r := &bucketgc.Reencrypter{Bucket: one.bucket, Retire: one.keys.Retire,
		Log: slog.New(slog.NewTextHandler(&log, nil))}
	now := time.Now()
	r.Step(t.Context(), now)
	if len(used()) != 2 {
		t.Error("the old identity ended while other processes may write with it")
	}
	r.Step(t.Context(), now.Add(time.Hour))
	if !slices.Equal(used(), []string{current}) || !strings.Contains(log.String(), "left=0") {
		t.Fatalf("in use are %v:\n%s", used(), &log)
	}
	if ids := one.keys.Identities(); len(ids) != 2 {
		t.Error("a state that was printed before cannot be recovered")
	}
	edit(func(data map[string][]byte) {
		line, _, _ := bytes.Cut(data["identity.age"], []byte("\n"))
		data["identity.age"] = line
	})
	must(t, errors.Join(one.keys.Renew(t.Context()), two.keys.Renew(t.Context())))

	after := e.process(o)
	if ids := after.keys.Identities(); len(ids) != 1 || after.keys.Recipient() != current {
		t.Fatalf("%d identities", len(ids))
	}
	for version, want := range map[int64][]byte{1: first, 2: second} {
		if got, err := after.state.ReadVersion(t.Context(), net, version); err != nil || !bytes.Equal(got, want) {
			t.Errorf("version %d: %s, %v", version, got, err)
		}
	}
	for folder, want := range map[string]string{"logs/ns/uid/1": "log", "logs/ns/uid/2": "late"} {
		if got, _, err := after.logs.ReadAt(t.Context(), folder, 0, true); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", folder, got, err)
		}
	}
	if got, err := after.bucket.Get(t.Context(), "plans/ns/uid/sha256:1", 1<<30); err != nil ||
		!bytes.Equal(got, plan) {
		t.Errorf("plan of %d bytes, %v", len(got), err)
	}
	must(t, after.bucket.WalkAll(t.Context(), func(o bucket.Object) error {
		_, err := after.bucket.Get(t.Context(), o.Key, 1<<30)
		return err
	}))

	// The whole Secret leaked: a process that starts replaces the other keys that were removed.
	edit(func(data map[string][]byte) {
		for _, field := range []string{"fingerprint.key", "ca.crt", "ca.key", "next.crt", "next.key"} {
			delete(data, field)
		}
	})
	fresh := e.process(o)
	if bytes.Contains(fresh.keys.Bundle(), after.keys.Bundle()[:100]) ||
		fresh.keys.Fingerprint(nil) == after.keys.Fingerprint(nil) {
		t.Error("keys that were removed are in use")
	}
}
