// Package generate creates Stacks for the root modules of a repository of code.
package generate

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/go-version"

	"cairn.dev/cairn/api/v1alpha1"
	build "cairn.dev/cairn/internal/base/version"
	items "cairn.dev/cairn/internal/controller/stackset/generate"
	"cairn.dev/cairn/migrate/convert"
	"cairn.dev/cairn/migrate/convert/manifest"
)

// Code is a repository of code that no Stack runs yet.
type Code struct {
	// Files of it, or of a folder in it.
	Files fs.FS
	// Folder that Files are of, from the repository's root; empty for the root. Above are the files of the folders
	// above it, the nearest first.
	Folder string
	Above  []fs.FS
	// URL of the repository, and the ref; no ref takes the default branch.
	URL, Ref string
	// Namespace for the objects; empty leaves it to the command that applies them.
	Namespace string
	// StackSet generates one StackSet in place of the Stacks that it can generate.
	StackSet bool
	// Units reads the Terragrunt units of the repository for a StackSet, by their paths from its root. Without it, a
	// StackSet lists the directories of units, and sets no dependencies.
	Units items.Units
}

// library are folders with modules for other code, or with examples.
var library = []string{"modules", "module", "examples", "example", "test", "tests", "testdata", "fixtures"}

// AddressError is returned for a URL that a Repository does not accept.
type AddressError struct {
	// URL without a user.
	URL string
	err error
}

func (e *AddressError) Error() string {
	return fmt.Sprintf("the repository's URL %q: %v", e.URL, e.err)
}
func (e *AddressError) Unwrap() error { return e.err }

// Generate creates a Stack for each root module of a repository. A root module has a backend block, or no other module
// calls it; of code that units of Terragrunt run, these are the root modules. The notes name what is skipped.
func Generate(in Code) (convert.Result, error) {
	a, err := convert.ReadAddress(in.URL)
	if err != nil {
		return convert.Result{}, &AddressError{withoutUser(in.URL), err}
	}
	if a.Path != "" {
		return convert.Result{}, fmt.Errorf("the repository's URL has the path %s in it: use that of the repository",
			a.Path)
	}
	folders, err := readCode(in.Files)
	if err != nil {
		return convert.Result{}, err
	}
	above, err := readAbove(in.Above)
	if err != nil {
		return convert.Result{}, err
	}
	g := &generator{Code: in, folders: folders, above: above, called: map[string]string{}, runs: map[string]string{},
		names: map[string]bool{}}
	for _, from := range slices.Sorted(maps.Keys(folders)) {
		for _, to := range folders[from].calls {
			if g.called[to] == "" && to != from {
				g.called[to] = shown(from)
			}
		}
		for _, of := range folders[from].runs {
			if g.runs[of] == "" {
				g.runs[of] = shown(from)
			}
		}
	}
	g.from = convert.NewRepository(in.Namespace, a.URL)
	g.from.Name = convert.RepositoryName(a.URL)
	for _, at := range slices.Sorted(maps.Keys(folders)) {
		g.folder(folders[at])
	}
	if len(g.r.Stacks) == 0 {
		return g.r, nil
	}
	g.repository(a)
	g.r.Repositories = []v1alpha1.Repository{g.from.Repository}
	if g.StackSet {
		return g.r, g.stackSet()
	}
	return g.r, nil
}

// withoutUser is a URL for a message, without what may be a password in it.
func withoutUser(url string) string {
	if scheme, behind, isURL := strings.Cut(url, "://"); isURL {
		if _, host, has := strings.Cut(behind, "@"); has {
			return scheme + "://" + host
		}
	}
	return url
}

// generator is the state of Generate.
type generator struct {
	Code
	folders map[string]*folder
	// above are the folders above these, the nearest first.
	above []*folder
	// called are folders that others call, with one that does.
	called map[string]string
	// runs are folders whose code units of Terragrunt run, with one that does.
	runs  map[string]string
	names map[string]bool
	from  *convert.Repository
	r     convert.Result
}

// shown is a folder as notes have it.
func shown(at string) string {
	if at == "" {
		return "."
	}
	return at
}

func (g *generator) note(at string, outcome manifest.Outcome, field, format string, args ...any) {
	g.r.Notes = append(g.r.Notes, manifest.Note{
		Object: manifest.Ref{Kind: "Folder", Name: shown(path.Join(g.Folder, at))}, Field: field, Outcome: outcome,
		Text: fmt.Sprintf(format, args...),
	})
}

