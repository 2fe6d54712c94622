package closure

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

// randomRepository has folders of code that call each other, symlinks from one to another, version files and
// Terragrunt.
func randomRepository(r *rand.Rand) repository {
	dirs := []string{"a", "b", "a/c", "a/c/d", "e/f", "b/g"}
	up := func(from, to string) string { return strings.Repeat("../", depth(from)) + to }
	repo := repository{"README": "x"}
	for _, dir := range dirs {
		code := ""
		for range r.IntN(3) {
			to := dirs[r.IntN(len(dirs))]
			switch r.IntN(12) {
			case 0:
				to += "/none"
			case 1:
				to = "link/" + to
			case 2:
				to = "${var.x}/" + to
			}
			code += module("m", up(dir, to))
		}
		switch to := dirs[r.IntN(len(dirs))]; r.IntN(10) {
		case 0:
			code += output(`file("${path.module}/` + up(dir, to) + `/x.yaml")`)
		case 1:
			code += output(`fileexists("` + up(dir, "none") + `") ? file("${path.root}/` +
				up(dir, to+"/${var.x}.yaml") + `") : ""`)
		case 2:
			code += output(`"${dirname(abspath(path.module))}/README"`)
		case 3:
			code += localExec(`command = "sh ./x.yaml ` + up(dir, to+"/x.yaml") + `"`)
		}
		file := []string{"main.tf", "main.tofu", "other.tf"}[r.IntN(3)]
		repo[dir+"/"+file] = code
		to := dirs[r.IntN(len(dirs))]
		switch r.IntN(8) {
		case 0:
			repo[dir+"/link"] = "-> " + up(dir, to)
		case 1:
			repo[dir+"/file.yaml"] = "-> " + up(dir, to+"/"+file)
		case 2:
			repo[dir+"/.opentofu-version"] = fmt.Sprintf("1.%d.0", r.IntN(3))
		case 3:
			repo[dir+"/x.yaml*"] = "cat " + up(dir, to) + "/x.yaml"
		case 4:
			repo[dir+"/y.hcl"] = ""
		}
		terragrunt := ""
		switch r.IntN(5) {
		case 0:
			terragrunt = source(`"` + up(dir, to) + `"`)
		case 1:
			terragrunt = include(`find_in_parent_folders("y.hcl", "main.tf")`)
		case 2:
			terragrunt = "dependency \"d\" {\n config_path = \"" + up(dir, to) + "\"\n}\n"
		}
		repo[dir+"/terragrunt.hcl"] = terragrunt + "# " + dir
	}
	if r.IntN(2) == 0 {
		repo["link"] = "-> ."
	}
	return repo
}

func TestInRandomRepositoriesTheDigestChangesOnlyWithFilesOfTheClosure(t *testing.T) {
	changed, kept := 0, 0
	for seed := range uint64(120) {
		random := rand.New(rand.NewPCG(seed, 1))
		before := randomRepository(random)
		w := Wanted{Path: []string{"a", "a/c", "e/f", "b"}[random.IntN(4)], Terragrunt: random.IntN(3) == 0}
		w.Triggers = [][]string{nil, {"**/*.yaml"}, {"b/*"}, {"e/**"}, {"?/{c,g}/*.tf"}}[random.IntN(5)]
		c := New(Options{})
		tree, blobs := before.commit(t)
		closure, err := c.Of(t.Context(), tree, blobs, w)
		if err != nil {
			continue
		}
		included := map[string]bool{}
		for _, e := range closure.Files {
			included[e.Path] = true
		}
		for name, content := range before {
			plain := strings.TrimSuffix(name, "*")
			for what, after := range map[string]repository{
				"edited":               before.with(repository{name: content + "\n# edited"}),
				"deleted":              before.with(repository{name: ""}),
				"replaced by a folder": before.with(repository{name: "", plain + "/x": "x"}),
			} {
				tree, blobs := after.commit(t)
				digest, err := c.Digest(t.Context(), tree, blobs, w)
				fresh, freshErr := New(Options{}).Digest(t.Context(), tree, blobs, w)
				if digest != fresh || Reason(err) != Reason(freshErr) {
					t.Errorf("seed %d: %s %s: %s (%v) with caches, %s (%v) without", seed, name, what, digest, err,
						fresh, freshErr)
				}
				switch same := digest == closure.Digest; {
				case same && included[plain]:
					t.Errorf("seed %d: %s is in the closure of %+v; %s, the digest is the same", seed, name, w, what)
				case !same && !included[plain] && what == "edited":
					t.Errorf("seed %d: %s is not in the closure of %+v; %s, the digest changes: %v", seed, name,
						w, what, err)
				case same:
					kept++
				default:
					changed++
				}
			}
		}
	}
	if changed < 300 || kept < 300 {
		t.Errorf("%d changed and %d kept the digest: the repositories are not as random as they should be",
			changed, kept)
	}
}

func TestConcurrentUse(t *testing.T) {
	c := New(Options{CacheBytes: 20_000}) // so few entries that answers are dropped
	want := mustOf(t, base(), wanted()).Digest
	tree, blobs := base().commit(t)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for j := range 50 {
				w := wanted()
				if w.Triggers = append(w.Triggers, "none/"+fmt.Sprint((i+j)%20)); j%2 == 0 {
					w.Path = "./app"
				}
				if got, err := c.Of(t.Context(), tree, blobs, w); err != nil || got.Digest != want {
					t.Errorf("got %s: %v", got.Digest, err)
				}
			}
		})
	}
	group.Wait()
}
