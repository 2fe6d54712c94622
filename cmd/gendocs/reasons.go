package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/approval"
)

const (
	reasonsPage = "docs/troubleshooting/reasons.md"
	reasonsOfUI = "web/src/api/reasons.ts"
	digestsOfUI = "web/src/api/digests.ts"
	// listOfReasons is the heading of the index in reasonsPage.
	listOfReasons = "## All reasons\n\n"
)

// writeReasons writes the index of reasons, and what the web UI reads: a part of the table of reasons, and the length
// of digests.
func writeReasons(root string) error {
	repository := os.DirFS(root)
	page, err := reasonsIndex(repository)
	if err != nil {
		return err
	}
	for name, text := range map[string]string{reasonsPage: page, reasonsOfUI: waitsOfUI(),
		digestsOfUI: lengthOfDigests()} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil { //nolint:gosec // all can read it
			return err
		}
	}
	return nil
}

// reasonsIndex returns the page of all reasons: its text, and as the last section a link to the section of each.
func reasonsIndex(repository fs.FS) (string, error) {
	page, err := fs.ReadFile(repository, reasonsPage)
	if err != nil {
		return "", err
	}
	before, _, ok := strings.Cut(string(page), listOfReasons)
	if !ok {
		return "", fmt.Errorf("%s has no section %q", reasonsPage, strings.TrimSpace(listOfReasons))
	}
	sections, err := sectionsOfReasons(repository)
	if err != nil {
		return "", err
	}
	links := map[string][]string{} // by the first letter
	for _, r := range v1alpha1.Reasons() {
		if sections[r.Name] == "" {
			return "", fmt.Errorf("no page of docs/troubleshooting has the section ### %s", r.Name)
		}
		links[r.Name[:1]] = append(links[r.Name[:1]], fmt.Sprintf("[%s](%s#%s)", r.Name, sections[r.Name],
			strings.ToLower(r.Name)))
	}
	text := before + listOfReasons
	for _, letter := range slices.Sorted(maps.Keys(links)) {
		slices.SortFunc(links[letter], func(a, b string) int {
			return cmp.Compare(strings.ToLower(a), strings.ToLower(b))
		})
		text += wrapped("- ", links[letter])
	}
	return text, nil
}

// sectionsOfReasons returns the pages of docs/troubleshooting by their headings of the third level.
func sectionsOfReasons(repository fs.FS) (map[string]string, error) {
	pages, err := fs.Glob(repository, "docs/troubleshooting/*.md")
	if err != nil {
		return nil, err
	}
	sections := map[string]string{}
	for _, name := range pages {
		text, err := fs.ReadFile(repository, name)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			if heading, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "### "); ok {
				sections[heading] = path.Base(name)
			}
		}
	}
	return sections, nil
}

// wrapped returns a list item of words that are separated by commas, in lines of at most 120 columns.
func wrapped(mark string, words []string) string {
	var text strings.Builder
	line := mark + words[0]
	for _, word := range words[1:] {
		if len(line)+len(", ,")+len(word) > 120 {
			text.WriteString(line + ",\n")
			line = "  " + word
		} else {
			line += ", " + word
		}
	}
	return text.String() + line + "\n"
}

// waitsOfUI returns what objects wait for as TypeScript, in the order of their names.
func waitsOfUI() string {
	waits, texts := map[string]string{}, map[string]string{}
	for _, r := range v1alpha1.Reasons() {
		if r.WaitsFor != "" {
			waits[r.Name], texts[string(r.WaitsFor)] = string(r.WaitsFor), r.WaitsFor.Text()
		}
	}
	return "/* Written by `make generate` from the reasons of api/v1alpha1. */\n\n" +
		"/** What an object waits for, as the end of a sentence. */\n" +
		"export const waitsForText = {\n" + entries(texts) + "}\nexport type WaitsFor = keyof typeof waitsForText\n\n" +
		"/** What an object waits for, by the reason of its condition. */\n" +
		"export const waits: Partial<Record<string, WaitsFor>> = {\n" + entries(waits) + "}\n"
}

// lengthOfDigests returns as TypeScript how many digits name a plan.
func lengthOfDigests() string {
	return "/* Written by `make generate` from internal/lifecycle/approval. */\n\n" +
		"/** How many hexadecimal digits of its digest name a plan. No other plan can be given the same ones. */\n" +
		fmt.Sprintf("export const shortDigest = %d\n", approval.ShortDigest)
}

func entries(of map[string]string) string {
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(of)) {
		fmt.Fprintf(&text, "  %s: '%s',\n", key, of[key])
	}
	return text.String()
}
