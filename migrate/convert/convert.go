// Package convert is what the converters of all systems share: it selects the converter of each object, collects the
// Stacks and Repositories that the converters create, names them, and adds a note for each field that no converter has
// a note for: nothing is dropped silently.
package convert

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/version"
	"cairn.dev/cairn/migrate/convert/manifest"
)

// Objects converts objects of these kinds, which may be in any order and are left as they are. An error lists what is
// wrong with each object; then there is no result.
//
// The Stacks do what the objects did: Hold changes them for the day of the migration.
func Objects(kinds []Kind, objects []unstructured.Unstructured) (Result, error) {
	c := &Conversion{kinds: kinds, byKey: map[Key]*Object{}}
	var wrong []error
	for _, u := range objects {
		if err := c.take(u); err != nil {
			wrong = append(wrong, err)
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return Result{}, err
	}
	slices.SortFunc(c.Objects, order)
	c.name()
	// Repositories that have a name of their own come before those that get one from an address.
	for _, stacks := range []bool{false, true} {
		for _, o := range c.Objects {
			if o.Kind != nil && o.Kind.Stack == stacks {
				c.convert(o)
			}
		}
	}
	for _, o := range c.Objects {
		wrong = append(wrong, o.Errors...)
	}
	if err := errors.Join(wrong...); err != nil {
		return Result{}, err
	}
	return c.result(), nil
}

// Conversion is a Convert under way.
type Conversion struct {
	kinds   []Kind
	Objects []*Object
	byKey   map[Key]*Object
	// repositories that Stacks want, in the order in which they were asked for.
	repositories []*Repository
	// strangers stand for Repositories that are not created here.
	strangers []*Repository
	stacks    []*stack
}

// Key identifies an object of the input.
type Key struct{ Group, Kind, Namespace, Name string }

// Object is an object of the input with its kind.
type Object struct {
	*manifest.Object
	// kind of it; nil for one that is not known. rank is its place in the list of kinds.
	Kind *Kind
	rank int
	// stack is the name of the Stack that it becomes, if it becomes one.
	StackName string
}

func (c *Conversion) newInput(u unstructured.Unstructured) *Object {
	o := &Object{Object: manifest.NewObject(u), rank: len(c.kinds)}
	rank := IndexOf(c.kinds, o.Ref.APIVersion, o.Ref.Kind)
	switch {
	case rank < 0:
		o.Note(manifest.Unknown, "", "it is not converted: objects of this kind are not known")
	case !slices.Contains(c.kinds[rank].Versions, u.GroupVersionKind().Version):
		o.Note(manifest.Unknown, "", "it is not converted: of this kind the versions %s are known",
			strings.Join(c.kinds[rank].Versions, ", "))
	default:
		o.Kind, o.rank = &c.kinds[rank], rank
		o.Ref.System = o.Kind.System
	}
	return o
}

// NoteOfPullRequest adds the note on an object that its system created for a pull request, as a copy of another one:
// the code is that of the pull request, and the state that of the other object.
func (o *Object) NoteOfPullRequest() {
	o.Note(manifest.NotNeeded, "spec", "it is for a pull request, and has the state of the object that it is a copy "+
		"of: nothing is created for it. Cairn plans pull requests itself ("+version.Docs+"how-to/pull-requests.md)")
	o.MarkNoted("metadata")
}

// Repository is a Repository under way.
type Repository struct {
	v1alpha1.Repository
	// named is true when the name is that of an object, and stays.
	named bool
	// of is the object that it is converted from; nil for one that was Cairn's already, and for one that has only an
	// address.
	of *Object
	// placeholderOf is the key of the object that a placeholder replaces, with its system for the group.
	placeholderOf Key
}

// stack is a Stack under way.
type stack struct {
	v1alpha1.Stack
	// of is the object that it is converted from; nil for one that was Cairn's already.
	of *Object
	// from is the Repository of its code, whose name is known at the end; nil for code from elsewhere.
	from *Repository
}

// take adds an object of the input.
func (c *Conversion) take(u unstructured.Unstructured) error {
	if u.GetKind() == "" || u.GetAPIVersion() == "" {
		return errors.New("an object without apiVersion and kind")
	}
	o := c.newInput(u)
	for _, name := range []string{"name", "namespace"} { // else one that YAML does not read as a string would be lost
		_ = o.At("metadata", name).Text()
	}
	if err := errors.Join(o.Errors...); err != nil {
		return err
	}
	// such as a kustomization.yaml: it is not converted, and two of them are not duplicates
	if o.Ref.Name == "" && o.rank == len(c.kinds) {
		c.Objects = append(c.Objects, o)
		return nil
	}
	if o.Ref.Name == "" {
		return fmt.Errorf("%s: metadata.name is missing", o.Ref)
	}
	group := u.GroupVersionKind().Group
	k := Key{group, o.Ref.Kind, o.Ref.Namespace, o.Ref.Name}
	if before, ok := c.byKey[k]; ok {
		if reflect.DeepEqual(before.Root.Value, o.Root.Value) {
			return nil
		}
		return fmt.Errorf("%s is there twice, and not the same: leave one out", o.Ref)
	}
	c.byKey[k] = o
	c.Objects = append(c.Objects, o)
	return nil
}

// order is that of the result, whatever that of the input was: by namespace, then by system and name.
func order(a, b *Object) int {
	return cmp.Or(
		cmp.Compare(a.Ref.Namespace, b.Ref.Namespace),
		cmp.Compare(a.rank, b.rank),
		cmp.Compare(a.Ref.Kind, b.Ref.Kind),
		cmp.Compare(a.Ref.Name, b.Ref.Name),
		cmp.Compare(a.Ref.APIVersion, b.Ref.APIVersion),
	)
}

// Find is another object of the input; nil when it is not in it.
func (c *Conversion) Find(group, kind, namespace, name string) *Object {
	return c.byKey[Key{group, kind, namespace, name}]
}

// convert converts an object, and adds a note to each of its fields that has none.
func (c *Conversion) convert(o *Object) {
	if o.At("metadata", "deletionTimestamp").Exists() {
		o.Note(manifest.Unsupported, "", "it is being deleted: it is not converted")
		return
	}
	o.Kind.Convert(c, o)
	o.metadata()
	o.At("status").NotNeeded("Cairn determines the status itself")
	o.Root.NoteUnknown()
}

// result is all objects that were created, in their order.
func (c *Conversion) result() Result {
	r := Result{origins: map[types.NamespacedName]manifest.Ref{}}
	c.nameRepositories()
	for _, made := range c.repositories {
		r.Repositories = append(r.Repositories, made.Repository)
	}
	for _, made := range c.stacks {
		if made.from != nil {
			made.Spec.Source.Git.Repository.Name = made.from.Name
			if made.from.Namespace != made.Namespace {
				made.Spec.Source.Git.Repository.Namespace = made.from.Namespace
			}
		}
		r.Stacks = append(r.Stacks, made.Stack)
		if made.of != nil {
			r.origins[types.NamespacedName{Namespace: made.Namespace, Name: made.Name}] = made.of.Ref
		}
	}
	for _, o := range c.Objects {
		r.Notes = append(r.Notes, o.Notes...)
	}
	slices.SortFunc(r.Repositories, func(a, b v1alpha1.Repository) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(r.Stacks, func(a, b v1alpha1.Stack) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return r
}

// Keys are the names of the keys of a Secret or ConfigMap of the input; ok is false when it is not in it. Values are
// not read.
func (c *Conversion) Keys(kind, namespace, name string) (keys []string, ok bool) {
	o := c.Find("", kind, namespace, name)
	if o == nil {
		return nil, false
	}
	for _, part := range []string{"data", "stringData", "binaryData"} {
		values, _ := o.At(part).Value.(map[string]any)
		for key := range values {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys), true
}
