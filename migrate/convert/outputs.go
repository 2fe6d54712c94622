package convert

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/migrate/convert/manifest"
)

// AddStack adds the Stack of an object: with its name, its namespace, and the labels and annotations that no tool owns.
func (c *Conversion) AddStack(o *Object, spec v1alpha1.StackSpec, from *Repository) {
	made := &stack{of: o, from: from}
	made.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Stack"}
	made.Name, made.Namespace, made.Spec = o.StackName, o.Ref.Namespace, spec
	made.Labels = o.own("labels")
	made.Annotations = o.own("annotations")
	c.stacks = append(c.stacks, made)
}

// Repository is the Repository of an address in a namespace, with the Secret that it is read with; both are one
// Repository for all who ask for the same. Its name is derived from the address.
func (c *Conversion) Repository(namespace, url, secret string) *Repository {
	for _, r := range c.repositories {
		of := ""
		if r.Spec.Credentials != nil {
			of = r.Spec.Credentials.Secret.Name
		}
		if r.Namespace == namespace && r.Spec.URL == url && of == secret {
			return r
		}
	}
	made := NewRepository(namespace, url)
	if secret != "" {
		made.Spec.Credentials = &v1alpha1.SecretSource{Secret: v1alpha1.ObjectRef{Name: secret}}
	}
	c.repositories = append(c.repositories, made)
	return made
}

// AddRepository adds the Repository of an object whose field at has the address, with the object's name where that is
// free; not ok when it is no address.
func (c *Conversion) AddRepository(o *Object, at manifest.Field) (made *Repository, a Address, ok bool) {
	a, err := ReadAddress(at.Text())
	if err != nil {
		at.Fail("%w", err)
		return nil, a, false
	}
	made = NewRepository(o.Ref.Namespace, a.URL)
	made.named, made.of, made.Name = true, o, c.freeRepository(o.Ref.Namespace, o.Ref.Name, o.Kind.System)
	if made.Name != o.Ref.Name {
		o.Note(manifest.Became, "metadata.name", "metadata.name %s: another Repository has the name %s", made.Name,
			o.Ref.Name)
	}
	made.Labels = o.own("labels")
	made.Annotations = o.own("annotations")
	c.repositories = append(c.repositories, made)
	at.Became("Repository %s: spec.url", made.Name)
	if a.Secret {
		at.ToDo("the user or password in the URL is left out: put it into a Secret for spec.credentials, with keys " +
			"username and password")
	}
	return made, a, true
}

// NewRepository is the Repository of an address, without a name.
func NewRepository(namespace, url string) *Repository {
	made := &Repository{}
	made.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Repository"}
	made.Namespace, made.Spec.URL = namespace, url
	return made
}

// RepositoryOf is the Repository that was converted from an object.
func (c *Conversion) RepositoryOf(o *Object) *Repository {
	for _, r := range c.repositories {
		if r.of == o {
			return r
		}
	}
	return nil
}

// UnconvertedRepository is a placeholder for a Repository that is not created here: its object is not in the input.
func (c *Conversion) UnconvertedRepository(o *Object, at manifest.Field) *Repository {
	if name := at.At("name"); name.Text() == "" {
		name.Fail("it names no object: the Stack needs the name of its Repository")
	}
	namespace, called := cmp.Or(at.At("namespace").Text(), o.Ref.Namespace), at.At("name").Text()
	at.ToDo("%s %s/%s is not in the input: convert it too, for its settings are not in this Stack",
		"the repository's object", namespace, called)
	return c.ExternalRepository(o, at.At("kind").Text(), namespace, called)
}

// ExternalRepository is a Repository that the user has to create for an object of that kind and name. No Repository
// that is created here has its name.
func (c *Conversion) ExternalRepository(o *Object, kind, namespace, name string) *Repository {
	of := Key{Group: o.Kind.System, Kind: kind, Namespace: namespace, Name: name}
	for _, r := range c.strangers {
		if r.placeholderOf == of {
			return r
		}
	}
	r := &Repository{named: true, placeholderOf: of}
	r.Namespace, r.Name = namespace, c.freeRepository(namespace, name, o.Kind.System)
	c.strangers = append(c.strangers, r)
	return r
}

// KeepLastVariables keeps the last of several variables of one name: spec.variables has each name once.
func KeepLastVariables(o *Object, s *v1alpha1.StackSpec) {
	last := map[string]int{}
	for i, v := range s.Variables {
		if _, again := last[v.Name]; again {
			o.Note(manifest.Became, "", "spec.variables %s: several values are given for it; the last one is "+
				"taken, as before", v.Name)
		}
		last[v.Name] = i
	}
	var kept []v1alpha1.Variable
	for i, v := range s.Variables {
		if last[v.Name] == i {
			kept = append(kept, v)
		}
	}
	s.Variables = kept
}
