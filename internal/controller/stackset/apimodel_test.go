package stackset

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
)

// apiModel is the API server with one StackSet, and Stacks and StackGrants of some namespaces. Server-side apply is the
// real one, with the types that it infers. It changes no stored object, so that caches share them.
//
// The simulations of Stacks and Runs (test/sim) and of pull requests have models of their own: theirs have no
// managedFields, which decide most of what this one checks, and their kinds, indexes, lost requests and caches are
// those of their controllers. What the three have in common are the preconditions of a deletion and of a write, some
// twenty lines.
type apiModel struct {
	*history
	merge *managedfields.FieldManager
	// stacks are by keyOf, and grants by namespace.
	stacks  map[string]*v1alpha1.Stack
	grants  map[string]grant
	set     *v1alpha1.StackSet
	version int
	writes  int
	// log has each version of each object, for the watches.
	log []change
	// invalid are keys of Stacks that an admission policy rejects. In forbidden namespaces the operator may not write,
	// and in denied ones the author of the set.
	invalid, forbidden, denied map[string]bool
}

// change is an event of a watch: the object that was, and the one that is.
type change struct {
	name        string
	before, now *v1alpha1.Stack
	set         *v1alpha1.StackSet
	ofSet       bool
	// grant of the namespace name.
	grant *grant
}

type noDefaults struct{}

func (noDefaults) Default(runtime.Object) {}

func newAPIModel(h *history) *apiModel {
	scheme, gvk := runtime.NewScheme(), v1alpha1.GroupVersion.WithKind("Stack")
	must(v1alpha1.AddToScheme(scheme))
	merge, err := managedfields.NewDefaultFieldManager(managedfields.NewDeducedTypeConverter(), scheme, noDefaults{},
		scheme, gvk, gvk.GroupVersion(), "", nil)
	must(err)
	return &apiModel{history: h, merge: merge, stacks: map[string]*v1alpha1.Stack{}, grants: map[string]grant{},
		invalid: map[string]bool{}, forbidden: map[string]bool{}, denied: map[string]bool{}}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func conflictOf(name string) error {
	return apierrors.NewConflict(schema.GroupResource{Resource: "stacks"}, name, errors.New("it was modified"))
}

func notFound(name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: "stacks"}, name)
}

// put stores a new version of a Stack; nil deletes it, as does the end of the last finalizer of one that is being
// deleted.
func (a *apiModel) put(name string, next *v1alpha1.Stack) {
	before := a.stacks[name]
	if next != nil && next.DeletionTimestamp != nil && len(next.Finalizers) == 0 {
		next = nil
	}
	a.version++
	if next == nil {
		delete(a.stacks, name)
	} else {
		next.ResourceVersion = fmt.Sprint(a.version)
		for i := range next.ManagedFields { // a history follows from its seed
			next.ManagedFields[i].Time = nil
		}
		a.stacks[name] = next
	}
	a.log = append(a.log, change{name: name, before: before, now: next})
}

// putSet stores a new version of the StackSet; nil deletes it.
func (a *apiModel) putSet(next *v1alpha1.StackSet) {
	a.version++
	if next != nil {
		next.ResourceVersion = fmt.Sprint(a.version)
	}
	a.set = next
	a.log = append(a.log, change{name: setName, set: next, ofSet: true})
	for _, p := range a.processes {
		p.confirmations = append(p.confirmations, a.confirmation())
	}
}

func (a *apiModel) confirmation() string {
	if a.set == nil {
		return ""
	}
	return a.set.Annotations[v1alpha1.ConfirmDeletionsAnnotation]
}

// changeSet is a write of a user.
func (a *apiModel) changeSet(do func(*v1alpha1.StackSet)) {
	if a.set == nil {
		return
	}
	next := a.set.DeepCopy()
	if do(next); !equality.Semantic.DeepEqual(next.Spec, a.set.Spec) {
		next.Generation++
	}
	for _, namespace := range next.Spec.Namespaces {
		if a.denied[namespace] { // an admission policy requires the same permissions there
			a.tracef("the author may not write Stacks in %s", namespace)
			return
		}
	}
	a.putSet(next)
}

func objectOf(s *v1alpha1.Stack) *unstructured.Unstructured {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
	must(err)
	u := &unstructured.Unstructured{Object: object}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Stack"))
	return u
}

