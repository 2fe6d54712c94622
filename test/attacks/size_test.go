package attacks

import (
	"crypto/rand"
	"encoding/base64"
	"io"
	"io/fs"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cairn.dev/cairn/internal/source/git"
	"cairn.dev/cairn/test/gitserver"
)

const mebi = 1 << 20

// noise returns text that does not compress below six eighths.
func noise(size int) string {
	data := make([]byte, size)
	_, _ = rand.Read(data) // never fails
	return base64.StdEncoding.EncodeToString(data)[:size]
}

// slow passes on what a server sends, some 4 MiB a second, and counts it.
func slow(t *testing.T, to string) (address string, sent *atomic.Int64) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	sent = &atomic.Int64{}
	relay := func(client net.Conn) {
		defer client.Close()
		server, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", to)
		if err != nil {
			return
		}
		defer server.Close()
		go func() { _, _ = io.Copy(server, client) }()
		for buffer := make([]byte, 64<<10); ; {
			n, err := server.Read(buffer)
			sent.Add(int64(n))
			if _, wrong := client.Write(buffer[:n]); err != nil || wrong != nil {
				return
			}
			time.Sleep(time.Duration(n) * time.Second / (4 * mebi))
		}
	}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go relay(client)
		}
	}()
	return l.Addr().String(), sent
}

func bytesIn(dir string) (total int64) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil {
			if info, err := entry.Info(); err == nil && !entry.IsDir() {
				total += info.Size()
			}
		}
		return nil
	})
	return total
}

func (n *network) fetch(m *git.Mirror, repo *gitserver.Repo) error {
	return m.Fetch(n.Context(), git.Remote{URL: n.git.URL + repo.Path()}, git.FetchOptions{})
}

// The fetch ends long before all of it was received, and nothing of it stays.
func TestFetchOfATooLargeRepositoryIsCanceled(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, nil)
	large, err := n.repos.Init("large")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for i := range 6 {
		files[string(rune('a'+i))] = noise(6 * mebi)
	}
	if _, err := large.Commit(gitserver.Change{Files: files}); err != nil {
		t.Fatal(err)
	}
	address, sent := slow(t, strings.TrimPrefix(n.git.URL, "http://"))
	dir := t.TempDir()
	m, err := git.Open(t.Context(), dir, git.Options{Egress: n.guard, MaxDisk: 4 * mebi})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	err = m.Fetch(t.Context(), git.Remote{URL: "http://" + address + large.Path()}, git.FetchOptions{})
	if git.Reason(err) != "MirrorTooLarge" || !strings.Contains(err.Error(), "limit") {
		t.Errorf("got %v", err)
	}
	if got := sent.Load(); got > 18*mebi {
		t.Errorf("%d MiB were received", got/mebi)
	}
	if left := bytesIn(dir); left > mebi {
		t.Errorf("%d MiB are left", left/mebi)
	}
}

// What is small enough to be received before it is noticed is rejected too; the earlier state of the mirror stays.
func TestRepositoryThatGrowsBeyondTheLimitIsRejected(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, nil)
	m := n.mirror(git.Options{MaxDisk: 4 * mebi})
	if err := n.fetch(m, n.repo); err != nil {
		t.Fatal(err)
	}
	before := m.Refs()
	for i := range 3 {
		n.commit(map[string]string{"noise": noise((3 + i) * mebi)})
		err := n.fetch(m, n.repo)
		switch {
		case i == 0 && err != nil:
			t.Errorf("within the limit: %v", err)
		case i == 0:
			before = m.Refs()
		case git.Reason(err) != "MirrorTooLarge" || m.Refs() != before:
			t.Errorf("got %v", err)
		}
	}
	if _, err := n.repo.Commit(gitserver.Change{Rewrite: true, Files: map[string]string{"main.tf": "b"}}); err != nil {
		t.Fatal(err)
	}
	if err := n.fetch(m, n.repo); err != nil {
		t.Errorf("a repository that is small again: %v", err)
	}
}

func TestDiskUsageOfANamespaceIsLimited(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, nil)
	space := git.NewSpace("namespace shop", 4*mebi)
	first, second := n.mirror(git.Options{Space: space}), n.mirror(git.Options{Space: space})
	other := n.mirror(git.Options{Space: git.NewSpace("namespace other", 4*mebi)})
	n.commit(map[string]string{"noise": noise(3 * mebi)})
	if err := n.fetch(first, n.repo); err != nil {
		t.Fatal(err)
	}
	if err := n.fetch(second, n.repo); git.Reason(err) != "MirrorTooLarge" ||
		!strings.Contains(err.Error(), "namespace shop") {
		t.Errorf("got %v", err)
	}
	if err := n.fetch(first, n.repo); err != nil {
		t.Errorf("one that does not grow: %v", err)
	}
	if err := n.fetch(other, n.repo); err != nil {
		t.Errorf("one of another namespace: %v", err)
	}
	_ = first.Close()
	if err := n.fetch(second, n.repo); err != nil {
		t.Errorf("after the first was deleted: %v", err)
	}
}

func TestDiskUsageOfLFSFilesIsLimited(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, nil)
	n.commit(map[string]string{"image.bin": n.git.PutLFS(noise(3 * mebi))})
	if err := n.archive(n.mirror(git.Options{LFS: true, MaxDisk: 2 * mebi})); git.Reason(err) != "MirrorTooLarge" {
		t.Errorf("got %v", err)
	}
}
