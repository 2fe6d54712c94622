package closure

import (
	"context"
	"fmt"
	"testing"

	"cairn.dev/cairn/internal/source/git"
)

// monorepo has 2,000 Stacks of two files, 60 modules of three that call one another, and 1,800 other files. Every third
// Stack has a trigger.
func monorepo() (repository, []Wanted) {
	r := repository{".opentofu-version": "1.12.6\n"}
	for i := range 60 {
		dir := fmt.Sprintf("modules/m%02d", i)
		r[dir+"/main.tf"] = fmt.Sprintf(
			"variable \"a\" {}\nresource \"terraform_data\" \"a%d\" {\n  input = var.a\n}\n", i)
		r[dir+"/outputs.tf"] = "output \"a\" {\n  value = 1\n}\n"
		r[dir+"/README"] = "x"
		if i >= 50 {
			r[dir+"/net.tf"] = module("base", fmt.Sprintf("../m%02d", i-50))
		}
	}
	for i := range 1800 {
		r[fmt.Sprintf("shared/s%02d/f%02d.yaml", i%60, i/60)] = fmt.Sprint(i)
	}
	var all []Wanted
	for i := range 2000 {
		dir := fmt.Sprintf("envs/e%02d/stack%04d", i%20, i)
		r[dir+"/main.tf"] = module("m", fmt.Sprintf("../../../modules/m%02d", i%60)) + requires(">= 1.5")
		r[dir+"/terraform.tfvars"] = fmt.Sprintf("a = %d\n", i)
		w := Wanted{Path: dir}
		switch i % 9 {
		case 0:
			w.Triggers = []string{fmt.Sprintf("shared/s%02d/**", i%60)}
		case 3:
			w.Triggers = []string{fmt.Sprintf("shared/s%02d/*.yaml", i%60)}
		case 6:
			w.Triggers = []string{"**/*.none"}
		}
		all = append(all, w)
	}
	return r, all
}

func each(b *testing.B, c *Closures, tree *git.Tree, blobs Blobs, all []Wanted, files bool) {
	b.Helper()
	for _, w := range all {
		var err error
		if files {
			_, err = c.Of(context.Background(), tree, blobs, w)
		} else {
			_, err = c.Digest(context.Background(), tree, blobs, w)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTwoThousand measures one commit: the closures of all Stacks, after one file changed. Each case changes
// another file, and thereby another number of Stacks.
func BenchmarkTwoThousand(b *testing.B) {
	r, all := monorepo()
	before, blobs := r.commit(b)
	b.Run("cold", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			each(b, New(Options{}), before, blobs, all, true)
		}
	})
	for _, tt := range []struct{ name, file string }{
		{"nothing", ""}, {"a README", "README"}, {"one Stack", "envs/e00/stack0000/main.tf"},
		{"a module", "modules/m07/main.tf"},
		{"a trigger", "shared/s03/f01.yaml"}, {"the version file", ".opentofu-version"},
	} {
		after, changed := r.commit(b)
		if tt.file != "" {
			after, changed = r.with(repository{tt.file: "# changed\n"}).commit(b)
		}
		for name, files := range map[string]bool{"Digest": false, "Of": true} {
			b.Run("warm/"+tt.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer()
					c := New(Options{})
					each(b, c, before, blobs, all, false)
					b.StartTimer()
					each(b, c, after, changed, all, files)
				}
			})
		}
	}
}