// store stores what a write results in.
func (a *apiModel) store(key string, before *v1alpha1.Stack, merged runtime.Object) *v1alpha1.Stack {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(merged)
	must(err)
	next := &v1alpha1.Stack{}
	must(runtime.DefaultUnstructuredConverter.FromUnstructured(object, next))
	next.TypeMeta = metav1.TypeMeta{}
	if before == nil {
		a.version++
		next.Namespace, next.UID, next.Generation = namespaceOf(key), types.UID(fmt.Sprintf("uid-%d", a.version)), 1
		a.put(key, next)
		return next
	}
	next.UID, next.ResourceVersion, next.Generation = before.UID, before.ResourceVersion, before.Generation
	for i := range next.ManagedFields {
		next.ManagedFields[i].Time = nil
	}
	if equality.Semantic.DeepEqual(before, next) {
		return before
	}
	if !equality.Semantic.DeepEqual(before.Spec, next.Spec) {
		next.Generation++
	}
	a.put(key, next)
	return next
}

// apply is a server-side apply.
func (a *apiModel) apply(body *unstructured.Unstructured, manager string, force bool) error {
	name := keyIn(body.GetNamespace(), body.GetName())
	before := a.stacks[name]
	switch {
	case a.invalid[name]:
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Stack"}, name, nil)
	case before == nil && body.GetUID() != "",
		before != nil && body.GetUID() != "" && body.GetUID() != before.UID,
		before != nil && body.GetResourceVersion() != "" && body.GetResourceVersion() != before.ResourceVersion:
		return conflictOf(name)
	}
	live, err := a.merge.Apply(objectOf(cmp.Or(before, &v1alpha1.Stack{})), body.DeepCopy(), manager, force)
	if err != nil {
		return err
	}
	body.Object = objectOf(a.store(name, before, live)).Object
	return nil
}

// edit is a user's write of a Stack: a new one if it does not exist.
func (a *apiModel) edit(name string, do func(*v1alpha1.Stack)) {
	before := a.stacks[name]
	next := &v1alpha1.Stack{}
	next.Namespace, next.Name = locate(name)
	if before != nil {
		next = before.DeepCopy()
	}
	do(next)
	live, err := a.merge.Update(objectOf(cmp.Or(before, &v1alpha1.Stack{})), objectOf(next), "kubectl-edit")
	must(err)
	a.store(name, before, live)
}

func (a *apiModel) remove(name string, uid *types.UID, version *string) error {
	before := a.stacks[name]
	switch {
	case before == nil:
		return notFound(name)
	case uid != nil && *uid != before.UID, version != nil && *version != before.ResourceVersion:
		return conflictOf(name)
	case before.DeletionTimestamp != nil:
		return nil
	}
	next := before.DeepCopy()
	next.DeletionTimestamp = &metav1.Time{Time: a.now}
	next.Generation++
	a.put(name, next)
	return nil
}

// kube is the client of a process: it reads from its cache, or from the API server if it is live.
type kube struct {
	client.Client
	*process
	// of is the instance of the process: requests of one that was killed reach nothing.
	of   int
	live bool
}

var errLost = errors.New("connection reset")

// request does a request to the API server. It or its response can be lost; others work before and after it.
func (k *kube) request(what string, isWrite bool, do func() error) error {
	h := k.history
	h.others()
	if k.of != k.instance {
		return errLost
	}
	if !h.quiet && h.rand.IntN(40) == 0 {
		switch n := h.rand.IntN(4); {
		case n == 0 && isWrite:
			return conflictOf(what)
		case n == 1 && isWrite:
			return apierrors.NewInvalid(schema.GroupKind{Kind: "Stack"}, what, nil)
		case n == 2:
			return apierrors.NewInternalError(errLost)
		}
		h.tracef("!  the request %s is lost", what)
		return errLost
	}
	if k.history.before != nil {
		k.history.before(what)
	}
	err := do()
	if isWrite {
		h.tracef("      %s: %v", what, err)
	}
	h.others()
	if k.of != k.instance || (!h.quiet && h.rand.IntN(40) == 0) {
		h.tracef("!  the response of %s is lost", what)
		return errLost
	}
	return err
}

func (k *kube) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	read := func(stacks map[string]*v1alpha1.Stack, set *v1alpha1.StackSet) error {
		switch o := o.(type) {
		case *v1alpha1.Repository:
			o.Namespace, o.Name, o.UID, o.Spec.Ref = namespace, "infra", "infra", "main"
		case *v1alpha1.StackSet:
			if set == nil {
				return notFound(key.Name)
			}
			set.DeepCopyInto(o)
		case *v1alpha1.Stack:
			s := stacks[keyIn(key.Namespace, key.Name)]
			if s == nil {
				return notFound(key.Name)
			}
			s.DeepCopyInto(o)
		}
		return nil
	}
	if k.live {
		return k.request("get "+key.Name, false, func() error { return read(k.api.stacks, k.api.set) })
	}
	return read(k.stacks, k.set)
}

