package git

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn.dev/cairn/test/gitserver"
)

func TestReopenedMirrorKeepsItsContent(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	id := f.commit(map[string]string{"main.tf": "a"})
	f.fetch()
	f.must(f.m.Close())
	f.m = mirror(t, f.m.dir, Options{})
	if c := f.at("", id); c.Ref != "main" {
		t.Errorf("HEAD is %q", c.Ref)
	}
}

func TestBrokenMirrorIsRecreated(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(repo string) error{
		"no configuration": func(repo string) error {
			return os.WriteFile(filepath.Join(repo, "config"), []byte("["), 0o600)
		},
		"no HEAD":             func(repo string) error { return os.Remove(filepath.Join(repo, "HEAD")) },
		"no objects":          func(repo string) error { return os.RemoveAll(filepath.Join(repo, "objects")) },
		"an empty folder":     func(repo string) error { _ = os.RemoveAll(repo); return os.Mkdir(repo, 0o700) },
		"a ref that is empty": func(repo string) error { return os.WriteFile(repo+"/refs/heads/main", nil, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, Options{})
			id := f.commit(map[string]string{"main.tf": "a"})
			f.fetch()
			f.must(f.m.Close())
			f.must(spoil(f.m.path(repository)))
			f.m = mirror(t, f.m.dir, Options{})
			f.fetch()
			f.at("main", id)
		})
	}
}

func TestFetchRecreatesAMirrorThatBreaksWhileOpen(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	f.commit(map[string]string{"main.tf": "a"})
	f.fetch()
	f.must(os.RemoveAll(f.m.path(repository + "/objects")))
	id := f.commit(map[string]string{"main.tf": "b"})
	f.fetch()
	f.at("main", id)
	_, err := f.m.Tree(t.Context(), id)
	f.must(err)
}

func TestFetchWithoutNewCommitsRecreatesAMirrorThatLostAFile(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	id := f.commit(map[string]string{"main.tf": "a", "other.tf": "b"})
	f.fetch()
	tree, err := f.m.Tree(t.Context(), id)
	f.must(err)
	for _, spoil := range []func(string) error{os.Remove, func(name string) error {
		return os.WriteFile(name, []byte("x"), 0o600)
	}} {
		f.unpackAll()
		file, _ := tree.Entry("main.tf")
		name := filepath.Join(f.m.path(repository), "objects", file.ID[:2], file.ID[2:])
		f.must(os.Chmod(name, 0o600))
		f.must(spoil(name))
		if data, err := f.m.Blob(t.Context(), file.ID, 10); err == nil {
			t.Fatalf("it is still there: %q", data)
		}
		f.fetch()
		if data, err := f.m.Blob(t.Context(), file.ID, 10); err != nil || string(data) != "a" {
			t.Errorf("got %q, %v", data, err)
		}
	}
}

// What a crash of a node or a bad disk leaves of the files of git's own store.
func TestFetchRepairsADamagedStore(t *testing.T) {
	t.Parallel()
	truncate := func(pattern string) func(repo string) error {
		return func(repo string) error {
			names, _ := filepath.Glob(filepath.Join(repo, pattern))
			if len(names) == 0 {
				return fmt.Errorf("no file %s", pattern)
			}
			for _, name := range names {
				info, err := os.Stat(name)
				if err == nil {
					err = errors.Join(os.Chmod(name, 0o600), os.Truncate(name, info.Size()/2))
				}
				if err != nil {
					return err
				}
			}
			return nil
		}
	}
	write := func(name, text string) func(repo string) error {
		return func(repo string) error { return os.WriteFile(filepath.Join(repo, name), []byte(text), 0o600) }
	}
	for name, spoil := range map[string]func(repo string) error{
		"half a pack":             truncate("objects/pack/*.pack"),
		"half an index of a pack": truncate("objects/pack/*.idx"),
		"no index of a pack": func(repo string) error {
			names, _ := filepath.Glob(filepath.Join(repo, "objects", "pack", "*.idx"))
			return os.Remove(names[0])
		},
		"no refs": func(repo string) error { return os.RemoveAll(filepath.Join(repo, "refs")) },
		"no branch": func(repo string) error {
			return os.RemoveAll(filepath.Join(repo, "refs", "heads", "main"))
		},
		"HEAD of zeros":        write("HEAD", strings.Repeat("\x00", 23)),
		"an empty HEAD":        write("HEAD", ""),
		"a branch of zeros":    write("refs/heads/main", strings.Repeat("\x00", 41)),
		"no such commit":       write("refs/heads/main", strings.Repeat("1", 40)+"\n"),
		"damaged packed-refs":  write("packed-refs", "# pack-refs with: peeled fully-peeled sorted\nxyz\n"),
		"a zero configuration": write("config", strings.Repeat("\x00", 60)),
		"a damaged shallow":    write("shallow", "xyz\n"),
	} {
		for _, open := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, open %t", name, open), func(t *testing.T) {
				t.Parallel()
				var log bytes.Buffer
				options := Options{Log: slog.New(slog.NewTextHandler(&log, nil))}
				f := newFixture(t, options)
				files := map[string]string{}
				for i := range 200 { // git keeps fewer objects in files of their own
					files[fmt.Sprintf("%d.tf", i)] = fmt.Sprint(i)
				}
				id := f.commit(files)
				f.fetch()
				_, err := f.m.run(t.Context(), command{args: []string{"gc", "--quiet"}})
				f.must(err)
				f.must(os.MkdirAll(f.m.path(repository+"/refs/heads"), 0o700))
				f.must(os.WriteFile(f.m.path(repository+"/refs/heads/main"), []byte(id+"\n"), 0o600))
				f.m.readers.close() // they have the packs open
				f.must(spoil(f.m.path(repository)))
				if !open {
					f.must(f.m.Close())
					f.m = mirror(t, f.m.dir, options)
				}
				read := func() error {
					tree, err := f.m.Tree(t.Context(), id)
					if err != nil {
						return err
					}
					file, _ := tree.Entry("7.tf")
					data, err := f.m.Blob(t.Context(), file.ID, 10)
					if err == nil && string(data) != "7" {
						err = fmt.Errorf("got %q", data)
					}
					return err
				}
				before := read()
				fetch := func() error {
					return f.m.Fetch(t.Context(), f.remote(), FetchOptions{})
				}
				if err := fetch(); err != nil {
					t.Errorf("fetch: %v", err)
				}
				if err := read(); err != nil {
					t.Errorf("before the fetch: %v; after it: %v", before, err)
				}
				if name == "half a pack" && open && !strings.Contains(log.String(), "fetched again") {
					t.Errorf("the log has no line of it: %s", log.String())
				}
				next := f.commit(map[string]string{"7.tf": "8"})
				if err := fetch(); err != nil {
					t.Errorf("fetch: %v", err)
				}
				f.at("main", next)
			})
		}
	}
}

