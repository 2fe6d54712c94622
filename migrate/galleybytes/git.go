package galleybytes

import (
	"cmp"
	"slices"
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/migrate/convert"
	"cairn.dev/cairn/migrate/convert/manifest"
)

// authMethod is how a host of git lets the operator in.
type authMethod struct {
	manifest.Field
	host string
	// ref names the Secret; ssh is true when it has a key, otherwise it has a token.
	ref manifest.Field
	ssh bool
	key string
}

// authMethods are those of the object.
func (g *terraform) authMethods() []authMethod {
	var found []authMethod
	for _, f := range g.At("spec", "scmAuthMethods").Items() {
		if ref := f.At("git", "ssh", "sshKeySecretRef"); ref.Exists() {
			found = append(found, authMethod{Field: f, host: f.At("host").Text(), ref: ref, ssh: true,
				key: cmp.Or(ref.At("key").Text(), "id_rsa")})
		}
		if ref := f.At("git", "https", "tokenSecretRef"); ref.Exists() {
			found = append(found, authMethod{Field: f, host: f.At("host").Text(), ref: ref,
				key: cmp.Or(ref.At("key").Text(), "token")})
		}
	}
	return found
}

// secret is the Secret that a Stack or Repository has for it: the same one where its keys are right.
func (g *terraform) secret(m authMethod) string {
	name := m.ref.At("name").Text()
	if keys, known := g.c.Keys("Secret", cmp.Or(m.ref.At("namespace").Text(), g.Ref.Namespace), name); known {
		if m.ssh && slices.Contains(keys, "identity") && slices.Contains(keys, "known_hosts") ||
			!m.ssh && slices.Contains(keys, "password") {
			return name
		}
	}
	return convert.Shorten(name, 200) + "-git"
}

// credentialsFor is the Secret that the Repository of an address is read with; empty for none.
func (g *terraform) credentialsFor(a convert.Address) string {
	overSSH := !strings.HasPrefix(a.URL, "http")
	for _, m := range g.authMethods() {
		if m.host == a.Host && m.ssh == overSSH {
			return g.secret(m)
		}
	}
	if overSSH {
		g.source.ToDo("no method of scmAuthMethods is for %s over SSH: name a Secret with identity and known_hosts "+
			"in the Repository's spec.credentials", a.Host)
	}
	return ""
}

// moduleCredentials are for what the code itself fetches, and it speaks of each method.
func (g *terraform) moduleCredentials(from *convert.Repository) {
	for _, m := range g.authMethods() {
		name := g.secret(m)
		if m.host == "" {
			m.At("host").Fail("a method has no host")
			continue
		}
		forModules := v1alpha1.ModuleCredentials{Host: m.host, Secret: v1alpha1.ObjectRef{Name: name}}
		if !slices.ContainsFunc(g.s.ModuleCredentials, func(have v1alpha1.ModuleCredentials) bool {
			return have.Host == m.host
		}) {
			g.s.ModuleCredentials = append(g.s.ModuleCredentials, forModules)
		}
		m.At("host").Became("spec.moduleCredentials, for modules of that host")
		if from != nil && from.Spec.Credentials != nil && from.Spec.Credentials.Secret.Name == name {
			m.At("host").Became("the Repository's spec.credentials")
		}
		m.ref.At("name").Became("Secret %s", name)
		m.ref.At("key").Became("Secret %s", name)
		m.ref.At("namespace").Became("Secret %s in the object's namespace", name)
		m.ref.At("lockSecretDeletion").Unsupported("nothing prevents the deletion of the Secret; a destroy needs it " +
			"only to fetch modules")
		if name != m.ref.At("name").Text() {
			m.ref.ToDo("%s", g.makeGitSecret(m, name))
		}
		for _, way := range []string{"ssh", "https"} {
			proxy := m.At("git", way, "requireProxy")
			if proxy.Bool() {
				proxy.Unsupported("there is no SSH tunnel: let the server reach the host, or mirror the repository " +
					"to one that it reaches")
			}
			proxy.NotNeeded("none is asked for")
		}
	}
}

// makeGitSecret is the command for a Secret with the keys that are looked for. The operator takes any key of an SSH
// server; Cairn takes known ones alone.
func (g *terraform) makeGitSecret(m authMethod, name string) string {
	from := convert.FileFromSecret(cmp.Or(m.ref.At("namespace").Text(), g.Ref.Namespace), m.ref.At("name").Text(),
		m.key)
	if m.ssh {
		return "make Secret " + name + " (look that the host's keys are right: the operator took any): " +
			convert.CreateSecret(g.Ref.Namespace, name, "identity", from, "known_hosts", convert.KnownHosts(m.host))
	}
	return "make Secret " + name + " (username: what the host wants beside a token, such as git or oauth2): " +
		convert.CreateSecret(g.Ref.Namespace, name, "username", "FILE_WITH_USER", "password", from)
}

func (g *terraform) proxies() {
	g.At("spec", "sshTunnel").Unsupported("there is no SSH tunnel: let the server reach the host, or mirror the " +
		"repository to one that it reaches")
}

// resources are files that were put beside the code.
func (g *terraform) resources() {
	for _, f := range g.downloads.Items() {
		f.At("path").Became("see its address")
		f.At("useAsVar").Became("see its address")
		g.resource(f.At("address"), f.At("useAsVar").Bool())
	}
	for _, f := range g.sources.Items() {
		f.At("extras").Became("see its address")
		g.resource(f.At("address"), isVariableFile(f.At("address").Text()))
	}
}

// resource is a file, or a folder, that was put beside the code; values is true for a variable file.
func (g *terraform) resource(at manifest.Field, values bool) {
	a, err := convert.ReadAddress(at.Text())
	source := g.s.Source.Git
	switch {
	case err == nil && values && source != nil && g.sameRepository(a) &&
		convert.ShortRef(cmp.Or(a.Ref, "master")) == source.Ref && isVariableFile(a.Path):
		g.s.VariableFiles = append(g.s.VariableFiles, v1alpha1.VariableFile{Path: a.Path})
		at.Became("spec.variableFiles path %s", a.Path)
	case values:
		at.Unsupported("a variable file of another repository or ref is not fetched: put it into the repository of " +
			"the code (spec.variableFiles path), or into a ConfigMap or Secret (spec.variableFiles)")
	default:
		at.Unsupported("files of elsewhere are not put beside the code: put them into its repository, or let the " +
			"code take them as a module")
	}
}

// isVariableFile returns true if an address or a path ends as variable files do.
func isVariableFile(path string) bool {
	path, _, _ = strings.Cut(path, "?")
	return strings.HasSuffix(path, ".tfvars") || strings.HasSuffix(path, ".tfvars.json")
}

// sameRepository returns true if an address is of the repository that the code is from, however it is written.
func (g *terraform) sameRepository(a convert.Address) bool {
	code, err := convert.ReadAddress(g.source.Text())
	return err == nil && code.Host == a.Host && pathOf(code.URL) == pathOf(a.URL)
}

// pathOf is what comes behind the host of a repository's URL.
func pathOf(url string) string {
	if _, behind, isURL := strings.Cut(url, "://"); isURL {
		_, url, _ = strings.Cut(behind, "/")
	} else {
		_, url, _ = strings.Cut(url, ":")
	}
	return strings.Trim(strings.TrimSuffix(strings.TrimRight(url, "/"), ".git"), "/")
}