// folder adds the Stack of a folder, or a note why there is none.
func (g *generator) folder(f *folder) {
	if f.unitStack && !f.terragrunt {
		g.note(f.path, manifest.Unsupported, "terragrunt.stack.hcl",
			"Cairn does not run it: run `terragrunt stack generate` there, "+
				"commit the units that it creates, and then: cairn generate %s",
			path.Join(g.Folder, f.path, ".terragrunt-stack"))
	}
	switch {
	case !f.code && !f.terragrunt:
		return
	case f.terragrunt && !f.unit && !f.code:
		if !f.includes {
			g.note(f.path, manifest.NotNeeded, "", "no Stack: its terragrunt.hcl names no code, and is for "+
				"others to include")
			return
		}
	case f.terragrunt:
	case g.runs[f.path] != "": // its states are those of the units, whatever backend block it has
		g.note(f.path, manifest.NotNeeded, "", "no Stack: the code that %s runs", g.runs[f.path])
		return
	case f.backend != "":
	case g.called[f.path] != "":
		g.note(f.path, manifest.NotNeeded, "", "no Stack: a module that %s calls", g.called[f.path])
		return
	case inLibrary(f.path):
		g.note(f.path, manifest.NotNeeded, "", "no Stack: it has no backend block, and by its path it is for others "+
			"to call or to look at. If it is a root module after all, write a Stack for it")
		return
	}
	stack := v1alpha1.Stack{}
	stack.APIVersion, stack.Kind = v1alpha1.GroupVersion.String(), "Stack"
	stack.Namespace, stack.Name = g.Namespace, g.name(f.path)
	stack.Spec.Source.Git = &v1alpha1.GitSource{Repository: v1alpha1.RepositoryRef{Name: g.from.Name},
		Path: path.Join(g.Folder, f.path)}
	g.note(f.path, manifest.Became, "", "Stack %s", stack.Name)
	g.engine(f, &stack.Spec)
	g.state(f, &stack)
	stack.Spec.Apply, stack.Spec.DeletionPolicy = v1alpha1.ApplyManual, v1alpha1.DeletionOrphan
	for _, file := range f.tfvars {
		g.note(f.path, manifest.ToDo, path.Base(file),
			"the engine does not read it by itself: name it in spec.variableFiles, {path: %s}; with one for each "+
				"environment, create a Stack for each", path.Join(g.Folder, file))
	}
	for _, link := range f.links {
		g.note(f.path, manifest.ToDo, shown(path.Join(g.Folder, link)),
			"it is a symbolic link to this folder, and has no Stack: if its path selects "+
				"another state or other variables, write a Stack with spec.source.git.path %s",
			path.Join(g.Folder, link))
	}
	for _, problem := range f.problems {
		g.note(f.path, manifest.ToDo, "", "%s", problem)
	}
	g.r.Stacks = append(g.r.Stacks, stack)
}

func inLibrary(at string) bool {
	return slices.ContainsFunc(strings.Split(at, "/"), func(part string) bool { return slices.Contains(library, part) })
}

// name is a name from a path, one that no other Stack of the repository has.
func (g *generator) name(at string) string {
	name := convert.ObjectName(path.Join(g.Folder, at), g.from.Name, convert.MaxStackName)
	if g.names[name] {
		name = convert.Shorten(name, convert.MaxStackName-9) + "-" + convert.Digest(at)
	}
	g.names[name] = true
	return name
}

func (g *generator) engine(f *folder, spec *v1alpha1.StackSpec) {
	if f.terragrunt {
		spec.Engine.Name = v1alpha1.EngineTerragrunt
		g.note(f.path, manifest.Became, "terragrunt.hcl", "spec.engine.name Terragrunt; the version is the one of "+
			"the code, or the newest")
		if named, _ := g.versionFile(f.path); named {
			spec.Engine.Wrapped = &v1alpha1.WrappedEngine{Name: v1alpha1.EngineTerraform}
			g.note(f.path, manifest.Became, ".terraform-version",
				"spec.engine.wrapped.name Terraform; the file sets the version of each Run")
		}
		return
	}
	spec.Engine.Name = v1alpha1.EngineOpenTofu
	required := strings.Join(f.required, ", ")
	named, pinned := g.versionFile(f.path)
	switch {
	case named:
		spec.Engine.Name = v1alpha1.EngineTerraform
		g.note(f.path, manifest.Became, ".terraform-version", "spec.engine.name Terraform; the file sets the version "+
			"of each Run")
	case pinned:
		g.note(f.path, manifest.Became, ".opentofu-version", "the file sets the version of each Run")
	case required == "":
		g.note(f.path, manifest.Became, "required_version", "spec.engine: the code asks for no version, so it is the "+
			"installation's default version of OpenTofu")
	default:
		spec.Engine.Version = required
		if meets(required, firstTofu, NewestTofu) {
			g.note(f.path, manifest.Became, "required_version", "spec.engine OpenTofu %q", required)
			return
		}
		spec.Engine.Name = v1alpha1.EngineTerraform
		const none = "no OpenTofu from 1.%d to 1.%d, the newest that this version of Cairn knows, meets it"
		if meets(required, 0, newestTerraform) {
			g.note(f.path, manifest.Became, "required_version", "spec.engine Terraform %q: "+none, required, firstTofu,
				NewestTofu)
			return
		}
		g.note(f.path, manifest.ToDo, "required_version", "spec.engine Terraform %q: "+none+
			", and no Terraform to 1.%d does: correct "+
			"the code, or set spec.engine to an engine and a version that exist", required, firstTofu, NewestTofu,
			newestTerraform)
	}
}

