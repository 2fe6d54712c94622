package convert

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"cairn.dev/cairn/migrate/convert/manifest"
)

// MaxStackName is how long the name of a Stack may be.
const MaxStackName = 200

// longestRepository is how long the name of any object may be.
const longestRepository = 253

// name sets the name of the Stack of each object: the object's name where that is free, otherwise with its system
// behind it.
func (c *Conversion) name() {
	type place struct{ namespace, name string }
	taken := map[place]*Object{}
	for _, o := range c.Objects {
		if o.Kind != nil && o.Kind.Stack && o.Kind.System == CairnSystem {
			o.StackName = o.Ref.Name
			taken[place{o.Ref.Namespace, o.StackName}] = o
		}
	}
	for _, o := range c.Objects { // those of systems that are named first come first
		if o.Kind == nil || !o.Kind.Stack || o.Kind.System == CairnSystem {
			continue
		}
		o.StackName = Shorten(o.Ref.Name, MaxStackName)
		if o.StackName != o.Ref.Name {
			o.Note(manifest.Became, "metadata.name", "metadata.name %s: a Stack's name may have %d characters",
				o.StackName, MaxStackName)
		}
		other := taken[place{o.Ref.Namespace, o.StackName}]
		for n := 0; taken[place{o.Ref.Namespace, o.StackName}] != nil; n++ {
			o.StackName = Shorten(o.Ref.Name+"-"+o.Kind.System+strings.Repeat("-too", n), MaxStackName)
		}
		if other != nil {
			o.Note(manifest.Became, "metadata.name", "metadata.name %s: %s (%s) has the name %s", o.StackName,
				other.Ref, other.Kind.System, other.StackName)
		}
		taken[place{o.Ref.Namespace, o.StackName}] = o
	}
}

// freeRepository is a name for the Repository of an object: its own where that is free, otherwise with its system's
// behind it. Kinds of two systems may have objects of one name, and each has a code of its own.
func (c *Conversion) freeRepository(namespace, name, system string) string {
	taken := func(name string) bool {
		return slices.ContainsFunc(slices.Concat(c.repositories, c.strangers), func(r *Repository) bool {
			return r.named && r.Namespace == namespace && r.Name == name
		})
	}
	free := name
	for n := 0; taken(free); n++ {
		free = Shorten(name+"-"+system+strings.Repeat("-too", n), longestRepository)
	}
	return free
}

// nameRepositories names the Repositories that have no name yet: by their address, and with a digest where two would
// have the same.
func (c *Conversion) nameRepositories() {
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
		r.Name = RepositoryName(r.Spec.URL)
		if taken[place{r.Namespace, r.Name}] {
			of := r.Spec.URL
			if r.Spec.Credentials != nil {
				of += "\n" + r.Spec.Credentials.Secret.Name
			}
			r.Name += "-" + Digest(of)
		}
		taken[place{r.Namespace, r.Name}] = true
	}
}

// RepositoryName is a name for the Repository of an address: its last two words. Example: acme-infra.
func RepositoryName(url string) string {
	path := strings.TrimSuffix(strings.TrimRight(url, "/"), ".git")
	words := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == ':' })
	if len(words) > 2 {
		words = words[len(words)-2:]
	}
	return ObjectName(strings.Join(words, "-"), "repository", 63)
}

// notInNames is what a name of Kubernetes may not have.
var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// ObjectName returns a valid name of an object for a text.
func ObjectName(text, otherwise string, longest int) string {
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(text), "-"), "-")
	if name == "" {
		return otherwise
	}
	return Shorten(name, longest)
}

// Shorten returns a name of that length at most, and unique among those that begin alike.
func Shorten(name string, longest int) string {
	if len(name) <= longest {
		return name
	}
	sum := Digest(name)
	return strings.TrimRight(name[:longest-len(sum)-1], "-.") + "-" + sum
}

// Digest is a short digest of a text, for names.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}
