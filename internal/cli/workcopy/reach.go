package workcopy

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"cairn.dev/cairn/internal/hcltext"
)

const (
	// mostModules is how many folders of local modules are followed.
	mostModules = 1000
	// largestCode is how long a file of code may be.
	largestCode = 4 << 20
)

// reach gives a folder and those of all local modules that its code calls, and theirs; and the calls that cannot be
// followed.
func reach(dir string) (folders, unknown []string, err error) {
	folders = []string{dir}
	for i := 0; i < len(folders); i++ {
		sources, open, err := calls(folders[i])
		if err != nil {
			return nil, nil, err
		}
		for _, at := range open {
			unknown = append(unknown, rel(dir, at))
		}
		for _, source := range sources {
			// As an engine has it: by the text of the path, whatever symlinks there are.
			target := filepath.Join(folders[i], filepath.FromSlash(source))
			info, err := os.Stat(target)
			if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
				continue // the engine says it better
			}
			if err != nil {
				return nil, nil, err
			}
			if slices.Contains(folders, target) {
				continue
			}
			if folders = append(folders, target); len(folders) > mostModules {
				return nil, nil, fmt.Errorf("the code in %s calls more than %d local modules", dir, mostModules)
			}
		}
	}
	return folders, unknown, nil
}

func rel(dir, path string) string {
	if r, err := filepath.Rel(dir, path); err == nil {
		return r
	}
	return path
}

// calls gives the sources of the local modules that the code in a folder calls, and where a source cannot be known.
func calls(dir string) (sources, unknown []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, entry := range entries {
		name := entry.Name()
		isJSON := strings.HasSuffix(name, ".tf.json") || strings.HasSuffix(name, ".tofu.json")
		if entry.IsDir() || strings.HasPrefix(name, ".") || !isJSON && !strings.HasSuffix(name, ".tf") && !strings.HasSuffix(name, ".tofu") {
			continue
		}
		text, err := readCode(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // a symlink that leads nowhere
		}
		if err != nil {
			return nil, nil, err
		}
		found, lines := local(text, name, isJSON)
		sources = append(sources, found...)
		for _, line := range lines {
			unknown = append(unknown, fmt.Sprintf("%s:%d", filepath.Join(dir, name), line))
		}
	}
	return sources, unknown, nil
}

func readCode(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(file, largestCode+1))
	if err == nil && len(text) > largestCode {
		err = fmt.Errorf("%s is larger than %d MiB", path, largestCode>>20)
	}
	return text, err
}

var (
	codeSchema   = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "module", LabelNames: []string{"name"}}}}
	moduleSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "source"}}}
)

// local gives the local sources of the modules that a file calls, and the lines of those that have variables in them. Of
// code with errors it reads what it can.
func local(text []byte, name string, isJSON bool) (sources []string, unknown []int) {
	body, _ := hcltext.Parse(text, name, isJSON)
	if body == nil {
		return nil, nil
	}
	content, _, _ := body.PartialContent(codeSchema)
	for _, block := range content.Blocks {
		module, _, _ := block.Body.PartialContent(moduleSchema)
		source := module.Attributes["source"]
		if source == nil {
			continue
		}
		value, diags := source.Expr.Value(nil)
		if diags.HasErrors() || !value.IsWhollyKnown() || value.IsNull() || value.Type() != cty.String {
			unknown = append(unknown, source.Range.Start.Line)
			continue
		}
		text := strings.ReplaceAll(value.AsString(), `\`, "/")
		if text == "." || text == ".." || strings.HasPrefix(text, "./") || strings.HasPrefix(text, "../") {
			sources = append(sources, text)
		}
	}
	return sources, unknown
}
