package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// mostBatch is how many files are asked for in one request.
const mostBatch = 100

// fetchPointers finds the files that are in LFS and fetches those that are not here yet.
func (g *gathering) fetchPointers(ctx context.Context) error {
	wanted := map[*Remote][]pointer{}
	left := g.m.o.MaxBytes
	for _, name := range g.names() {
		i := g.items[name]
		if i.kind == KindSymlink {
			continue
		}
		p, err := i.readPointer(ctx)
		if err != nil {
			return fmt.Errorf("archive %s: %w", name, err)
		}
		if p == nil {
			continue
		}
		if left -= p.size; left < 0 {
			return fail(ErrTooLarge, "archive %s: more than %d bytes of files in LFS: take fewer", name, g.m.o.MaxBytes)
		}
		i.pointer = p
		g.items[name] = i
		if !g.m.hasObject(*p) && !slices.Contains(wanted[i.remote], *p) {
			wanted[i.remote] = append(wanted[i.remote], *p)
		}
	}
	for remote, pointers := range wanted {
		if err := g.m.fetchObjects(ctx, remote, pointers); err != nil {
			return err
		}
	}
	return nil
}

// readPointer returns what a file points to, nil if it is a file like any other.
func (i item) readPointer(ctx context.Context) (*pointer, error) {
	var found *pointer
	err := i.from.readers.stream(ctx, i.id, "blob", func(_ string, size int64, content io.Reader) error {
		if size >= mostPointer {
			return nil
		}
		data, err := io.ReadAll(content)
		if p, ok := parsePointer(data); ok {
			found = &p
		}
		return err
	})
	return found, err
}

func (m *Mirror) objectPath(oid string) string { return filepath.Join(m.path(lfsObjects), oid) }

// hasObject reports whether a file of LFS is here, and that it was of use today.
func (m *Mirror) hasObject(p pointer) bool {
	info, err := os.Stat(m.objectPath(p.oid))
	if err != nil || info.Size() != p.size {
		return false
	}
	now := time.Now()
	return os.Chtimes(m.objectPath(p.oid), now, now) == nil
}

func (m *Mirror) fetchObjects(ctx context.Context, remote *Remote, pointers []pointer) error {
	if remote == nil {
		return fmt.Errorf("LFS: %w", errEmpty)
	}
	at, err := m.locate(remote.URL)
	if err != nil {
		return err
	}
	if at.scheme == "ssh" {
		return fail(ErrConfig, "%s has files in LFS, which are fetched over HTTPS only: set an https:// URL in the "+
			"Repository", remote.URL)
	}
	auth, err := m.apps.resolve(ctx, remote.Auth, m.o.Egress)
	if err != nil {
		return err
	}
	client, err := httpClient(auth, m.o.Egress)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	var more int64
	for _, p := range pointers {
		more += p.size
	}
	used := m.usage("")
	if err := m.admit(used, used, more); err != nil {
		return fmt.Errorf("LFS of %s: %w", remote.URL, err)
	}
	c := &lfsClient{m: m, http: client, at: at, authorization: auth.Authorization()}
	for batch := range slices.Chunk(pointers, mostBatch) {
		if err := c.fetch(ctx, batch); err != nil {
			return fmt.Errorf("LFS of %s: %w", remote.URL, err)
		}
	}
	m.o.Space.set(m, m.usage(""))
	return nil
}

// keepObject writes a file of LFS, and renames it to its final name only if it matches the pointer.
func (m *Mirror) keepObject(p pointer, content io.Reader) error {
	file, err := os.CreateTemp(m.path(lfsObjects), "tmp-")
	if err != nil {
		return err
	}
	sum := sha256.New()
	size, err := io.Copy(io.MultiWriter(file, sum), io.LimitReader(content, p.size+1))
	digest := hex.EncodeToString(sum.Sum(nil))
	if err = errors.Join(err, file.Close()); err == nil && (digest != p.oid || size != p.size) {
		err = fail(ErrContent, "the server's content differs from the pointer in git")
	}
	if err == nil {
		err = os.Rename(file.Name(), m.objectPath(p.oid))
	}
	if err == nil {
		return nil
	}
	return errors.Join(err, os.Remove(file.Name()))
}

// mostPointer is how large a pointer may be, by LFS's specification.
const mostPointer = 1024

// pointer is what git has in place of a file that is in LFS.
type pointer struct {
	oid  string // sha256, in hex
	size int64
}

// parsePointer reads a pointer. Any other content is none.
func parsePointer(data []byte) (pointer, bool) {
	text, ok := strings.CutPrefix(string(data), "version https://git-lfs.github.com/spec/v1\n")
	if !ok || len(data) >= mostPointer {
		return pointer{}, false
	}
	p := pointer{size: -1}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch key {
		case "oid":
			p.oid, _ = strings.CutPrefix(value, "sha256:")
		case "size":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return pointer{}, false
			}
			p.size = n
		}
	}
	return p, len(p.oid) == 64 && isID(p.oid) && p.size >= 0
}
