package inputs

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"cairn.dev/cairn/internal/bucket/buckettest"
)

// TestDamagedInputsAreWrittenAgain checks the advice to cancel a Run whose inputs are damaged, and to ask for another: that one
// stores the same document again, which then has to be readable, whether or not the operator has it in memory.
func TestDamagedInputsAreWrittenAgain(t *testing.T) {
	for name, restarted := range map[string]bool{"after a restart": true, "without a restart": false} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			b := buckettest.Open(t, "file://"+filepath.ToSlash(dir))
			operator := NewStore(b)
			digest, err := operator.Put(t.Context(), document())
			if err != nil {
				t.Fatal(err)
			}
			damaged := 0
			if err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
				if err != nil || e.IsDir() {
					return err
				}
				damaged++
				return os.WriteFile(path, []byte("not what Cairn wrote"), 0o600)
			}); err != nil || damaged == 0 {
				t.Fatal(damaged, err)
			}
			if _, err := NewStore(b).Get(t.Context(), digest); err == nil { // a server's, of the same process
				t.Fatal("the damaged document was read")
			}
			if restarted {
				operator = NewStore(b)
			}
			if _, err := operator.Put(t.Context(), document()); err != nil {
				t.Fatal(err)
			}
			if _, err := NewStore(b).Get(t.Context(), digest); err != nil {
				t.Errorf("Put returned no error, and: %v", err)
			}
		})
	}
}
