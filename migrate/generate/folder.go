package generate

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"cairn.dev/cairn/internal/engine/hclparse"
	"cairn.dev/cairn/migrate/states"
)

// What is read of a repository's code is bounded.
const (
	mostFolders     = 20_000
	largestCodeFile = 4 << 20
)

// folder is the code in a folder, as far as Stacks need it.
type folder struct {
	path string
	// code is true when there is code for an engine, terragrunt when there is a terragrunt.hcl.
	code, terragrunt bool
	// backend is the type of its backend block; "cloud" for a cloud block. empty is true when the block has no
	// arguments.
	backend string
	empty   bool
	// missing are arguments that its type of backend requires and the block has not.
	missing []string
	// links are symbolic links to this folder.
	links []string
	// provider is true when it configures one.
	provider bool
	// calls are the folders of the local modules that it calls.
	calls []string
	// required are its constraints on the engine's version; pinned is true when a version file has one.
	required []string
	// terraform is true when a version file names that engine.
	terraform, pinned bool
	// tfvars are files of variables that no engine reads by itself.
	tfvars []string
	// remoteState is the type of the backend that a file of Terragrunt's configures; anyBackend where it is no plain
	// text.
	remoteState string
	// unit is true when its terragrunt.hcl names code to run; runs has the folder of that code if it is a local one.
	unit bool
	runs []string
	// includes is true when it includes another.
	includes bool
	// unitStack is true when there is a terragrunt.stack.hcl.
	unitStack bool
	// listed is true when a StackSet lists it: it has a regular file of code.
	listed   bool
	problems []string
}

// requiredArguments are those that backends cannot get from the environment.
var requiredArguments = map[string][]string{
	"s3": {"bucket", "key"}, "gcs": {"bucket"}, "azurerm": {"storage_account_name", "container_name", "key"},
	"oss": {"bucket"}, "cos": {"bucket"}, "consul": {"path"}, "kubernetes": {"secret_suffix"},
}

// anyBackend is a type of backend that only the engine can determine.
const anyBackend = "a backend"

// readCode reads the folders of a repository that have code, by their paths.
func readCode(fsys fs.FS) (map[string]*folder, error) {
	found, links := map[string]*folder{}, map[string]string{}
	count := 0
	err := fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if name != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules") {
				return fs.SkipDir
			}
			if count++; count > mostFolders {
				return fmt.Errorf("more than %d folders: select a folder in it", mostFolders)
			}
			return nil
		case entry.Type() == fs.ModeSymlink: // several folders may share a file, such as one with their backend block
			info, err := fs.Stat(fsys, name)
			if err == nil && info.IsDir() {
				links[name] = linked(fsys, name)
			}
			if err != nil || !info.Mode().IsRegular() {
				return nil //nolint:nilerr // what it names is no file
			}
		case !entry.Type().IsRegular():
			return nil
		}
		if err := readFile(fsys, name, found); err != nil {
			return err
		}
		if dir, base := path.Split(name); entry.Type().IsRegular() && (isCode(base) || base == "terragrunt.hcl") {
			found[strings.TrimSuffix(dir, "/")].listed = true
		}
		return nil
	})
	for _, link := range slices.Sorted(maps.Keys(links)) {
		if f := found[links[link]]; f != nil {
			f.links = append(f.links, link)
		}
	}
	return found, err
}

// linked is the folder that a symbolic link names; empty if that is unknown.
func linked(fsys fs.FS, name string) string {
	target, err := fs.ReadLink(fsys, name)
	if err != nil {
		return ""
	}
	return path.Join(path.Dir(name), target)
}

// readAbove reads the files of folders, without those below them.
func readAbove(above []fs.FS) (all []*folder, err error) {
	for _, fsys := range above {
		entries, err := fs.ReadDir(fsys, ".")
		if err != nil {
			return nil, err
		}
		found := map[string]*folder{"": {}}
		for _, entry := range entries {
			if entry.Type().IsRegular() {
				if err := readFile(fsys, entry.Name(), found); err != nil {
					return nil, err
				}
			}
		}
		all = append(all, found[""])
	}
	return all, nil
}

func readFile(fsys fs.FS, name string, found map[string]*folder) error {
	dir, base := path.Split(name)
	dir = strings.TrimSuffix(dir, "/")
	at := func() *folder {
		if found[dir] == nil {
			found[dir] = &folder{path: dir}
		}
		return found[dir]
	}
	isJSON := strings.HasSuffix(base, ".json")
	switch plain := strings.TrimSuffix(base, ".json"); {
	case isCode(base):
		f := at()
		f.code = true
		return f.read(fsys, name, isJSON, (*folder).engineCode)
	case base == "terragrunt.hcl", base == "terragrunt.hcl.json":
		f := at()
		f.terragrunt = true
		return f.read(fsys, name, isJSON, (*folder).terragruntCode)
	case base == "terragrunt.stack.hcl":
		at().unitStack = true
	case strings.HasSuffix(plain, ".hcl") && base != ".terraform.lock.hcl": // which a unit may include
		return at().read(fsys, name, isJSON, (*folder).includedCode)
	case strings.HasSuffix(plain, ".tfvars"):
		if f := at(); plain != "terraform.tfvars" && !strings.HasSuffix(plain, ".auto.tfvars") {
			f.tfvars = append(f.tfvars, name)
		}
	case base == ".terraform-version":
		at().terraform, at().pinned = true, true
	case base == ".opentofu-version":
		at().pinned = true
	}
	return nil
}

// isCode returns whether a file has code of OpenTofu or Terraform.
func isCode(base string) bool {
	plain := strings.TrimSuffix(base, ".json")
	return strings.HasSuffix(plain, ".tf") || strings.HasSuffix(plain, ".tofu")
}

