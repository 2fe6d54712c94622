package attacks

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/server/artifact"
)

// thief can write the files of a bucket, and has the installation's public key: each pod has it, to encrypt a state
// that it prints to its log.
type thief struct {
	*testing.T
	dir    string
	public age.Recipient
	bucket *bucket.Bucket
}

func newThief(t *testing.T) thief {
	t.Helper()
	a := thief{T: t, dir: t.TempDir()}
	id, err := age.GenerateX25519Identity()
	a.must(err)
	a.public = id.Recipient()
	keys, err := bucket.NewKeys(id.String())
	a.must(err)
	a.bucket, err = bucket.Open(t.Context(), "file://"+a.dir, keys)
	a.must(err)
	t.Cleanup(func() { a.bucket.Close() })
	return a
}

func (a thief) must(err error) {
	a.Helper()
	if err != nil {
		a.Fatal(err)
	}
}

func (a thief) put(key, text string) {
	a.Helper()
	a.must(a.bucket.Put(a.Context(), key, []byte(text)))
}

func (a thief) steal(key string) []byte {
	a.Helper()
	data, err := os.ReadFile(filepath.Join(a.dir, key))
	a.must(err)
	return data
}

func (a thief) write(key string, data []byte) {
	a.Helper()
	a.must(os.WriteFile(filepath.Join(a.dir, key), data, 0o600))
}

// rejected fails when the object of a key is read, and when the error does not name it.
func (a thief) rejected(key string, want error) {
	a.Helper()
	data, err := a.bucket.Get(a.Context(), key, 1<<20)
	if !errors.Is(err, want) || !strings.Contains(err.Error(), key) {
		a.Errorf("read %q as %s: %v", data, key, err)
	}
}

const (
	planA, planB = "plans/infra/1b4e/sha256:aa", "plans/infra/77c0/sha256:bb"
	chunk0       = "logs/infra/1b4e/1/000000000000"
	chunk1       = "logs/infra/1b4e/1/000000000006"
)

// A user who writes the bucket copies the result of the policies on a plan that they allow over that on another plan.
func TestCopiedObjectOfTheBucketIsRejected(t *testing.T) {
	for from, to := range map[string]string{
		planA + ".verdict":                   planB + ".verdict",                // of another Run
		planA + ".json":                      planA + ".verdict",                // as another kind
		chunk0:                               chunk1,                            // to another place of the log
		"states/infra/net/1-sha256:aa":       "states/other/net/1-sha256:aa",    // to another namespace
		"closures/sha256:cc":                 "closures/sha256:dd",              // to the code of another commit
		"variables/infra/net/sha256:ee":      "variables/infra/dns/sha256:ee",   // to another Stack
		"journals/infra/net/1-1-1-000000001": "journals/infra/net/2-2-1-000001", // to another attempt
	} {
		t.Run(to, func(t *testing.T) {
			a := newThief(t)
			a.put(from, "allowed")
			a.put(to, "denied")
			a.write(to, a.steal(from))
			a.rejected(to, bucket.ErrDamaged)
		})
	}
}

// A user who writes the bucket and has the installation's public key encrypts an object to it.
func TestObjectEncryptedToThePublicKeyIsRejected(t *testing.T) {
	a := newThief(t)
	a.put(planA+".verdict", "denied")
	var forged bytes.Buffer
	w, err := age.Encrypt(&forged, a.public)
	a.must(err)
	_, err = io.WriteString(w, "allowed")
	a.must(errors.Join(err, w.Close()))
	a.write(planA+".verdict", forged.Bytes())
	a.rejected(planA+".verdict", bucket.ErrWrongKey)
}

// A user who writes the bucket exchanges, cuts off and repeats parts of an object.
func TestObjectWithExchangedPartsIsRejected(t *testing.T) {
	const part = 64<<10 + 16 // of age
	head := func(data []byte) int {
		end := bytes.Index(data, []byte("\n---"))
		return end + 1 + bytes.IndexByte(data[end+1:], '\n') + 1 + 16
	}
	for name, change := range map[string]func(data, other []byte) []byte{
		"the end is cut off":                    func(data, _ []byte) []byte { return data[:head(data)+2*part] },
		"the last part is cut off after a byte": func(data, _ []byte) []byte { return data[:head(data)+2*part+1] },
		"two parts are exchanged": func(data, _ []byte) []byte {
			h := head(data)
			return joined(data[:h], data[h+part:h+2*part], data[h:h+part], data[h+2*part:])
		},
		"a part is repeated": func(data, _ []byte) []byte {
			h := head(data)
			return joined(data[:h+part], data[h:])
		},
		"the header is of another object": func(data, other []byte) []byte {
			return joined(other[:head(other)], data[head(data):])
		},
		"the payload is of another object": func(data, other []byte) []byte {
			return joined(data[:head(data)], other[head(other):])
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newThief(t)
			a.put(planA, strings.Repeat("0123456789abcdef", 10_000))
			a.put(planB, strings.Repeat("fedcba9876543210", 10_000))
			a.write(planA, change(a.steal(planA), a.steal(planB)))
			a.rejected(planA, bucket.ErrDamaged)
		})
	}
}

func joined(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// A user who writes the bucket deletes a part of a log, or puts another part in its place.
func TestRemovedPartOfALogIsDetected(t *testing.T) {
	for name, remove := range map[string]func(a thief){
		"deleted":  func(a thief) { a.must(os.Remove(filepath.Join(a.dir, chunk1))) },
		"replaced": func(a thief) { a.write(chunk1, a.steal(chunk0)) },
	} {
		t.Run(name, func(t *testing.T) {
			a := newThief(t)
			a.put(chunk0, "first\n")
			a.put(chunk1, strings.Repeat("deleted the database\n", 10))
			a.put("logs/infra/1b4e/1/000000000216", "last\n")
			remove(a)
			logs, text := artifact.NewLogs(a.bucket), ""
			for at := int64(0); ; at = int64(len(text)) {
				data, _, err := logs.ReadAt(t.Context(), "logs/infra/1b4e/1", at, true)
				a.must(err)
				if len(data) == 0 {
					break
				}
				text += string(data)
			}
			if len(text) != 221 || !strings.HasPrefix(text, "first\n\n[a part of this log is lost") ||
				!strings.HasSuffix(text, "last\n") {
				t.Errorf("the log is %q", text)
			}
		})
	}
}
