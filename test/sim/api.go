package sim

import (
	"errors"
	"reflect"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
)

// namespace of all objects.
const namespace = "ns"

// kind of object that the API server keeps.
type kind int

const (
	stacks kind = iota
	runs
	states
	pods
	configMaps

	kinds
)

var kindNames = [kinds]string{"Stack", "Run", "State", "Pod", "ConfigMap"}

// change is an event of a watch.
type change struct {
	o    client.Object
	gone bool
}

// api is the API server: what it keeps is never changed in place, so that caches can share it.
type api struct {
	w       *world
	version int
	uids    int
	objects [kinds][]client.Object
	log     [kinds][]change
}

func kindOf(o client.Object) kind {
	switch o.(type) {
	case *v1alpha1.Stack:
		return stacks
	case *v1alpha1.Run:
		return runs
	case *v1alpha1.State:
		return states
	case *corev1.Pod:
		return pods
	case *metav1.PartialObjectMetadata:
		return kind(slices.Index(kindNames[:], o.GetObjectKind().GroupVersionKind().Kind))
	}
	return -1
}

func find(objects []client.Object, name string) client.Object {
	for _, o := range objects {
		if o.GetName() == name {
			return o
		}
	}
	return nil
}

// copyInto fills an object of a caller.
func copyInto(to, from client.Object) {
	switch to := to.(type) {
	case *v1alpha1.Stack:
		from.(*v1alpha1.Stack).DeepCopyInto(to)
	case *v1alpha1.Run:
		from.(*v1alpha1.Run).DeepCopyInto(to)
	case *v1alpha1.State:
		from.(*v1alpha1.State).DeepCopyInto(to)
	case *corev1.Pod:
		from.(*corev1.Pod).DeepCopyInto(to)
	case *metav1.PartialObjectMetadata:
		meta := metaOf(from)
		meta.DeepCopyInto(&to.ObjectMeta)
	}
}

func metaOf(o client.Object) *metav1.ObjectMeta {
	switch o := o.(type) {
	case *v1alpha1.Stack:
		return &o.ObjectMeta
	case *v1alpha1.Run:
		return &o.ObjectMeta
	case *v1alpha1.State:
		return &o.ObjectMeta
	case *corev1.Pod:
		return &o.ObjectMeta
	}
	return &o.(*metav1.PartialObjectMetadata).ObjectMeta
}

func clone[T client.Object](o T) T { return o.DeepCopyObject().(T) }

func resource(k kind) schema.GroupResource { return schema.GroupResource{Resource: kindNames[k]} }

func (a *api) get(k kind, name string) client.Object { return find(a.objects[k], name) }

func (a *api) stack(name string) *v1alpha1.Stack {
	o, _ := a.get(stacks, name).(*v1alpha1.Stack)
	return o
}

func (a *api) run(name string) *v1alpha1.Run {
	o, _ := a.get(runs, name).(*v1alpha1.Run)
	return o
}

func (a *api) state(name string) *v1alpha1.State {
	o, _ := a.get(states, name).(*v1alpha1.State)
	return o
}

func (a *api) pod(name string) *corev1.Pod {
	o, _ := a.get(pods, name).(*corev1.Pod)
	return o
}

// put takes in an object, which is nobody else's from here on.
func (a *api) put(k kind, o client.Object) {
	a.version++
	o.SetResourceVersion(strconv.Itoa(a.version))
	at := slices.IndexFunc(a.objects[k], func(x client.Object) bool { return x.GetName() == o.GetName() })
	var old client.Object
	if at < 0 {
		a.objects[k] = append(a.objects[k], o)
	} else {
		old = a.objects[k][at]
		a.objects[k][at] = o
	}
	a.log[k] = append(a.log[k], change{o: o})
	a.w.wrote(k, old, o)
}

// drop takes an object away for good.
func (a *api) drop(k kind, name string) {
	at := slices.IndexFunc(a.objects[k], func(x client.Object) bool { return x.GetName() == name })
	o := a.objects[k][at]
	a.objects[k] = slices.Delete(slices.Clone(a.objects[k]), at, at+1)
	a.version++
	a.log[k] = append(a.log[k], change{o: o, gone: true})
	a.w.wrote(k, o, nil)
}

func (a *api) create(o client.Object) error {
	k := kindOf(o)
	if a.get(k, o.GetName()) != nil {
		return apierrors.NewAlreadyExists(resource(k), o.GetName())
	}
	n := clone(o)
	a.uids++
	n.SetUID(types.UID("u" + strconv.Itoa(a.uids)))
	n.SetNamespace(namespace)
	n.SetGeneration(1)
	n.SetCreationTimestamp(metav1.Time{Time: a.w.now()})
	switch n := n.(type) {
	case *v1alpha1.Stack:
		n.Status = v1alpha1.StackStatus{}
	case *v1alpha1.Run:
		n.Status = v1alpha1.RunStatus{}
	case *corev1.Pod:
		n.Status = corev1.PodStatus{Phase: corev1.PodPending}
	}
	a.put(k, n)
	copyInto(o, n)
	return nil
}

