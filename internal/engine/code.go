package engine

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
)

// OverrideFile makes the engine keep the state where Cairn tells it to. Engines read files of that kind in the order of
// their names, the last one wins.
const OverrideFile = "zz_cairn_override.tf"

// Override is what OverrideFile holds. The address is not in it but comes from the environment: a saved plan remembers
// a backend's arguments, and the pod that applies it may have another address.
const Override = `terraform {
  backend "http" {}
}
`

// Refused is why Cairn cannot run some code; a person has to change it.
type Refused struct{ Reason string }

func (r *Refused) Error() string { return r.Reason }

// CheckCode looks for what would make an engine keep the state of a root module elsewhere than Override says, would
// lose one that is there, or would end everything by mistake. The error is a *Refused when the code is at fault. Code that cannot be read is none of its
// business: the engine says better what is wrong with it.
func CheckCode(root fs.FS) error {
	entries, err := fs.ReadDir(root, ".")
	if err != nil {
		return fmt.Errorf("read the code: %w", err)
	}
	names, code := map[string]bool{}, 0
	for _, entry := range entries {
		names[entry.Name()] = true
	}
	for _, entry := range entries {
		name := entry.Name()
		base, kind := split(name)
		switch {
		case name == LocalState:
			return refuse("the code comes with a state (%s), which Cairn would ignore: move it into Cairn or take the file away", name)
		case kind == "" || strings.HasPrefix(name, ".") || entry.IsDir() || names[base+strings.Replace(kind, ".tf", ".tofu", 1)] && strings.HasPrefix(kind, ".tf"):
			continue // not code, or a .tf file with a .tofu file beside it that is read in its place
		case base+".tf" == OverrideFile:
			return refuse("the code has a file %s; this name is Cairn's own", name)
		}
		code++
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return fmt.Errorf("read the code: %w", err)
		}
		if at := block(name, text, "cloud"); at > 0 {
			return refuse("%s:%d: the code keeps its state in a cloud block; move the state into Cairn and take the block away", name, at)
		}
		if at := block(name, text, "backend"); at > 0 && strings.HasSuffix(base, "_override") && name > OverrideFile {
			return refuse("%s:%d: an override file whose name sorts after %s must not have a backend block", name, at, OverrideFile)
		}
	}
	if code == 0 {
		// The engine would say so too, were it not for OverrideFile; with it, it would plan the end of everything.
		return refuse("there is no code: no file named *.tf or *.tofu in the root module")
	}
	return nil
}

func refuse(format string, args ...any) error { return &Refused{Reason: fmt.Sprintf(format, args...)} }

// split gives the name of a file of code without what says the kind of it, and the latter; or no kind.
func split(name string) (base, kind string) {
	for _, kind := range []string{".tf", ".tofu", ".tf.json", ".tofu.json"} {
		if base, ok := strings.CutSuffix(name, kind); ok {
			return base, kind
		}
	}
	return name, ""
}

// block gives the line of the first block of a type within a terraform block, or 0.
func block(name string, text []byte, kind string) int {
	parser := hclparse.NewParser()
	var file *hcl.File
	if path.Ext(name) == ".json" {
		file, _ = parser.ParseJSON(text, name)
	} else {
		file, _ = parser.ParseHCL(text, name)
	}
	if file == nil || file.Body == nil {
		return 0
	}
	content, _, _ := file.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "terraform"}}})
	for _, outer := range content.Blocks {
		header := hcl.BlockHeaderSchema{Type: kind}
		if kind == "backend" {
			header.LabelNames = []string{"type"}
		}
		inner, _, _ := outer.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{header}})
		for _, found := range inner.Blocks {
			return found.DefRange.Start.Line
		}
	}
	return 0
}
