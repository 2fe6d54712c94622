// Command gendocs writes the pages of docs/reference that follow from the source, the index of reasons in
// docs/troubleshooting, and what the web UI reads of the reasons and of digests: `make generate`.
//
// Each page has an introduction in pages/, written by hand, with a line "[generated]" that is replaced by the text from
// the source: the types of the API and their CRDs, the commands, the values of the chart, the metrics, the OpenAPI
// document.
package main

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// introductions have the parts of the pages that are written by hand.
//
//go:embed pages/*.md
var introductions embed.FS

// mark is the line of an introduction that the generated text replaces.
const mark = "\n[generated]\n"

// pages are the generators of the pages, by the name of the page. They read the repository.
var pages = map[string]func(repository fs.FS) (string, error){
	"api.md":         apiPage,
	"cli.md":         commandsPage,
	"environment.md": environmentPage,
	"helm.md":        valuesPage,
	"http-api.md":    httpPage,
	"metrics.md":     metricsPage,
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gendocs ROOT, the folder of the repository")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "gendocs:", err)
		os.Exit(1)
	}
}

// write writes all pages of the repository in the folder root.
func write(root string) error {
	for name, generate := range pages {
		text, err := page(os.DirFS(root), name, generate)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		to := filepath.Join(root, "docs", "reference", name)
		if err := os.WriteFile(to, []byte(text), 0o644); err != nil { //nolint:gosec // a page that all can read
			return err
		}
	}
	return writeReasons(root)
}

// page returns the text of a page.
func page(repository fs.FS, name string, generate func(fs.FS) (string, error)) (string, error) {
	text, err := introductions.ReadFile("pages/" + name)
	if err != nil {
		return "", err
	}
	before, after, ok := strings.Cut(string(text), mark)
	if !ok {
		return "", fmt.Errorf("pages/%s has no line [generated]", name)
	}
	middle, err := generate(repository)
	if err != nil {
		return "", err
	}
	return before + "\n" + strings.Trim(middle, "\n") + "\n" + after, nil
}
