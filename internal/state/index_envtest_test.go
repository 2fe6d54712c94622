//go:build envtest

package state_test

import (
	"errors"
	"testing"

	"cairn.dev/cairn/internal/state"
)

// indexed checks that the index of the current version is stored, and how many instances it has.
func (env *testEnv) indexed(want int) {
	env.Helper()
	index, err := env.store.Index(env.Context(), env.key, env.status().SHA256)
	if err != nil || len(index.Resources) != 1 || len(index.Resources[0].Instances) != want {
		env.Fatalf("%+v, %v; want %d", index, err, want)
	}
}

func TestIndexFollowsTheCurrentVersion(t *testing.T) {
	env := newTestEnv(t, state.Options{}).withStack()
	ctx := t.Context()
	if _, err := env.store.Reindex(ctx, env.key); !errors.Is(err, state.ErrNone) {
		t.Fatalf("without a state: %v", err)
	}
	must(t, second(env.store.Push(ctx, env.key, "alice", stateFile(1, "L", "one", 3), false, 0)))
	env.indexed(3)
	first := env.status().SHA256
	must(t, second(env.store.Push(ctx, env.key, "alice", stateFile(2, "L", "two", 5), false, 0)))
	env.indexed(5)
	if _, err := env.store.Index(ctx, env.key, first); !errors.Is(err, state.ErrNone) {
		t.Errorf("the index of an old version: %v", err)
	}
	must(t, second(env.store.Rollback(ctx, env.key, "alice", 1, 0)))
	env.indexed(3)

	// A state of before there were indexes, and one whose index is damaged.
	object := "states/" + env.key.Namespace + "/" + env.key.Name + "/index"
	for _, damage := range []func() error{
		func() error { return env.bucket.Delete(ctx, object) },
		func() error { return env.bucket.Put(ctx, object, []byte("damaged")) },
	} {
		must(t, damage())
		if _, err := env.store.Index(ctx, env.key, env.status().SHA256); !errors.Is(err, state.ErrNone) {
			t.Fatalf("an index that is not there: %v", err)
		}
		index, err := env.store.Reindex(ctx, env.key)
		if err != nil || index.SHA256 != env.status().SHA256 {
			t.Fatalf("%+v, %v", index, err)
		}
		env.indexed(3)
	}

	must(t, env.store.Purge(ctx, env.key))
	left, err := env.bucket.List(ctx, "states/"+env.key.Namespace)
	if err != nil || len(left) > 0 {
		t.Errorf("left are %q, %v", left, err)
	}
}
