package inputs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/base/bucket/buckettest"
)

// TestDamagedInputsAreWrittenAgain checks the advice to cancel a Run whose inputs are damaged, and to ask for another:
// that one stores the same document again, which then has to be readable, whether or not the operator has it in memory.
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

// TestDamageThatOnlyTheServerFoundIsRepaired checks an operator and a server of their own processes: the operator has
// the document in memory, and knows nothing of what the server could not read.
func TestDamageThatOnlyTheServerFoundIsRepaired(t *testing.T) {
	for damaged, digestOf := range map[string]func(Document, string) string{
		"inputs/":  func(_ Document, digest string) string { return digest },
		"sources/": func(d Document, _ string) string { return d.Source },
	} {
		t.Run(damaged, func(t *testing.T) {
			dir := t.TempDir()
			b := buckettest.Open(t, "file://"+filepath.ToSlash(dir))
			operator, code := NewStore(b), []byte("the code")
			d := document()
			d.Source = Digest(code)
			source := "sources/" + d.Source
			if err := b.PutOnce(t.Context(), source, code); err != nil {
				t.Fatal(err)
			}
			digest, err := operator.Put(t.Context(), d)
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range []string{source, "inputs/" + digest} {
				if err := b.Renew(t.Context(), key); err != nil { // known to be young from now on
					t.Fatal(err)
				}
			}
			if err := operator.Verify(t.Context(), digest); err != nil {
				t.Fatal(err)
			}
			key := damaged + digestOf(d, digest)
			if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(key)), []byte("not what Cairn wrote"),
				0o600); err != nil {
				t.Fatal(err)
			}
			if err := operator.Verify(t.Context(), digest); !bucket.IsLost(err) {
				t.Fatalf("Verify of damaged %s returned: %v", key, err)
			}
			if err := b.Renew(t.Context(), key); !errors.Is(err, bucket.ErrNotFound) {
				t.Errorf("Renew of damaged %s returned: %v", key, err)
			}
			if _, err := operator.Put(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			if err := b.PutOnce(t.Context(), source, code); err != nil { // as the next reconciliation does
				t.Fatal(err)
			}
			if err := operator.Verify(t.Context(), digest); err != nil {
				t.Errorf("it is not repaired: %v", err)
			}
		})
	}
}
