package engine

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// DefaultWorkspace is the workspace of an engine that selects no other.
const DefaultWorkspace = "default"

// largestCode is how much of a file of code is read for terraform.workspace: its tokens take 300 times as much memory.
const largestCode = 1 << 20

// SetWorkspace sets the name of a workspace in the code in a folder, and in those below it: it writes the name in place
// of terraform.workspace. An engine knows no other workspace than "default" with the backend that keeps the state in
// Cairn (http). Code that cannot be read is the engine's to report.
func SetWorkspace(root *os.Root, name string) error {
	return fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		switch _, kind := CodeFile(entry.Name()); {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == ".git":
			return fs.SkipDir
		case entry.IsDir() || kind == "":
			return nil
		default:
			return setWorkspace(root, path, kind, name)
		}
	})
}

func setWorkspace(root *os.Root, path, kind, name string) error {
	text, err := root.ReadFile(path)
	if err != nil || !bytes.Contains(text, []byte("workspace")) {
		return nil //nolint:nilerr // such as a symlink to nowhere
	}
	if len(text) > largestCode {
		return reject("%s has more than %d MiB, and spec.workspace is set: divide the file", path, largestCode>>20)
	}
	changed := withWorkspace(text, name)
	if kind == ".tf.json" || kind == ".tofu.json" {
		changed = withWorkspaceJSON(text, name)
	}
	if changed == nil {
		return nil
	}
	if err := root.Remove(path); err != nil { // what a symlink points to may be no code
		return err
	}
	return root.WriteFile(path, changed, 0o644)
}

// withWorkspace returns code with a name in place of terraform.workspace; nil where it is not in the code.
func withWorkspace(text []byte, name string) []byte {
	tokens, _ := hclsyntax.LexConfig(text, "", hcl.InitialPos)
	return replaceWorkspace(text, tokens, name)
}

func replaceWorkspace(text []byte, tokens hclsyntax.Tokens, name string) []byte {
	var out []byte
	copied := 0
	for i := 0; i+2 < len(tokens); i++ {
		first, dot, last := tokens[i], tokens[i+1], tokens[i+2]
		if first.Type != hclsyntax.TokenIdent || dot.Type != hclsyntax.TokenDot || last.Type != hclsyntax.TokenIdent ||
			string(last.Bytes) != "workspace" || !slices.Contains([]string{"terraform", "tofu"}, string(first.Bytes)) ||
			i > 0 && tokens[i-1].Type == hclsyntax.TokenDot {
			continue
		}
		out = append(append(out, text[copied:first.Range.Start.Byte]...), strconv.Quote(name)...)
		copied = last.Range.End.Byte
	}
	if out == nil {
		return nil
	}
	return append(out, text[copied:]...)
}

// withWorkspaceJSON is withWorkspace for code in JSON, each string of which may be a template.
func withWorkspaceJSON(text []byte, name string) []byte {
	var out []byte
	copied := 0
	for at := 0; at < len(text); at++ {
		if text[at] != '"' {
			continue
		}
		end := at + 1
		for end < len(text) && text[end] != '"' {
			if text[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(text) {
			break
		}
		var s string
		if json.Unmarshal(text[at:end+1], &s) == nil {
			tokens, _ := hclsyntax.LexTemplate([]byte(s), "", hcl.InitialPos)
			if changed := replaceWorkspace([]byte(s), tokens, name); changed != nil {
				quoted, _ := json.Marshal(string(changed)) // a string can be written
				out = append(append(out, text[copied:at]...), quoted...)
				copied = end + 1
			}
		}
		at = end
	}
	if out == nil {
		return nil
	}
	return append(out, text[copied:]...)
}
