package migrate

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

// Convert makes Cairn's objects from those of other systems, which may be in any order and are left as they are. An error says of each wrong
// object what is wrong with it; then there is no result.
//
// The Stacks do what the objects did: Hold makes them safe for the day of moving.
func Convert(objects []unstructured.Unstructured) (Result, error) {
	c := &conversion{byKey: map[key]*object{}}
	var wrong []error
	for _, u := range objects {
		if err := c.take(u); err != nil {
			wrong = append(wrong, err)
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return Result{}, err
	}
	slices.SortFunc(c.objects, func(a, b *object) int { return order(a, b) })
	c.name()
	// Repositories that have a name of their own come before those that are made from an address.
	for _, stacks := range []bool{false, true} {
		for _, o := range c.objects {
			if o.kind != nil && o.kind.stack == stacks {
				c.convert(o)
			}
		}
	}
	for _, o := range c.objects {
		wrong = append(wrong, o.wrong...)
	}
	if err := errors.Join(wrong...); err != nil {
		return Result{}, err
	}
	return c.result(), nil
}

// conversion is a Convert under way.
type conversion struct {
	objects []*object
	byKey   map[key]*object
	// repositories that Stacks want, in the order in which they were asked for.
	repositories []*repository
	// strangers stand for Repositories that are not made here.
	strangers []*repository
	stacks    []*stack
}

// key is what makes two objects of the input the same one.
type key struct{ group, kind, namespace, name string }

// repository is a Repository under way.
type repository struct {
	v1alpha1.Repository
	// named says that the name is that of an object, and stays.
	named bool
	// of is the object that it is made of; nil for one that was Cairn's already, and for one that is made of an address.
	of *object
	// stands is what a stranger stands for, with its system for the group.
	stands key
}

// stack is a Stack under way.
type stack struct {
	v1alpha1.Stack
	// of is the object that it is made of; nil for one that was Cairn's already.
	of *object
	// from is the Repository of its code, whose name is known at the end; nil for code from elsewhere.
	from *repository
}

// take adds an object of the input.
func (c *conversion) take(u unstructured.Unstructured) error {
	if u.GetKind() == "" || u.GetAPIVersion() == "" {
		return errors.New("an object without apiVersion and kind")
	}
	o := newObject(u)
	for _, name := range []string{"name", "namespace"} { // else one that YAML takes for something else would be lost
		_ = o.at("metadata", name).text()
	}
	if err := errors.Join(o.wrong...); err != nil {
		return err
	}
	if o.ref.Name == "" && o.rank == len(kinds) { // a kustomization.yaml, say: nothing would be made of it, and no two of them are the same one
		c.objects = append(c.objects, o)
		return nil
	}
	if o.ref.Name == "" {
		return fmt.Errorf("%s: metadata.name is missing", o.ref)
	}
	group := u.GroupVersionKind().Group
	k := key{group, o.ref.Kind, o.ref.Namespace, o.ref.Name}
	if before, ok := c.byKey[k]; ok {
		if reflect.DeepEqual(before.root.value, o.root.value) {
			return nil
		}
		return fmt.Errorf("%s is there twice, and not the same: leave one out", o.ref)
	}
	c.byKey[k] = o
	c.objects = append(c.objects, o)
	return nil
}

// order is that of the result, whatever that of the input was: by namespace, then by system and name.
func order(a, b *object) int {
	return cmp.Or(
		cmp.Compare(a.ref.Namespace, b.ref.Namespace),
		cmp.Compare(a.rank, b.rank),
		cmp.Compare(a.ref.Kind, b.ref.Kind),
		cmp.Compare(a.ref.Name, b.ref.Name),
		cmp.Compare(a.ref.APIVersion, b.ref.APIVersion),
	)
}

// find is another object of the input; nil when it is not in it.
func (c *conversion) find(group, kind, namespace, name string) *object {
	return c.byKey[key{group, kind, namespace, name}]
}

// convert makes of an object what it becomes, and has each of its fields spoken of.
func (c *conversion) convert(o *object) {
	if o.at("metadata", "deletionTimestamp").there() {
		o.note(Cannot, "", "it is being deleted: nothing is made of it")
		return
	}
	o.kind.convert(c, o)
	o.metadata()
	o.at("status").notNeeded("Cairn finds out how things are for itself")
	o.rest()
}

// result is all that was made, in its order.
func (c *conversion) result() Result {
	r := Result{made: map[types.NamespacedName]Ref{}}
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
			r.made[types.NamespacedName{Namespace: made.Namespace, Name: made.Name}] = made.of.ref
		}
	}
	for _, o := range c.objects {
		r.Notes = append(r.Notes, o.notes...)
	}
	slices.SortFunc(r.Repositories, func(a, b v1alpha1.Repository) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(r.Stacks, func(a, b v1alpha1.Stack) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return r
}
