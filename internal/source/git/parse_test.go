package git

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestUnusualCommitIsParsed(t *testing.T) {
	tree := strings.Repeat("ab", 20)
	for _, c := range []struct {
		name, text string
		want       Commit
	}{
		{"as git writes it", "tree " + tree + "\nparent x\nauthor Al <a@b> 1700000000 +0100\ncommitter Bo <b@b> " +
			"1700000001 +0000\ngpgsig -----BEGIN\n x\n\nSubject\n\nBody",
			Commit{Tree: tree, Author: "Al", Subject: "Subject", Time: time.Unix(1_700_000_001, 0).UTC()}},
		{"without a message", "tree " + tree + "\nauthor Al <a@b> 1 +0000\ncommitter Al <a@b> 1 +0000\n\n",
			Commit{Tree: tree, Author: "Al", Time: time.Unix(1, 0).UTC()}},
		{"without a time", "tree " + tree + "\nauthor Al\ncommitter Al <a> x\n\n\n\nlate",
			Commit{Tree: tree, Author: "Al", Subject: "late"}},
		{"with control characters", "tree " + tree + "\nauthor A\x1b[2Jl <a> 1 +0\n\n\x1b[31mred\xff",
			Commit{Tree: tree, Author: "A [2Jl", Subject: "[31mred\uFFFD"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseCommit([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if c, err := parseCommit([]byte("author x\n\ntree " + tree)); err == nil {
		t.Errorf("without a tree it is %+v", c)
	}
}

func FuzzParseCommit(f *testing.F) {
	f.Add([]byte("tree " + strings.Repeat("ab", 20) + "\nauthor Al <a@b> 1700000000 +0100\ncommitter Bo <b@b> 1 " +
		"+0000\n\nSubject"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parseCommit(data)
		if err != nil {
			return
		}
		if !isID(c.Tree) {
			t.Errorf("tree %q", c.Tree)
		}
		for _, text := range []string{c.Author, c.Subject} {
			if !utf8.ValidString(text) || strings.ContainsAny(text, "\n\x00\x1b") ||
				utf8.RuneCountInString(text) > 303 {
				t.Errorf("%q", text)
			}
		}
	})
}

func TestOnlyLFSPointersAreParsed(t *testing.T) {
	oid := strings.Repeat("ab", 32)
	pointerText := "version https://git-lfs.github.com/spec/v1\noid sha256:" + oid + "\nsize 12345\n"
	if p, ok := parsePointer([]byte(pointerText)); !ok || p != (pointer{oid, 12345}) {
		t.Errorf("got %v, %v", p, ok)
	}
	for name, text := range map[string]string{
		"code":               "resource {}\n",
		"another version":    strings.Replace(pointerText, "v1", "v2", 1),
		"another hash":       strings.Replace(pointerText, "sha256", "sha512", 1),
		"a path as a digest": strings.Replace(pointerText, oid, "../"+oid[3:], 1),
		"a short digest":     strings.Replace(pointerText, oid, oid[:40], 1),
		"a negative size":    strings.Replace(pointerText, "12345", "-1", 1),
		"no size":            strings.Replace(pointerText, "size 12345\n", "", 1),
		"a large file":       pointerText + strings.Repeat("x", mostPointer),
	} {
		if p, ok := parsePointer([]byte(text)); ok {
			t.Errorf("%s is the pointer %v", name, p)
		}
	}
}

func FuzzParsePointer(f *testing.F) {
	f.Add([]byte("version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat("ab", 32) + "\nsize 1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, ok := parsePointer(data); ok && (len(p.oid) != 64 || strings.ContainsAny(p.oid, "/.") || p.size < 0) {
			t.Errorf("%+v", p)
		}
	})
}

func FuzzParseSubmodules(f *testing.F) {
	f.Add([]byte("submodule.a.path\nmodules/a\x00submodule.a.url\n../a.git\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if n := len(parseSubmodules(data)); n > strings.Count(string(data), ".url") {
			t.Errorf("%d submodules", n)
		}
	})
}

func FuzzParseRefs(f *testing.F) {
	f.Add([]byte("* 1 refs/heads/main commit\n  2 refs/tags/v1 tag\n"))
	f.Fuzz(func(_ *testing.T, data []byte) { parseRefs(data) })
}
