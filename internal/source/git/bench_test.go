package git

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"cairn.dev/cairn/test/gitserver"
)

// monorepo has 2,000 stacks, each of which calls one of 60 modules.
func monorepo(b *testing.B) (*gitserver.Repo, *gitserver.HTTP) {
	b.Helper()
	repos := gitserver.New(b)
	repo, err := repos.Init("monorepo")
	if err != nil {
		b.Fatal(err)
	}
	c := gitserver.Change{Files: map[string]string{}}
	for n := range 60 {
		for _, file := range []string{"main.tf", "variables.tf", "outputs.tf"} {
			c.Files[fmt.Sprintf("modules/module-%02d/%s", n, file)] = fmt.Sprintf("# module %d\n%s", n,
				bytes.Repeat([]byte("# a line of code\n"), 100))
		}
	}
	for n := range 2000 {
		c.Files[fmt.Sprintf("envs/x/stack-%04d/main.tf", n)] = fmt.Sprintf(
			"module \"m\" {\n  source = \"../../../modules/module-%02d\"\n  n = %d\n}\n", n%60, n)
	}
	if _, err := repo.Commit(c); err != nil {
		b.Fatal(err)
	}
	server, err := gitserver.ServeHTTP(repos, false)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { server.Close() })
	return repo, server
}

// BenchmarkMonorepo compares what a Run would do without a mirror (clone) with what it does with one, after a push to
// its stack: fetch, resolve, list, archive of the stack and its module.
func BenchmarkMonorepo(b *testing.B) {
	repo, server := monorepo(b)
	remote := Remote{URL: server.URL + repo.Path()}
	for _, depth := range [][]string{nil, {"--depth=1"}} {
		b.Run(fmt.Sprint("clone", depth), func(b *testing.B) {
			dir := b.TempDir()
			for n := 0; b.Loop(); n++ {
				args := append(append([]string{"clone", "--quiet"}, depth...), remote.URL,
					filepath.Join(dir, fmt.Sprint(n)))
				if out, err := exec.CommandContext(b.Context(), "git", args...).CombinedOutput(); err != nil {
					b.Fatalf("%v: %s", err, out)
				}
			}
		})
	}
	m := mirror(b, b.TempDir(), Options{})
	b.Run("first fetch", func(b *testing.B) {
		for b.Loop() {
			if err := os.RemoveAll(m.path(repository)); err != nil {
				b.Fatal(err)
			}
			m.publish(refs{})
			if err := m.Fetch(b.Context(), remote, FetchOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	push := func(b *testing.B, n int) {
		b.StopTimer()
		defer b.StartTimer()
		if _, err := repo.Commit(
			gitserver.Change{Files: map[string]string{"envs/x/stack-0001/main.tf": fmt.Sprintf("# change %d of %p\n", n,
				b)}}); err != nil {
			b.Fatal(err)
		}
	}
	archive := func(b *testing.B) {
		commit, err := m.Resolve(b.Context(), "main")
		if err != nil {
			b.Fatal(err)
		}
		tree, err := m.Tree(b.Context(), commit.ID)
		if err != nil {
			b.Fatal(err)
		}
		stack, _ := tree.Entry("envs/x/stack-0001")
		module, _ := tree.Entry("modules/module-01")
		var out bytes.Buffer
		if err := m.Archive(b.Context(), tree, []Entry{stack, module}, &out); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("push, fetch, archive", func(b *testing.B) {
		for n := 0; b.Loop(); n++ {
			push(b, n)
			if err := m.Fetch(b.Context(), remote, FetchOptions{}); err != nil {
				b.Fatal(err)
			}
			archive(b)
		}
	})
	b.Run("fetch of nothing new", func(b *testing.B) {
		for b.Loop() {
			if err := m.Fetch(b.Context(), remote, FetchOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("archive", func(b *testing.B) {
		for b.Loop() {
			archive(b)
		}
	})
	b.Run("resolve", func(b *testing.B) {
		for b.Loop() {
			if _, err := m.Resolve(b.Context(), "main"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("list", func(b *testing.B) {
		commit, err := m.Resolve(b.Context(), "main")
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			m.o.Trees = NewTrees(0)
			if _, err := m.Tree(b.Context(), commit.ID); err != nil {
				b.Fatal(err)
			}
		}
	})
}
