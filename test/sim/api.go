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

// namespace is that of all objects.
const namespace = "ns"

// kind is a type of object in the API server.
type kind int

const (
	stacks kind = iota
	runs
	states
	pods
	configMaps
	secrets
	pulls

	kinds
)

var kindNames = [kinds]string{"Stack", "Run", "State", "Pod", "ConfigMap", "Secret", "PullRequest"}

// change is a watch event.
type change struct {
	o    client.Object
	gone bool
}

// api is the API server. It never changes stored objects in place, so that caches can share them.
type api struct {
	sim     *simulation
	version int
	uids    int
	objects [kinds][]client.Object
	log     [kinds][]change
	// kept are the objects that Options.Checked compares.
	kept []pristine
	// leaned are objects as caches store them.
	leaned map[client.Object]client.Object
	// collectedAt is the resource version of the last garbage collection, and found its result.
	collectedAt int
	found       garbage
}

// garbage is an object whose owner is deleted.
type garbage struct {
	kind kind
	name string
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
	case *v1alpha1.PullRequest:
		return pulls
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
	case *v1alpha1.PullRequest:
		return &o.ObjectMeta
	}
	return &o.(*metav1.PartialObjectMetadata).ObjectMeta
}

func groupResource(k kind) schema.GroupResource { return schema.GroupResource{Resource: kindNames[k]} }

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

// put stores an object, which the caller no longer uses.
func (a *api) put(k kind, o client.Object) {
	a.version++
	if o.SetResourceVersion(strconv.Itoa(a.version)); k == configMaps {
		o.SetResourceVersion("1") // the content of the code never changes
	}
	at := slices.IndexFunc(a.objects[k], func(x client.Object) bool { return x.GetName() == o.GetName() })
	var old client.Object
	if at < 0 {
		a.objects[k] = append(a.objects[k], o)
	} else {
		old = a.objects[k][at]
		a.objects[k][at] = o
	}
	a.log[k] = append(a.log[k], change{o: o})
	a.keep(o)
	a.sim.wrote(k, old, o)
}

// drop removes an object.
func (a *api) drop(k kind, name string) {
	at := slices.IndexFunc(a.objects[k], func(x client.Object) bool { return x.GetName() == name })
	o := a.objects[k][at]
	a.objects[k] = slices.Delete(slices.Clone(a.objects[k]), at, at+1)
	a.version++
	a.log[k] = append(a.log[k], change{o: o, gone: true})
	a.sim.wrote(k, o, nil)
}

func (a *api) create(o client.Object) error {
	k := kindOf(o)
	if a.get(k, o.GetName()) != nil {
		return apierrors.NewAlreadyExists(groupResource(k), o.GetName())
	}
	n := dup(o)
	a.uids++
	n.SetUID(types.UID("u" + strconv.Itoa(a.uids)))
	n.SetNamespace(namespace)
	n.SetGeneration(1)
	n.SetCreationTimestamp(metav1.Time{Time: a.sim.now()})
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

// check returns the stored object, and a conflict if the write is based on another version of it.
func (a *api) check(o client.Object, locked bool) (kind, client.Object, error) {
	k := kindOf(o)
	there := a.get(k, o.GetName())
	if there == nil || (o.GetUID() != "" && there.GetUID() != o.GetUID()) {
		return k, nil, apierrors.NewNotFound(groupResource(k), o.GetName())
	}
	if locked && there.GetResourceVersion() != o.GetResourceVersion() {
		return k, nil, apierrors.NewConflict(groupResource(k), o.GetName(), errOld)
	}
	return k, there, nil
}

var errOld = errors.New("the object has been modified")

// setStatus writes the status of a Stack or Run, and nothing else. Like an API server it ignores a write without
// changes.
func (a *api) setStatus(o client.Object, locked bool) error {
	k, there, err := a.check(o, locked)
	if err != nil {
		return err
	}
	var n client.Object
	switch there := there.(type) {
	case *v1alpha1.Stack:
		next := &o.(*v1alpha1.Stack).Status
		if reflect.DeepEqual(next, &there.Status) {
			break
		}
		s := dup(there)
		s.Status, n = *next, s
	case *v1alpha1.Run:
		next := &o.(*v1alpha1.Run).Status
		if reflect.DeepEqual(next, &there.Status) {
			break
		}
		r := dup(there)
		r.Status, n = *next, r
	}
	if n == nil {
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
	n := dup(there)
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
	return a.replace(k, dup(o), o)
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

// remove deletes an object for a client. A pod that a node has started remains until the node removes it, unless by
// force.
func (a *api) remove(k kind, name string, uid *types.UID, version *string, force bool) error {
	there := a.get(k, name)
	switch {
	case there == nil:
		return apierrors.NewNotFound(groupResource(k), name)
	case uid != nil && *uid != there.GetUID(), version != nil && *version != there.GetResourceVersion():
		return apierrors.NewConflict(groupResource(k), name, errOld)
	case k == pods && !force:
		if there.GetDeletionTimestamp() == nil {
			n := dup(there)
			until := metav1.Time{Time: a.sim.now().Add(podGrace)}
			n.SetDeletionTimestamp(&until)
			a.put(k, n)
		}
		return nil
	case len(there.GetFinalizers()) > 0:
		if there.GetDeletionTimestamp() == nil {
			n := dup(there)
			at := metav1.Time{Time: a.sim.now()}
			n.SetDeletionTimestamp(&at)
			n.SetGeneration(n.GetGeneration() + 1)
			a.put(k, n)
		}
		return nil
	}
	a.drop(k, name)
	return nil
}

// garbage returns an object whose owner is deleted, for the garbage collector; kind -1 means none.
func (a *api) garbage() garbage {
	if a.collectedAt != a.version {
		a.collectedAt, a.found = a.version, a.findGarbage()
	}
	return a.found
}

func (a *api) findGarbage() garbage {
	for k := runs; k <= pods; k++ {
		of := stacks
		switch k {
		case states:
			continue
		case pods:
			of = runs
		}
		for _, o := range a.objects[k] {
			owner := metav1.GetControllerOfNoCopy(o)
			if owner == nil || o.GetDeletionTimestamp() != nil {
				continue
			}
			if there := a.get(of, owner.Name); there == nil || there.GetUID() != owner.UID {
				return garbage{k, o.GetName()}
			}
		}
	}
	return garbage{kind: -1}
}
