package closure

import (
	"fmt"
	"path"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"cairn.dev/cairn/internal/source/git"
)

// fuzzed returns a repository from lines "path content", with ; for the end of a line in the content.
func fuzzed(text string) repository {
	r := repository{}
	for line := range strings.Lines(text) {
		name, content, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		plain := strings.TrimSuffix(name, "*")
		if plain == "" || path.Clean("/"+plain) != "/"+plain || strings.ContainsAny(plain, "\x00\t") || len(r) > 50 {
			continue
		}
		r[name] = strings.ReplaceAll(content, ";", "\n")
	}
	// No path can be a file and a directory, or a file of two kinds.
	for name := range r {
		plain, exec := strings.CutSuffix(name, "*")
		if _, both := r[plain]; exec && both {
			delete(r, name)
		}
		for dir := parentOf(plain); dir != ""; dir = parentOf(dir) {
			delete(r, dir)
			delete(r, dir+"*")
		}
	}
	return r
}

func FuzzClosure(f *testing.F) {
	f.Add("app/main.tf "+strings.ReplaceAll(module("a", "../a"), "\n", ";")+"\na/x y\napp/l -> ../b\nb/c d", "app",
		"b/*.x", false)
	f.Add("app/terragrunt.hcl "+strings.ReplaceAll(source(`"../a//b"`)+include(`find_in_parent_folders("root.hcl")`),
		"\n", ";")+"\na/b/x y\nroot.hcl x = 1", "app", "**", true)
	f.Add(`main.tf.json {"module": {"a": {"source": "./a/../../b"}}}`, "", "", false)
	f.Add("app/main.tf "+strings.ReplaceAll(output(`file("${join("/", slice(split("/", path.cwd), 0, 2))}/x")`)+
		output(`templatefile("a.tftpl", { a = regexall("a|b", path.cwd) })`)+
		output(`[for d in local.a : replace(d, "/a/", abspath(var.b))]`)+
		"locals { a = [substr(path.cwd, 1, 2), concat(reverse(local.b), [1])] }", "\n", ";")+
		"\napp/a.tftpl %{ for x in a }${file(\"../${format(\"%s%v\", x, a)}\")}%{ endfor }\nb/c d", "app", "", false)
	f.Add("app/main.tf "+strings.ReplaceAll(localExec("command = \"cd $D && ./x.sh ../y\"\n working_dir = \"../b\""),
		"\n", ";")+"\nb/x.sh cd ..;cat ../a b.txt\nb/b.txt x\ny z", "app", "", false)
	f.Fuzz(func(t *testing.T, text, name, trigger string, terragrunt bool) {
		tree, blobs := fuzzed(text).commit(t)
		c := New(Options{})
		w := Wanted{Path: name, Terragrunt: terragrunt}
		if trigger != "" {
			w.Triggers = []string{trigger}
		}
		got, err := c.Of(t.Context(), tree, blobs, w)
		if err != nil {
			if Reason(err) == "" {
				t.Fatalf("an error without a reason: %v", err)
			}
			return
		}
		for _, dir := range got.Modules {
			if e, ok := tree.Entry(dir); !ok || e.Kind != git.KindDir {
				t.Errorf("module %q is no directory of the repository", dir)
			}
		}
		for i, e := range got.Files {
			if have, ok := tree.Entry(e.Path); !ok || have != e || e.Kind == git.KindDir {
				t.Errorf("%+v is not in the repository", e)
			}
			if i > 0 && got.Files[i-1].Path >= e.Path {
				t.Errorf("%s after %s", e.Path, got.Files[i-1].Path)
			}
		}
		if len(got.Open) > 0 && len(got.Files) != tree.Len()-dirsOf(tree) {
			t.Error("not all files are in the closure, though a source is unknown")
		}
		// The digest is the same from the cache.
		again, err := c.Digest(t.Context(), tree, blobs, w)
		if err != nil || again != got.Digest {
			t.Errorf("%s became %s: %v", got.Digest, again, err)
		}
		// A repository with only the files of the closure has the same digest.
		less := repository{}
		for _, e := range got.Files {
			content := string(blobs.blobs[e.ID])
			switch e.Kind {
			case git.KindExec:
				e.Path += "*"
			case git.KindSymlink:
				content = "-> " + content
			case git.KindSubmodule:
				content = "@"
			}
			less[e.Path] = content
		}
		tree, blobs = less.commit(t)
		if alone, err := New(Options{}).Digest(t.Context(), tree, blobs, w); err != nil || alone != got.Digest {
			t.Errorf("%s alone is %s: %v", got.Digest, alone, err)
		}
	})
}

func dirsOf(tree *git.Tree) int {
	n := 0
	tree.Walk("", func(e git.Entry) {
		if e.Kind == git.KindDir {
			n++
		}
	})
	return n
}

// The files that a glob matches below its base are those that the whole glob matches.
func FuzzGlob(f *testing.F) {
	for _, text := range []string{"**", "a/*", "a/**/c", "{a,b}/c", "a[b]/?", `a\*/**`, `\a/*`, `a\*`, "a[!b]?",
		"a/{b,c/d}/*", "/a", "a//b/"} {
		f.Add(text)
	}
	names := repository{}
	for _, a := range []string{"a", "b", "a[b]", "a*", "ab"} {
		names[a+"/x"] = "1"
		for _, b := range []string{"b", "c", "d"} {
			names[a+"/"+b+"/c"] = "1"
			names[a+"/"+b+"/e/f.tf"] = "1"
		}
	}
	tree, _ := names.commit(f)
	f.Fuzz(func(t *testing.T, text string) {
		g, err := parseGlob(text)
		if err != nil {
			return
		}
		got := map[string]bool{}
		for _, e := range New(Options{}).match(tree, g).files {
			got[e.Path] = true
		}
		var parts []string
		for part := range strings.SplitSeq(text, "/") {
			if part != "" && part != "." {
				parts = append(parts, part)
			}
		}
		whole := strings.Join(parts, "/")
		for name := range names {
			want := doublestar.MatchUnvalidated(whole, name)
			if g.pattern == "" { // a file, or all below a directory
				want = want || doublestar.MatchUnvalidated(whole+"/**", name)
				got[name] = g.base == "" || name == g.base || strings.HasPrefix(name, g.base+"/")
			}
			if want != got[name] {
				t.Errorf("%q (%+v) matches %s: %t, not %t", text, g, name, got[name], want)
			}
		}
	})
}

func FuzzVersionFile(f *testing.F) {
	for _, text := range []string{"1.9.2", "v1.9.2\r\n", "# x\n~> 1.8", "latest:^1.8", "\ufefflatest", "min-required",
		">= 1, < 2 # y", "1.9.2\n1.9.3"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := ParseVersionFile(text)
		switch {
		case err != nil && (got != "" || !utf8.ValidString(err.Error())):
			t.Errorf("%q with %v", got, err)
		case err == nil && got != "" && !isConstraint(got):
			t.Errorf("%q is no constraint", got)
		}
		if err == nil && got != "" {
			if again, err := ParseVersionFile(fmt.Appendf(nil, "\n%s # x\n", got)); err != nil || again != got {
				t.Errorf("%q, read again, is %q: %v", got, again, err)
			}
		}
	})
}