func (k *kube) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	if grants, is := list.(*v1alpha1.StackGrantList); is {
		return k.listGrants(grants, o.Namespace)
	}
	read := func(stacks map[string]*v1alpha1.Stack) error {
		list := list.(*v1alpha1.StackList)
		for _, name := range slices.Sorted(maps.Keys(stacks)) {
			s := stacks[name]
			if o.Namespace != "" && s.Namespace != o.Namespace {
				continue
			}
			if o.FieldSelector != nil && !slices.Contains(IndexOwner(s), o.FieldSelector.Requirements()[0].Value) {
				continue
			}
			if o.LabelSelector == nil || o.LabelSelector.Matches(labels.Set(s.Labels)) {
				list.Items = append(list.Items, *s)
			}
		}
		return nil
	}
	if k.live {
		return k.request("list", false, func() error {
			if k.step.read = k.git.fetched; k.step.live == nil {
				k.step.live = map[string]*v1alpha1.Stack{}
			}
			for name, s := range k.api.stacks {
				if s.Namespace == o.Namespace && o.LabelSelector.Matches(labels.Set(s.Labels)) {
					k.step.live[name] = s
				}
			}
			return read(k.api.stacks)
		})
	}
	k.step.listed = maps.Clone(k.stacks)
	return read(k.stacks)
}

func (k *kube) Apply(_ context.Context, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	var all client.ApplyOptions
	all.ApplyOptions(opts)
	data, err := json.Marshal(o)
	must(err)
	body := &unstructured.Unstructured{}
	must(body.UnmarshalJSON(data))
	key := keyIn(body.GetNamespace(), body.GetName())
	err = k.write("apply", key, func() error {
		before, rendered := k.api.stacks[key], body.GetAnnotations()[v1alpha1.RenderedAnnotation]
		suspends := body.GetAnnotations()[v1alpha1.ItemGoneAnnotation] != ""
		err := k.api.apply(body, all.FieldManager, all.Force != nil && *all.Force)
		if err == nil {
			k.checkApply(before, k.api.stacks[key], all.FieldManager, rendered, suspends)
		}
		return err
	})
	if err == nil {
		return json.Unmarshal(mustJSON(body), o)
	}
	return err
}

func mustJSON(o any) []byte {
	data, err := json.Marshal(o)
	must(err)
	return data
}

func (k *kube) Patch(_ context.Context, o client.Object, p client.Patch, _ ...client.PatchOption) error {
	data, err := p.Data(o)
	must(err)
	var part struct {
		Metadata struct{ ResourceVersion string }
	}
	must(json.Unmarshal(data, &part))
	key := keyIn(o.GetNamespace(), o.GetName())
	return k.write("patch", key, func() error {
		before := k.api.stacks[key]
		if before == nil || before.ResourceVersion != part.Metadata.ResourceVersion {
			return conflictOf(o.GetName())
		}
		next := before.DeepCopy()
		delete(next.Annotations, v1alpha1.ItemGoneAnnotation)
		k.checkWrite(before)
		k.api.put(key, next)
		return nil
	})
}

func (k *kube) Delete(_ context.Context, o client.Object, opts ...client.DeleteOption) error {
	var all client.DeleteOptions
	all.ApplyOptions(opts)
	p := cmp.Or(all.Preconditions, &metav1.Preconditions{})
	key := keyIn(o.GetNamespace(), o.GetName())
	return k.write("delete", key, func() error {
		before := k.api.stacks[key]
		err := k.api.remove(key, p.UID, p.ResourceVersion)
		if err == nil && before.DeletionTimestamp == nil {
			k.checkDelete(before)
		}
		return err
	})
}

func (k *kube) Status() client.SubResourceWriter { return statusModel{kube: k} }

type statusModel struct {
	client.SubResourceWriter
	kube *kube
}

func (s statusModel) Patch(_ context.Context, o client.Object, _ client.Patch,
	_ ...client.SubResourcePatchOption) error {
	k, set := s.kube, o.(*v1alpha1.StackSet)
	return k.request("report", true, func() error {
		there := k.api.set
		if there == nil || there.UID != set.UID || there.ResourceVersion != set.ResourceVersion {
			return conflictOf(set.Name)
		}
		next := there.DeepCopy()
		next.Status = *set.Status.DeepCopy()
		for _, c := range next.Status.Conditions {
			k.tracef("      %s %s: %s", c.Type, c.Reason, c.Message)
		}
		k.checkReport(next)
		k.api.writes++
		k.api.putSet(next)
		return nil
	})
}

// noEvents drops events.
type noEvents struct{}

func (noEvents) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}
