package attempt

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/engine/redact"
	"cairn.dev/cairn/internal/runner/workspace"
)

// A note on files in which secrets are hidden is longer than the names are.
func TestLongNoteOnFilesLeavesAMessage(t *testing.T) {
	work, err := workspace.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	secrets := redact.New()
	secrets.Add("prod")
	w := &workbench{job: &job{Executor: &Executor{secrets: secrets, work: work}}, setup: setup{fetched: true}}
	dir := filepath.Join(work.Code(""), "environments", strings.Repeat("prod/", 20))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		if err := os.Symlink("../nowhere", filepath.Join(dir, fmt.Sprintf("link-%d", i))); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("large-%d", i)),
			[]byte(pointerStart+"oid sha256:0\nsize 1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	why := w.failure(context.Background(), &engine.Rejection{Reason: "the file cannot be read"}, w.unreadable)
	if !strings.Contains(why.Message, "the file cannot be read; the repository has symlinks") {
		t.Errorf("%+v", why)
	}
}
