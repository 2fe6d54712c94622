package runner

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"cairn.dev/cairn/internal/base/egress/egresstest"
	"cairn.dev/cairn/internal/runner/workspace"
	"cairn.dev/cairn/internal/source/closure"
	"cairn.dev/cairn/internal/source/git"
	"cairn.dev/cairn/test/gitserver"
)

// BenchmarkDelivery is what the code of one Stack costs, from a mirror of a repository of 2,000 Stacks and 100,000
// files to the files in the pod: for a Stack that reads nothing outside of its folder and its module, for one that
// reads a file and one that reads a directory of 1,000 files elsewhere. Beside them, a tenth of the repository: an
// archive has at most 10,000 files.
func BenchmarkDelivery(b *testing.B) {
	tree, mirror := largeMonorepo(b)
	for _, bench := range []struct{ name, path string }{
		{"folder and module", "envs/e/stack-0001"},
		{"and a file elsewhere", "envs/e/stack-0002"},
		{"and a directory elsewhere", "envs/e/stack-0003"},
		{"a tenth of the repository", ""},
	} {
		b.Run(bench.name, func(b *testing.B) {
			var files int
			var archived int64
			var pack, unpacked time.Duration
			for b.Loop() {
				// A new memory each time, as for a new Stack.
				found := closure.Closure{Files: tenth(tree)}
				began := time.Now()
				if bench.path != "" {
					var err error
					found, err = closure.New(closure.Options{}).Of(b.Context(), tree, mirror,
						closure.Wanted{Path: bench.path})
					if err != nil || len(found.Open) > 0 {
						b.Fatal(err, found.Open)
					}
				}
				var data bytes.Buffer
				if err := mirror.Archive(b.Context(), tree, found.Files, &data); err != nil {
					b.Fatal(err)
				}
				pack += time.Since(began)
				archived = int64(data.Len())

				dir := b.TempDir()
				began = time.Now()
				root, err := os.OpenRoot(dir)
				if err != nil {
					b.Fatal(err)
				}
				if err := errors.Join(workspace.Unpack(root, &data), root.Close()); err != nil {
					b.Fatal(err)
				}
				unpacked += time.Since(began)
				files = len(found.Files)
				if err := os.RemoveAll(dir); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(files), "files")
			b.ReportMetric(float64(archived), "archive-B")
			b.ReportMetric(float64(pack.Milliseconds())/float64(b.N), "pack-ms")
			b.ReportMetric(float64(unpacked.Milliseconds())/float64(b.N), "unpack-ms")
		})
	}
}

// tenth is about a tenth of all files.
func tenth(tree *git.Tree) []git.Entry {
	var files []git.Entry
	for team := range 10 {
		dir, _ := tree.Dir(fmt.Sprintf("config/team-%02d", team))
		files = append(files, dir[:min(len(dir), 999)]...)
	}
	return files
}

// largeMonorepo has 2,000 Stacks, 60 modules and 96,000 other files of a kilobyte.
func largeMonorepo(b *testing.B) (*git.Tree, *git.Mirror) {
	b.Helper()
	random := rand.NewChaCha8([32]byte{1})
	repos := gitserver.New(b)
	repo, err := repos.Init("monorepo")
	if err != nil {
		b.Fatal(err)
	}
	change := gitserver.Change{Files: map[string]string{}}
	for n := range 60 {
		change.Files[fmt.Sprintf("modules/m%02d/main.tf", n)] = strings.Repeat("# a line of code\n", 100)
	}
	for n := range 2000 {
		code := fmt.Sprintf("module \"m\" {\n  source = \"../../../modules/m%02d\"\n}\n", n%60)
		switch n {
		case 2:
			code += "output \"o\" {\n  value = file(\"${path.module}/../../../config/team-00/file-000.yaml\")\n}\n"
		case 3:
			code += "output \"o\" {\n  value = fileset(\"${path.module}/../../../config/team-00\", \"*.yaml\")\n}\n"
		}
		change.Files[fmt.Sprintf("envs/e/stack-%04d/main.tf", n)] = code
	}
	content := make([]byte, 500)
	for n := range 96_000 {
		if _, err := random.Read(content); err != nil {
			b.Fatal(err)
		}
		change.Files[fmt.Sprintf("config/team-%02d/file-%03d.yaml", n/1000, n%1000)] = fmt.Sprintf("%x", content)
	}
	if _, err := repo.Commit(change); err != nil {
		b.Fatal(err)
	}
	server, err := gitserver.ServeHTTP(repos, false)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = server.Close() })
	mirror, err := git.Open(b.Context(), b.TempDir(), git.Options{Egress: egresstest.Loopback()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = mirror.Close() })
	if err := mirror.Fetch(b.Context(), git.Remote{URL: server.URL + repo.Path()}, git.FetchOptions{}); err != nil {
		b.Fatal(err)
	}
	commit, err := mirror.Resolve(b.Context(), "main")
	if err != nil {
		b.Fatal(err)
	}
	tree, err := mirror.Tree(b.Context(), commit.ID)
	if err != nil {
		b.Fatal(err)
	}
	return tree, mirror
}
