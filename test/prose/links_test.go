package main

import (
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cairn.dev/cairn/internal/base/version"
)

// link is one within the repository: [text](page.md#anchor).
var link = regexp.MustCompile(`\]\(([^)\s:]*?)(#[^)\s]*)?\)`)

// codeSpan is one within a line, in which there are no links.
var codeSpan = regexp.MustCompile("`[^`\n]+`")

// anchors are those of a page's headings, as GitHub and GitLab create them.
func anchors(page string) (all []string) {
	seen := map[string]int{}
	fenced := false
	for line := range strings.Lines(page) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		title, heading := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if fenced || !heading || !strings.HasPrefix(line, "#") {
			continue
		}
		anchor := strings.ReplaceAll(notInAnchors.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
		seen[anchor]++
		if n := seen[anchor] - 1; n > 0 {
			anchor = fmt.Sprintf("%s-%d", anchor, n)
		}
		all = append(all, "#"+anchor)
	}
	return all
}

var notInAnchors = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// brokenLinks are the links of a page whose page, or whose anchor in it, does not exist.
func brokenLinks(t *testing.T, page string) (broken []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range link.FindAllStringSubmatch(codeSpan.ReplaceAllString(string(text), ""), -1) {
		to, anchor := page, found[2]
		if found[1] != "" {
			to = filepath.Join(filepath.Dir(page), found[1])
		}
		target, err := os.ReadFile(to)
		if err == nil && anchor != "" && !slices.Contains(anchors(string(target)), anchor) {
			err = os.ErrNotExist
		}
		if info, bad := os.Stat(to); bad == nil && info.IsDir() && anchor == "" {
			err = nil
		}
		if err != nil {
			broken = append(broken, found[1]+anchor)
		}
	}
	return broken
}

func TestLinksOfDocumentation(t *testing.T) {
	pages := []string{"../../README.md", "../../CONTRIBUTING.md"}
	err := filepath.WalkDir("../../docs", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && entry.Name() == "node_modules" {
			return filepath.SkipDir
		}
		if filepath.Ext(name) == ".md" {
			pages = append(pages, name)
		}
		return err
	})
	if err != nil || len(pages) < 20 {
		t.Fatal(pages, err)
	}
	for _, page := range pages {
		for _, to := range brokenLinks(t, page) {
			t.Errorf("%s: broken link %s", page, to)
		}
	}
}

// docsURL is the URL of a page in a text.
var docsURL = regexp.MustCompile(regexp.QuoteMeta(version.Docs) + `([\w/.-]*\.md)(#[a-z0-9-]+)?`)

// pathOfDocs is the path of a page in the repository, which users of a binary do not have.
var pathOfDocs = regexp.MustCompile(`(^|[^/\w])docs/[a-z-]+/[\w-]+\.md`)

// TestPagesThatMessagesName checks that messages have the URL of a page, and that the page and its anchor exist.
func TestPagesThatMessagesName(t *testing.T) {
	found := 0
	for _, p := range program(t) {
		if p.PkgPath == "cairn.dev/cairn/cmd/gendocs" { // it writes these pages
			continue
		}
		for _, file := range p.Syntax {
			textsOf(p.TypesInfo, file, func(at token.Pos, text string) {
				where := p.Fset.Position(at)
				if path := pathOfDocs.FindString(text); path != "" {
					t.Errorf("%s: %s is a path of the repository: write version.Docs and the page", where,
						strings.TrimSpace(path))
				}
				for _, match := range docsURL.FindAllStringSubmatch(text, -1) {
					found++
					page, err := os.ReadFile(filepath.Join("..", "..", "docs", match[1]))
					if err != nil || match[2] != "" && !slices.Contains(anchors(string(page)), match[2]) {
						t.Errorf("%s: there is no page %s%s", where, match[1], match[2])
					}
				}
			})
		}
	}
	if found < 15 {
		t.Errorf("found %d pages: are they written in another way now?", found)
	}
}

// linkOfHome is one of the page that only the site has, docs/index.md.
var linkOfHome = regexp.MustCompile(`(?m)^ +link: /(\S+)$`)

func TestLinksOfHomePage(t *testing.T) {
	text, err := os.ReadFile("../../docs/index.md")
	if err != nil {
		t.Fatal(err)
	}
	found := linkOfHome.FindAllStringSubmatch(string(text), -1)
	for _, to := range found {
		if _, err := os.Stat("../../docs/" + to[1] + ".md"); err != nil {
			t.Error(err)
		}
	}
	if len(found) < 5 {
		t.Errorf("found %d links: are they written in another way now?", len(found))
	}
}

func TestBrokenLinkIsReported(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "page.md")
	text := "# Access, and why\n## Twice\n## Twice\n```\n# none\n```\n" +
		"[a](#access-and-why) [b](page.md#twice-1) [c](.) [d](https://example.com/x#y)\n[e](other.md) " +
		"`[x](other.md)` [f](#none) [g](page.md#thrice)\n"
	if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(brokenLinks(t, page), " "); got != "other.md #none page.md#thrice" {
		t.Error(got)
	}
}