func (f *folder) read(fsys fs.FS, name string, isJSON bool, take func(*folder, hcl.Body)) error {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return err
	}
	if info.Size() > largestCodeFile {
		f.problems = append(f.problems, fmt.Sprintf("%s has more than %d bytes and was not read", path.Base(name),
			largestCodeFile))
		return nil
	}
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	body, err := hclparse.ParseAny(text, name, isJSON)
	if err != nil {
		f.problems = append(f.problems, path.Base(name)+" cannot be read whole: "+firstLine(err))
	}
	if body != nil {
		take(f, body)
	}
	return nil
}

func firstLine(err error) string {
	var diags hcl.Diagnostics
	if errors.As(err, &diags) && len(diags) > 0 {
		return diags[0].Summary
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

var (
	rootSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "terraform"},
		{Type: "provider", LabelNames: []string{"name"}}, {Type: "module", LabelNames: []string{"name"}}}}
	terraformSchema = &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "required_version"}},
		Blocks:     []hcl.BlockHeaderSchema{{Type: "backend", LabelNames: []string{"type"}}, {Type: "cloud"}},
	}
	sourceSchema     = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "source"}}}
	terragruntSchema = &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "remote_state"}},
		Blocks: []hcl.BlockHeaderSchema{
			{Type: "remote_state"}, {Type: "generate", LabelNames: []string{"name"}}, {Type: "terraform"},
			{Type: "include"},
		},
	}
	backendSchema  = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "backend"}}}
	contentsSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "contents"}}}
	namedSchema    = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "include", LabelNames: []string{"name"}}}}
)

func (f *folder) engineCode(body hcl.Body) {
	content, _, _ := body.PartialContent(rootSchema)
	for _, block := range content.Blocks {
		switch block.Type {
		case "provider":
			f.provider = true
		case "module":
			in, _, _ := block.Body.PartialContent(sourceSchema)
			if to, ok := localFolder(f.path, text(in.Attributes["source"])); ok {
				f.calls = append(f.calls, to)
			}
		case "terraform":
			in, _, _ := block.Body.PartialContent(terraformSchema)
			if required := text(in.Attributes["required_version"]); required != "" &&
				!slices.Contains(f.required, required) {
				f.required = append(f.required, required)
			}
			for _, b := range in.Blocks {
				f.backend = "cloud"
				if b.Type == "backend" {
					f.backend = b.Labels[0]
					attributes, _ := b.Body.JustAttributes()
					f.empty, f.missing = len(attributes) == 0, nil
					for _, name := range requiredArguments[f.backend] {
						if attributes[name] == nil {
							f.missing = append(f.missing, name)
						}
					}
				}
			}
		}
	}
}

// localFolder returns the folder that a source names in a folder; false when it is elsewhere, or above what is read.
func localFolder(in, source string) (at string, ok bool) {
	if !strings.HasPrefix(source, "./") && !strings.HasPrefix(source, "../") {
		return "", false
	}
	if at = path.Join(in, source); at == "." {
		return "", true
	}
	return at, fs.ValidPath(at)
}

// includedCode reads where states are from any file of Terragrunt's: a remote_state, or a backend block to generate.
func (f *folder) includedCode(body hcl.Body) {
	content, _, _ := body.PartialContent(terragruntSchema)
	if content.Attributes["remote_state"] != nil {
		f.remoteState = anyBackend
	}
	for _, block := range content.Blocks {
		switch block.Type {
		case "remote_state":
			in, _, _ := block.Body.PartialContent(backendSchema)
			f.remoteState = cmp.Or(text(in.Attributes["backend"]), anyBackend)
		case "generate":
			in, _, _ := block.Body.PartialContent(contentsSchema)
			generated := &folder{}
			if body, _ := hclparse.ParseAny([]byte(literals(in.Attributes["contents"])), block.Labels[0],
				false); body != nil {
				generated.engineCode(body)
			}
			f.remoteState = cmp.Or(generated.backend, f.remoteState)
		}
	}
}

// literals is the text of an attribute with a word in place of each expression in it.
func literals(a *hcl.Attribute) string {
	if a == nil {
		return ""
	}
	template, ok := a.Expr.(*hclsyntax.TemplateExpr)
	if !ok {
		return text(a)
	}
	var b strings.Builder
	for _, part := range template.Parts {
		if literal, ok := part.(*hclsyntax.LiteralValueExpr); ok && literal.Val.Type() == cty.String {
			b.WriteString(literal.Val.AsString())
		} else {
			b.WriteString("x")
		}
	}
	return b.String()
}

func (f *folder) terragruntCode(body hcl.Body) {
	f.includedCode(body)
	content, _, _ := body.PartialContent(terragruntSchema)
	for _, block := range content.Blocks {
		switch block.Type {
		case "terraform":
			in, _, _ := block.Body.PartialContent(sourceSchema)
			source := in.Attributes["source"]
			f.unit = source != nil
			if from, ok := localFolder(f.path, text(source)); ok {
				f.runs = append(f.runs, from)
			}
		case "include":
			f.includes = true
		}
	}
	named, _, _ := body.PartialContent(namedSchema)
	f.includes = f.includes || len(named.Blocks) > 0
}

// text is the plain text of an attribute; empty where it is none.
func text(a *hcl.Attribute) string {
	if a == nil {
		return ""
	}
	value, diags := states.LiteralValue(a.Expr)
	if diags.HasErrors() || value.IsNull() || !value.IsKnown() || value.Type() != cty.String {
		return ""
	}
	return value.AsString()
}
