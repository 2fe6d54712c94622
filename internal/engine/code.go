package engine

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"cairn.dev/cairn/internal/engine/hclparse"
	"cairn.dev/cairn/internal/runnerapi"
)

// OverrideFile sets the backend to which Cairn has the engine write the state. Engines read files of that kind in the
// order of their names, the last one wins.
const OverrideFile = "zz_cairn_override.tf"

// Backend is where the engine keeps the state itself. The zero one is Cairn's, which engines know as http.
type Backend struct {
	// Type of it; empty when it is Cairn's, or the code's own.
	Type string
	// FromCode takes the code's own as it is.
	FromCode bool
}

// ForbiddenBackend returns why no state can be kept in a backend of a type; empty when one can.
func ForbiddenBackend(kind string) string {
	switch kind {
	case "", "local":
		return "a local state is gone with its pod"
	case "remote", "cloud":
		return fmt.Sprintf("backend %s runs the engine elsewhere", kind)
	}
	return ""
}

// Override is what OverrideFile holds.
func (b Backend) Override() string {
	switch {
	case b.FromCode: // it is there all the same: by it the folder is known
		return "# Cairn leaves the backend to the code.\n"
	case b.Type != "":
		return fmt.Sprintf("terraform {\n  backend %q {}\n}\n", b.Type)
	}
	return Override
}

// Own reports whether the state is in no store of Cairn's.
func (b Backend) Own() bool { return b.FromCode || b.Type != "" }

// Override is what OverrideFile holds when Cairn keeps the state. The address is not in it but comes from the
// environment: a saved plan remembers a backend's arguments, and the pod that applies it may have another address.
const Override = `terraform {
  backend "http" {}
}
`

// Rejection is why Cairn cannot run some code; a user has to change it.
type Rejection struct {
	Reason string
	// Code is the reason for programs; empty for most.
	Code string
}

func (r *Rejection) Error() string { return r.Reason }

// CheckCode checks for code with which an engine would keep the state of a root module elsewhere than in the backend of
// Override, would lose an existing state, or would destroy everything by mistake. The error is a *Rejection when the
// code is at fault. It ignores code that cannot be read: the engine has a better message for it.
//
// Where a wrapper assembles the root module, the code may be elsewhere: CheckBackend checks the result.
func CheckCode(e Engine, b Backend, root fs.FS) error {
	names, code, err := codeFiles(root)
	if err != nil {
		return err
	}
	if names[LocalState] {
		return reject("the code comes with a state (%s), which Cairn would ignore: move it into Cairn or take "+
			"the file away", LocalState)
	}
	for _, name := range code {
		base, _ := CodeFile(name)
		if base+".tf" == OverrideFile || base+".tf" == ImportFile {
			return reject("the code has a file %s; this name is Cairn's own", name)
		}
		text, err := readCode(root, name)
		if err != nil {
			return err
		}
		if found := block(name, text, "encryption"); found != nil && b.Own() {
			return reject("%s: the engine encrypts the state, and Cairn's copy of what is in spec.backend would be "+
				"in clear: take the encryption block away, or leave the state to Cairn, which keeps it as the engine "+
				"encrypts it", at(found))
		}
		if found := block(name, text, "cloud"); found != nil {
			return &Rejection{Code: BackendInCode, Reason: fmt.Sprintf(
				"%s: the code keeps its state in a cloud block; move the state into Cairn and take the block away",
				at(found))}
		}
		found := block(name, text, "backend")
		if found != nil && !b.FromCode && strings.HasSuffix(base, "_override") && name > OverrideFile {
			return reject("%s: an override file whose name sorts after %s must not have a backend block", at(found),
				OverrideFile)
		}
	}
	if file := e.Traits.RootFile; file != "" {
		if !names[file] && !names[file+".json"] {
			return reject("there is no %s in the root module's folder", file)
		}
		return nil
	}
	if len(code) == 0 {
		// The engine would reject it too without OverrideFile; with it, it would plan to destroy everything.
		return reject("there is no code: no file named *.tf or *.tofu in the root module")
	}
	return nil
}

// CheckBackend checks the result of an init, in the folder where it ran: the state has to be in the backend of
// Override. The error is a *Rejection when it is not. It returns the type of the backend.
func CheckBackend(b Backend, root fs.FS) (string, error) {
	data, err := fs.ReadFile(root, path.Join(DataDir, LocalState))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the result of init: %w", err)
	}
	var made struct{ Backend struct{ Type string } }
	if err == nil {
		err = json.Unmarshal(data, &made)
	}
	want := "http"
	switch {
	case b.FromCode && (err == nil || errors.Is(err, fs.ErrNotExist)):
		if why := ForbiddenBackend(made.Backend.Type); why != "" {
			return "", reject("spec.backend.fromCode, and the code has no backend that can keep the state: %s", why)
		}
		return made.Backend.Type, nil
	case b.Type != "":
		want = b.Type
	}
	if err != nil || made.Backend.Type != want {
		return "", reject("the code keeps its state elsewhere (backend %q); Cairn's %s does not come last in it",
			made.Backend.Type, OverrideFile)
	}
	return want, nil
}

// BackendInCode is the reason where the code has a backend of its own, which Cairn's override would replace.
const BackendInCode = runnerapi.ReasonBackendInCode

// OwnBackend is a backend block in code.
type OwnBackend struct {
	// Type of the backend, and At the place of the block: file:line.
	Type, At string
	// Arguments are those that the block sets, and its own blocks. A value that is not a literal is nil.
	Arguments map[string]json.RawMessage
}