// versionFile returns whether a version file of the folder, or of one above it, names Terraform, and whether there is
// any.
func (g *generator) versionFile(at string) (terraform, any bool) {
	for _, f := range g.upwards(at) {
		if f.pinned {
			return f.terraform, true
		}
	}
	return false, false
}

// upwards returns a folder and those above it up to the root of the repository, as far as there is code in them.
func (g *generator) upwards(at string) (found []*folder) {
	for {
		if f := g.folders[at]; f != nil {
			found = append(found, f)
		}
		if at == "" {
			return append(found, g.above...)
		}
		if at = path.Dir(at); at == "." {
			at = ""
		}
	}
}

// The minor versions of the engines that existed when this version of Cairn did.
const (
	firstTofu       = 6
	NewestTofu      = 12
	newestTerraform = 16
)

// meets returns true if an engine of a minor version in a range meets a constraint.
func meets(required string, from, to int) bool {
	constraints, err := version.NewConstraint(required)
	if err != nil {
		return true // the engine reports what is wrong with it
	}
	for minor := from; minor <= to; minor++ {
		for _, patch := range []int{0, 5, 10} {
			if v, err := version.NewVersion(fmt.Sprintf("1.%d.%d", minor, patch)); err == nil && constraints.Check(v) {
				return true
			}
		}
	}
	return false
}

func (g *generator) state(f *folder, stack *v1alpha1.Stack) {
	spec, field, backend := &stack.Spec, "backend", f.backend
	if remote := g.remoteState(f); f.terragrunt && remote != "" {
		field, backend = "remote_state", remote
	}
	switch {
	case backend == "cloud", backend == "remote":
		spec.Suspend = true
		g.note(f.path, manifest.Unsupported, field, "%s runs the engine elsewhere: take the block out of the code "+
			"and move the state ("+build.Docs+"how-to/migrate-states.md#move-a-state-to-cairn). The Stack is "+
			"suspended until then", backend)
	case backend == "" && f.includes:
		g.note(f.path, manifest.ToDo, "remote_state", "Cairn keeps the state, for no remote_state was found in the "+
			"folder or above it. If what the unit includes has one, set spec.backend: {fromCode: true}; without that "+
			"the first Run fails with the reason BackendInCode")
	case backend == "", backend == "local":
		g.note(f.path, manifest.ToDo, "backend", "Cairn keeps the state, for no backend of the code does. If there "+
			"is a terraform.tfstate, put it in before the first plan is applied: %s",
			convert.Cairn(stack.Namespace, "state push %s terraform.tfstate", stack.Name))
	default:
		spec.Backend = &v1alpha1.Backend{FromCode: true}
		g.note(f.path, manifest.Became, field, "spec.backend.fromCode: the state stays in %s, where the code keeps it",
			backend)
		if field != "backend" || f.terragrunt {
			break
		}
		lacks := "its block has no arguments"
		if !f.empty {
			lacks = "its block lacks " + strings.Join(f.missing, " and ")
		}
		if f.empty || len(f.missing) > 0 {
			g.note(f.path, manifest.ToDo, "backend", "%s: write what init was given by -backend-config into "+
				"spec.backend.config, secret ones into a Secret for spec.backend.configFrom", lacks)
		}
	}
}

// remoteState is the type of the backend that a unit's files, or those above it, configure; empty when none does.
func (g *generator) remoteState(f *folder) string {
	for _, in := range g.upwards(f.path) {
		if in.remoteState != "" {
			return in.remoteState
		}
	}
	return ""
}

// repository adds the notes on the Repository.
func (g *generator) repository(a convert.Address) {
	g.from.Spec.Ref = g.Ref
	ref := manifest.Ref{Kind: "Repository", Namespace: g.Namespace, Name: g.from.Name,
		APIVersion: v1alpha1.GroupVersion.String()}
	add := func(outcome manifest.Outcome, field, format string, args ...any) {
		g.r.Notes = append(g.r.Notes, manifest.Note{Object: ref, Field: field, Outcome: outcome,
			Text: fmt.Sprintf(format, args...)})
	}
	add(manifest.Became, "spec.url", "%s", a.URL)
	name := g.from.Name + "-git"
	if a.Secret {
		add(manifest.ToDo, "spec.url", "the user or password in the URL is left out")
	}
	if strings.HasPrefix(a.URL, "http") {
		add(manifest.ToDo, "spec.credentials", "if the repository is private, create Secret %s and name it in "+
			"spec.credentials: %s", name,
			convert.CreateSecret(g.Namespace, name, "username", "FILE_WITH_USER", "password",
				"FILE_WITH_PASSWORD_OR_TOKEN"))
	} else {
		g.from.Spec.Credentials = &v1alpha1.SecretSource{Secret: v1alpha1.ObjectRef{Name: name}}
		add(manifest.ToDo, "spec.credentials", "create Secret %s, with a key that may read: %s", name,
			convert.CreateSecret(g.Namespace, name, "identity", "FILE_WITH_PRIVATE_KEY", "known_hosts",
				convert.KnownHosts(a.Host)))
	}
	add(manifest.Became, "", "%d Stacks, with spec.apply Manual and spec.deletionPolicy Orphan until you trust them",
		len(g.r.Stacks))
}