// unpackAll makes each object of the mirror a file of its own.
func (f *fixture) unpackAll() {
	f.Helper()
	f.m.readers.close() // they have the packs open
	packs, _ := filepath.Glob(f.m.path(repository + "/objects/pack/*.pack"))
	for _, name := range packs {
		pack, err := os.ReadFile(name)
		f.must(err)
		f.must(os.Remove(name))
		f.must(os.Remove(strings.TrimSuffix(name, ".pack") + ".idx"))
		cmd := f.m.git(f.Context(), command{args: []string{"unpack-objects", "-q"}})
		cmd.Stdin = bytes.NewReader(pack)
		f.must(cmd.Run())
	}
}

func TestFilesOfAKilledFetchDoNotBlockTheNextFetch(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	f.commit(map[string]string{"main.tf": "a"})
	f.fetch()
	left := []string{"packed-refs.lock", "refs/heads/main.lock", "HEAD.lock", "config.lock", "shallow.lock", "gc.pid",
		"objects/pack/tmp_pack_x", "objects/info/commit-graphs/commit-graph-chain.lock"}
	for _, name := range left {
		name = filepath.Join(f.m.path(repository), name)
		f.must(os.MkdirAll(filepath.Dir(name), 0o700))
		f.must(os.WriteFile(name, nil, 0o600))
	}
	id := f.commit(map[string]string{"main.tf": "b"})
	f.fetch()
	f.at("main", id)
	for _, name := range left {
		if _, err := os.Stat(filepath.Join(f.m.path(repository), name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
	key := f.m.path(sessions + "/session-1/identity") // of a process that was killed
	f.must(os.MkdirAll(filepath.Dir(key), 0o700))
	f.must(os.WriteFile(key, []byte(canary), 0o600))
	f.must(f.m.Close())
	f.m = mirror(t, f.m.dir, Options{})
	if _, err := os.Stat(key); err == nil {
		t.Error("the key is still there")
	}
}

func TestPacksAreConsolidated(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	id := f.commit(map[string]string{"main.tf": "a"})
	f.fetch()
	tree, err := f.m.Tree(t.Context(), id)
	f.must(err)
	file, _ := tree.Entry("main.tf")
	repo := &gitserver.Repo{Dir: f.m.path(repository)}
	_, err = repo.Git("config", "fastimport.unpackLimit", "0")
	f.must(err)
	for range 52 { // as that many fetches leave them
		content := rand.Text()
		f.must(repo.Import(strings.NewReader(fmt.Sprintf("blob\ndata %d\n%s\n", len(content), content))))
	}
	packs := func() int {
		names, _ := filepath.Glob(f.m.path(repository + "/objects/pack/*.pack"))
		return len(names)
	}
	if n := packs(); n < 52 {
		t.Fatalf("%d packs", n)
	}
	fails(t, f.m.Fetch(t.Context(), f.remote(), FetchOptions{Commits: []string{strings.Repeat("12", 20)}}),
		ErrNoRef, "")
	until(t, func() bool { return packs() <= 2 }) // that a commit is missing hinders nothing
	if data, err := f.m.Blob(t.Context(), file.ID, 10); err != nil || string(data) != "a" {
		t.Errorf("a reader that was there before gives %q, %v", data, err)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("CAIRN_CANARY", canary)
	m := mirror(t, t.TempDir(), Options{})
	all := strings.Join(m.environment(
		command{settings: []setting{{"http.https://x/.extraHeader", "Authorization: y"}}}), "\n") + "\n"
	for _, want := range []string{
		"HOME=" + m.dir + "/home\n", "GIT_CONFIG_NOSYSTEM=1\n", "GIT_CONFIG_GLOBAL=/dev/null\n",
		"GIT_TERMINAL_PROMPT=0\n", "GIT_ASKPASS=\n", "SSH_ASKPASS=\n", "LC_ALL=C\n",
		"GIT_ALLOW_PROTOCOL=https:http:ssh\n", "=core.hooksPath\n", "=credential.helper\n", "=core.fsmonitor\n",
		"=protocol.ext.allow\n", "=transfer.fsckObjects\n", "=http.lowSpeedLimit\n",
		"=http.https://x/.extraHeader\n", "=http.followRedirects\n", "=transfer.bundleURI\n",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(all, canary) {
		t.Error("a variable of the process is in it")
	}
}