// FindBackend returns the backend block of a root module that OverrideFile replaces; nil when there is none. A block of
// type local does not count: it is the default of the engine, and the file that it names is on a user's machine.
func FindBackend(root fs.FS) (*OwnBackend, error) {
	_, code, err := codeFiles(root)
	if err != nil {
		return nil, err
	}
	var own *OwnBackend
	for _, name := range code {
		if name == OverrideFile {
			continue
		}
		text, err := readCode(root, name)
		if err != nil {
			return nil, err
		}
		// The block of an override file replaces that of any other file.
		if found := block(name, text, "backend"); found != nil && found.Labels[0] != "local" && (own == nil ||
			IsOverride(name)) {
			own = &OwnBackend{Type: found.Labels[0], At: at(found), Arguments: arguments(found.Body)}
		}
	}
	return own, nil
}

// longestLiteral is how many bytes of an expression are evaluated: its levels are levels of the stack.
const longestLiteral = 4096

// arguments are the attributes of a block and the blocks in it, with the values of those that are literals.
func arguments(body hcl.Body) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	attributes, _ := body.JustAttributes() // what is no attribute is a block, and comes below
	for name, attribute := range attributes {
		all[name] = nil
		if r := attribute.Expr.Range(); r.End.Byte-r.Start.Byte > longestLiteral {
			continue
		}
		value, diags := attribute.Expr.Value(nil)
		if diags.HasErrors() || !value.IsWhollyKnown() {
			continue
		}
		if raw, err := ctyjson.Marshal(value, value.Type()); err == nil {
			all[name] = raw
		}
	}
	if native, ok := body.(*hclsyntax.Body); ok {
		for _, in := range native.Blocks {
			all[in.Type] = nil
		}
	}
	return all
}

// Reject is the error where Cairn has no state of a Stack: a plan on an empty state creates again what exists.
func (o *OwnBackend) Reject(e Engine, stack string) error {
	block := cmp.Or(e.Traits.BackendBlock, "the backend block")
	pull := cmp.Or(e.Traits.PullState, e.Program()+" init && "+e.Program()+" state pull")
	keep := "To keep the state there, set spec.backend: {fromCode: true}. "
	if ForbiddenBackend(o.Type) != "" {
		keep = ""
	}
	return &Rejection{Code: BackendInCode, Reason: fmt.Sprintf(
		"%s: the code keeps its state in backend %q, and Cairn has no state of Stack %s: a plan would create again "+
			"what exists. %sTo move the state to Cairn: %s > %s.tfstate, then cairn state push %s %s.tfstate. If "+
			"there is no state yet, delete %s",
		o.At, o.Type, stack, keep, pull, stack, stack, stack, block)}
}

// readCode reads a file of a root module.
func readCode(root fs.FS, name string) ([]byte, error) {
	text, err := fs.ReadFile(root, name)
	if err == nil {
		return text, nil
	}
	if target, bad := fs.ReadLink(root, name); bad == nil && errors.Is(err, fs.ErrNotExist) {
		return nil, reject("%s is a symlink to %q, which is not in the repository: correct the symlink, or delete it",
			name, target)
	}
	return nil, fmt.Errorf("read the code: %w", err)
}

func reject(format string, args ...any) error {
	return &Rejection{Reason: fmt.Sprintf(format, args...)}
}

// codeFiles returns the names of all files in a root module's folder, and those of them that an engine reads as code.
func codeFiles(root fs.FS) (names map[string]bool, code []string, err error) {
	entries, err := fs.ReadDir(root, ".")
	if err != nil {
		return nil, nil, fmt.Errorf("read the code: %w", err)
	}
	names = map[string]bool{}
	for _, entry := range entries {
		names[entry.Name()] = true
	}
	for _, entry := range entries {
		base, kind := CodeFile(entry.Name())
		switch {
		case kind == "", strings.HasPrefix(entry.Name(), "."), entry.IsDir():
		case strings.HasPrefix(kind, ".tf") && names[base+strings.Replace(kind, ".tf", ".tofu", 1)]:
			// which is read in its place
		default:
			code = append(code, entry.Name())
		}
	}
	return names, code, nil
}

// CodeFile returns the name of a file of code without its suffix, and the suffix; no suffix for other files.
func CodeFile(name string) (base, kind string) {
	for _, kind := range []string{".tf", ".tofu", ".tf.json", ".tofu.json"} {
		if base, ok := strings.CutSuffix(name, kind); ok {
			return base, kind
		}
	}
	return name, ""
}

// IsOverride reports whether a file of code is merged into the others.
func IsOverride(name string) bool {
	base, _ := CodeFile(name)
	return base == "override" || strings.HasSuffix(base, "_override")
}

// block returns the first block of a type within a terraform block; nil when there is none.
func block(name string, text []byte, kind string) *hcl.Block {
	body, _ := hclparse.ParseAny(text, name, path.Ext(name) == ".json")
	if body == nil {
		return nil
	}
	content, _, _ := body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "terraform"}}})
	for _, outer := range content.Blocks {
		header := hcl.BlockHeaderSchema{Type: kind}
		if kind == "backend" {
			header.LabelNames = []string{"type"}
		}
		inner, _, _ := outer.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{header}})
		for _, found := range inner.Blocks {
			return found
		}
	}
	return nil
}

// at is the place of a block, for messages.
func at(b *hcl.Block) string { return fmt.Sprintf("%s:%d", b.DefRange.Filename, b.DefRange.Start.Line) }