// check finds what is to be written, and refuses what was decided on another version of it.
func (a *api) check(o client.Object, locked bool) (kind, client.Object, error) {
	k := kindOf(o)
	there := a.get(k, o.GetName())
	if there == nil || (o.GetUID() != "" && there.GetUID() != o.GetUID()) {
		return k, nil, apierrors.NewNotFound(resource(k), o.GetName())
	}
	if locked && there.GetResourceVersion() != o.GetResourceVersion() {
		return k, nil, apierrors.NewConflict(resource(k), o.GetName(), errOld)
	}
	return k, there, nil
}

var errOld = errors.New("the object has been modified")

// setStatus writes the status of a Stack or Run, and nothing else of it.
func (a *api) setStatus(o client.Object, locked bool) error {
	k, there, err := a.check(o, locked)
	if err != nil {
		return err
	}
	n := clone(there)
	switch n := n.(type) {
	case *v1alpha1.Stack:
		o.(*v1alpha1.Stack).Status.DeepCopyInto(&n.Status)
	case *v1alpha1.Run:
		o.(*v1alpha1.Run).Status.DeepCopyInto(&n.Status)
	}
	if reflect.DeepEqual(n, there) { // an API server does not write what is there
		copyInto(o, there)
		return nil
	}
	a.put(k, n)
	copyInto(o, n)
	return nil
}

// setMeta writes labels and finalizers.
func (a *api) setMeta(o client.Object, locked bool) error {
	k, there, err := a.check(o, locked)
	if err != nil {
		return err
	}
	n := clone(there)
	n.SetFinalizers(o.GetFinalizers())
	n.SetLabels(o.GetLabels())
	return a.replace(k, n, o)
}

// update writes a State, which has no subresource.
func (a *api) update(o client.Object) error {
	k, _, err := a.check(o, o.GetResourceVersion() != "")
	if err != nil {
		return err
	}
	return a.replace(k, clone(o), o)
}

func (a *api) replace(k kind, n, o client.Object) error {
	if n.GetDeletionTimestamp() != nil && len(n.GetFinalizers()) == 0 {
		a.drop(k, n.GetName())
		return nil
	}
	a.put(k, n)
	copyInto(o, n)
	return nil
}

// remove deletes as a client asks for it. A pod that a node has begun goes when the node says so, unless by force.
func (a *api) remove(k kind, name string, uid *types.UID, version *string, force bool) error {
	there := a.get(k, name)
	switch {
	case there == nil:
		return apierrors.NewNotFound(resource(k), name)
	case uid != nil && *uid != there.GetUID(), version != nil && *version != there.GetResourceVersion():
		return apierrors.NewConflict(resource(k), name, errOld)
	case k == pods && !force:
		if there.GetDeletionTimestamp() == nil {
			n := clone(there)
			until := metav1.Time{Time: a.w.now().Add(podGrace)}
			n.SetDeletionTimestamp(&until)
			a.put(k, n)
		}
		return nil
	case len(there.GetFinalizers()) > 0:
		if there.GetDeletionTimestamp() == nil {
			n := clone(there)
			at := metav1.Time{Time: a.w.now()}
			n.SetDeletionTimestamp(&at)
			n.SetGeneration(n.GetGeneration() + 1)
			a.put(k, n)
		}
		return nil
	}
	a.drop(k, name)
	return nil
}

// garbage names an object whose owner is gone, which the garbage collector would delete.
func (a *api) garbage() (kind, string) {
	for _, k := range []kind{runs, pods} {
		for _, o := range a.objects[k] {
			owner := metav1.GetControllerOf(o)
			if owner == nil || o.GetDeletionTimestamp() != nil {
				continue
			}
			of := stacks
			if k == pods {
				of = runs
			}
			if there := a.get(of, owner.Name); there == nil || there.GetUID() != owner.UID {
				return k, o.GetName()
			}
		}
	}
	return -1, ""
}

// view is the cache of a process: what its watches have told it.
type view struct {
	api     *api
	at      [kinds]int
	objects [kinds][]client.Object
}

func (v *view) behind(k kind) int { return len(v.api.log[k]) - v.at[k] }

// hear takes in the next event.
func (v *view) hear(k kind) change {
	c := v.api.log[k][v.at[k]]
	v.at[k]++
	at := slices.IndexFunc(v.objects[k], func(x client.Object) bool { return x.GetName() == c.o.GetName() })
	switch {
	case at < 0 && c.gone:
	case at < 0:
		v.objects[k] = append(v.objects[k], c.o)
	case c.gone:
		v.objects[k] = slices.Delete(v.objects[k], at, at+1)
	default:
		v.objects[k][at] = c.o
	}
	return c
}

// relist begins a watch anew: what happened in between is seen only in what there is.
func (v *view) relist(k kind) {
	v.objects[k] = slices.Clone(v.api.objects[k])
	v.at[k] = len(v.api.log[k])
}
