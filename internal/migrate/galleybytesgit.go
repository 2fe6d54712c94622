package migrate

import (
	"slices"
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
)

// method is how a host of git lets the operator in.
type method struct {
	field
	host string
	// ref names the Secret; ssh says that it has a key, otherwise a token.
	ref field
	ssh bool
	key string
}

// methods are those of the object.
func (g *galley) methods() []method {
	var found []method
	for _, f := range g.at("spec", "scmAuthMethods").items() {
		if ref := f.at("git", "ssh", "sshKeySecretRef"); ref.there() {
			found = append(found, method{field: f, host: f.at("host").text(), ref: ref, ssh: true, key: or(ref.at("key").text(), "id_rsa")})
		}
		if ref := f.at("git", "https", "tokenSecretRef"); ref.there() {
			found = append(found, method{field: f, host: f.at("host").text(), ref: ref, key: or(ref.at("key").text(), "token")})
		}
	}
	return found
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// secret is the Secret that a Stack or Repository has for it: the same one where its keys are right.
func (g *galley) secret(m method) string {
	name := m.ref.at("name").text()
	if keys, known := g.c.keys("Secret", or(m.ref.at("namespace").text(), g.ref.Namespace), name); known {
		if m.ssh && slices.Contains(keys, "identity") && slices.Contains(keys, "known_hosts") || !m.ssh && slices.Contains(keys, "password") {
			return name
		}
	}
	return shorten(name, 200) + "-git"
}

// credentialsFor is the Secret that the Repository of an address is read with; empty for none.
func (g *galley) credentialsFor(a address) string {
	overSSH := !strings.HasPrefix(a.URL, "http")
	for _, m := range g.methods() {
		if m.host == a.Host && m.ssh == overSSH {
			return g.secret(m)
		}
	}
	if overSSH {
		g.source.todo("no method of scmAuthMethods is for %s over SSH: name a Secret with identity and known_hosts in the Repository's spec.credentials", a.Host)
	}
	return ""
}

// moduleCredentials are for what the code itself fetches, and it speaks of each method.
func (g *galley) moduleCredentials(from *repository) {
	for _, m := range g.methods() {
		name := g.secret(m)
		if m.host == "" {
			m.at("host").fail("a method has no host")
			continue
		}
		forModules := v1alpha1.ModuleCredentials{Host: m.host, Secret: v1alpha1.ObjectRef{Name: name}}
		if !slices.ContainsFunc(g.s.ModuleCredentials, func(have v1alpha1.ModuleCredentials) bool { return have.Host == m.host }) {
			g.s.ModuleCredentials = append(g.s.ModuleCredentials, forModules)
		}
		m.at("host").became("spec.moduleCredentials, for modules of that host")
		if from != nil && from.Spec.Credentials != nil && from.Spec.Credentials.Secret.Name == name {
			m.at("host").became("the Repository's spec.credentials")
		}
		m.ref.at("name").became("Secret %s", name)
		m.ref.at("key").became("Secret %s", name)
		m.ref.at("namespace").became("Secret %s in the object's namespace", name)
		m.ref.at("lockSecretDeletion").cannot("whoever deletes the Secret is not kept from it; a destroy needs it only to fetch modules")
		if name != m.ref.at("name").text() {
			m.ref.todo("%s", g.makeGitSecret(m, name))
		}
		for _, way := range []string{"ssh", "https"} {
			proxy := m.at("git", way, "requireProxy")
			if proxy.truth() {
				proxy.cannot("there is no SSH tunnel: let the server reach the host, or mirror the repository to one that it reaches")
			}
			proxy.notNeeded("none is asked for")
		}
	}
}

// makeGitSecret is the command for a Secret with the keys that are looked for. The operator takes any key of an SSH server; Cairn takes known ones alone.
func (g *galley) makeGitSecret(m method, name string) string {
	from := fromKey(or(m.ref.at("namespace").text(), g.ref.Namespace), m.ref.at("name").text(), m.key)
	if m.ssh {
		return "make Secret " + name + " (look that the host's keys are right: the operator took any): " +
			makeSecret(g.ref.Namespace, name, "identity", from, "known_hosts", knownHosts(m.host))
	}
	return "make Secret " + name + " (username: what the host wants beside a token, such as git or oauth2): " +
		makeSecret(g.ref.Namespace, name, "username", "FILE_WITH_USER", "password", from)
}

func (g *galley) proxies() {
	g.at("spec", "sshTunnel").cannot("there is no SSH tunnel: let the server reach the host, or mirror the repository to one that it reaches")
}

// resources are files that were put beside the code.
func (g *galley) resources() {
	for _, f := range g.downloads.items() {
		f.at("path").became("see its address")
		f.at("useAsVar").became("see its address")
		g.resource(f.at("address"), f.at("useAsVar").truth())
	}
	for _, f := range g.sources.items() {
		f.at("extras").became("see its address")
		g.resource(f.at("address"), isVariableFile(f.at("address").text()))
	}
}

// resource is a file, or a folder, that was put beside the code; values says that it is a variable file.
func (g *galley) resource(at field, values bool) {
	a, err := readAddress(at.text())
	source := g.s.Source.Git
	switch {
	case err == nil && values && source != nil && g.sameRepository(a) && plainRef(or(a.Ref, "master")) == source.Ref && isVariableFile(a.Path):
		g.s.VariableFiles = append(g.s.VariableFiles, v1alpha1.VariableFile{Path: a.Path})
		at.became("spec.variableFiles path %s", a.Path)
	case values:
		at.cannot("a variable file of another repository or ref is not fetched: put it into the repository of the code (spec.variableFiles path), or into a ConfigMap or Secret (spec.variableFiles)")
	default:
		at.cannot("files of elsewhere are not put beside the code: put them into its repository, or let the code take them as a module")
	}
}

// isVariableFile says that an address or a path ends as variable files do.
func isVariableFile(path string) bool {
	path, _, _ = strings.Cut(path, "?")
	return strings.HasSuffix(path, ".tfvars") || strings.HasSuffix(path, ".tfvars.json")
}

// sameRepository says whether an address is of the repository that the code is from, however it is written.
func (g *galley) sameRepository(a address) bool {
	code, err := readAddress(g.source.text())
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
