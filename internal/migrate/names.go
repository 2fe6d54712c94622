package migrate

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
)

// longestName is how long the name of a Stack may be.
const longestName = 200

// longestRepository is how long the name of any object may be.
const longestRepository = 253

// name gives each object that becomes a Stack the Stack's name: its own where that is free, otherwise with its system's behind it.
func (c *conversion) name() {
	type place struct{ namespace, name string }
	taken := map[place]*object{}
	for _, o := range c.objects {
		if o.kind != nil && o.kind.stack && o.kind.system == cairn {
			o.stack = o.ref.Name
			taken[place{o.ref.Namespace, o.stack}] = o
		}
	}
	for _, o := range c.objects { // those of systems that are named first come first
		if o.kind == nil || !o.kind.stack || o.kind.system == cairn {
			continue
		}
		o.stack = shorten(o.ref.Name, longestName)
		if o.stack != o.ref.Name {
			o.note(Became, "metadata.name", "metadata.name %s: a Stack's name may have %d characters", o.stack, longestName)
		}
		other := taken[place{o.ref.Namespace, o.stack}]
		for n := 0; taken[place{o.ref.Namespace, o.stack}] != nil; n++ {
			o.stack = shorten(o.ref.Name+"-"+o.kind.system+strings.Repeat("-too", n), longestName)
		}
		if other != nil {
			o.note(Became, "metadata.name", "metadata.name %s: %s (%s) has the name %s", o.stack, other.ref, other.kind.system, other.stack)
		}
		taken[place{o.ref.Namespace, o.stack}] = o
	}
}

// freeRepository is a name for the Repository of an object: its own where that is free, otherwise with its system's behind it. Kinds of two
// systems may have objects of one name, and each has a code of its own.
func (c *conversion) freeRepository(namespace, name, system string) string {
	taken := func(name string) bool {
		return slices.ContainsFunc(slices.Concat(c.repositories, c.strangers), func(r *repository) bool {
			return r.named && r.Namespace == namespace && r.Name == name
		})
	}
	free := name
	for n := 0; taken(free); n++ {
		free = shorten(name+"-"+system+strings.Repeat("-too", n), longestRepository)
	}
	return free
}

// nameRepositories gives names to the Repositories that have none yet: from their address, and with a digest where two would have the same.
func (c *conversion) nameRepositories() {
	type place struct{ namespace, name string }
	taken := map[place]bool{}
	for _, r := range slices.Concat(c.repositories, c.strangers) {
		if r.named {
			taken[place{r.Namespace, r.Name}] = true
		}
	}
	for _, r := range c.repositories {
		if r.named {
			continue
		}
		r.Name = repositoryName(r.Spec.URL)
		if taken[place{r.Namespace, r.Name}] {
			of := r.Spec.URL
			if r.Spec.Credentials != nil {
				of += "\n" + r.Spec.Credentials.Secret.Name
			}
			r.Name += "-" + digest(of)
		}
		taken[place{r.Namespace, r.Name}] = true
	}
}

// repositoryName is a name for the Repository of an address: its last two words. Example: acme-infra.
func repositoryName(url string) string {
	path := strings.TrimSuffix(strings.TrimRight(url, "/"), ".git")
	words := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == ':' })
	if len(words) > 2 {
		words = words[len(words)-2:]
	}
	return objectName(strings.Join(words, "-"), "repository", 63)
}

// notInNames is what a name of Kubernetes may not have.
var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// objectName makes a name that Kubernetes takes from a text.
func objectName(text, otherwise string, longest int) string {
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(text), "-"), "-")
	if name == "" {
		return otherwise
	}
	return shorten(name, longest)
}

// shorten makes a name short enough, and keeps it apart from others that begin like it.
func shorten(name string, longest int) string {
	if len(name) <= longest {
		return name
	}
	sum := digest(name)
	return strings.TrimRight(name[:longest-len(sum)-1], "-.") + "-" + sum
}

// digest is a short digest of a text, for names.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}
