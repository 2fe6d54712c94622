package repository_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"cairn.dev/cairn/internal/controller/repository"
)

// Two operators in one folder would delete the files of each other, and a remote would seem to be empty.
func TestFolderOfMirrorsHasOneOwner(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "git")
	ctx, end := context.WithCancel(t.Context())
	first, second, ended := repository.NewMirrors(dir), repository.NewMirrors(dir), make(chan error, 1)
	go func() { ended <- first.Start(ctx) }()
	if err := first.Keep(nil); err != nil {
		t.Fatal(err)
	}
	if err := second.Keep(nil); err == nil || !strings.Contains(err.Error(), "each needs a --cache of its own") {
		t.Errorf("the second one: %v", err)
	}
	end()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if err := second.Keep(nil); err != nil {
		t.Errorf("when the first is over: %v", err)
	}
	if err := second.Start(ctx); err != nil { // it is over at once, too
		t.Error(err)
	}
}
