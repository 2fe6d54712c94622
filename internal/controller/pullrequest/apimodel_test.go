package pullrequest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/controller/run/index"
)

// key identifies an object of the model.
type key struct{ kind, namespace, name string }

func keyOf(o client.Object) key {
	return key{kindOf(o), o.GetNamespace(), o.GetName()}
}

func kindOf(o any) string {
	switch o.(type) {
	case *v1alpha1.PullRequest, *v1alpha1.PullRequestList:
		return "PullRequest"
	case *v1alpha1.Run, *v1alpha1.RunList:
		return "Run"
	case *v1alpha1.Repository:
		return "Repository"
	case *v1alpha1.Stack:
		return "Stack"
	}
	return ""
}

func clone(o client.Object) client.Object { return o.DeepCopyObject().(client.Object) }

// sorted returns keys in an order that follows from them alone, as a history must.
func sorted(objects map[key]client.Object) (keys []key) {
	for k := range objects {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
	return keys
}

// apiModel is the API server.
type apiModel struct {
	*history
	objects map[key]client.Object
	version int
	writes  int
	// reject returns why an object must not be created; nil rejects none.
	reject func(client.Object) error
}

func newAPIModel(h *history) *apiModel {
	repo := repositoryOf()
	return &apiModel{history: h, objects: map[key]client.Object{keyOf(repo): repo}}
}

// put stores a new version of an object, which is deleted if its last finalizer is removed.
func (a *apiModel) put(o client.Object) {
	a.version++
	a.writes++
	o.SetResourceVersion(fmt.Sprint(a.version))
	k := keyOf(o)
	if pull, ok := o.(*v1alpha1.PullRequest); ok {
		a.git.merges.checkApply(pull)
	}
	if o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 {
		delete(a.objects, k)
	} else {
		a.objects[k] = o
	}
	for _, p := range a.processes {
		p.cache.changed(k)
	}
}

func (a *apiModel) create(o client.Object) error {
	if a.objects[keyOf(o)] != nil {
		return apierrors.NewAlreadyExists(schema.GroupResource{}, o.GetName())
	}
	if a.reject != nil {
		if err := a.reject(o); err != nil {
			return err
		}
	}
	a.version++
	o.SetUID(types.UID(fmt.Sprintf("uid-%d", a.version)))
	o.SetGeneration(1)
	if run, ok := o.(*v1alpha1.Run); ok {
		a.git.checkRun(run)
	}
	a.put(clone(o))
	return nil
}

// patch applies a merge patch to an object, or to its status only.
func (a *apiModel) patch(o client.Object, patch client.Patch, status bool) error {
	old := a.objects[keyOf(o)]
	if old == nil {
		return apierrors.NewNotFound(schema.GroupResource{}, o.GetName())
	}
	data, err := patch.Data(o)
	if err != nil {
		return err
	}
	var lock struct {
		Metadata struct{ ResourceVersion string }
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		return err
	}
	if v := lock.Metadata.ResourceVersion; v != "" && v != old.GetResourceVersion() {
		return apierrors.NewConflict(schema.GroupResource{}, o.GetName(), errors.New("it was modified"))
	}
	before, err := json.Marshal(old)
	if err != nil {
		return err
	}
	var whole, part map[string]any
	if err := errors.Join(json.Unmarshal(before, &whole), json.Unmarshal(data, &part)); err != nil {
		return err
	}
	merge(whole, part)
	after, err := json.Marshal(whole)
	if err != nil {
		return err
	}
	next := clone(o)
	switch next := next.(type) {
	case *v1alpha1.PullRequest:
		*next = v1alpha1.PullRequest{}
	case *v1alpha1.Run:
		*next = v1alpha1.Run{}
	case *v1alpha1.Repository:
		*next = v1alpha1.Repository{}
	case *v1alpha1.Stack:
		*next = v1alpha1.Stack{}
	}
	if err := json.Unmarshal(after, next); err != nil {
		return err
	}
	keep(next, old, status)
	if next, ok := next.(*v1alpha1.PullRequest); ok && next.Spec != old.(*v1alpha1.PullRequest).Spec {
		next.Generation++
	}
	a.put(next)
	copyInto(o, clone(next))
	return nil
}

// merge applies a JSON merge patch.
func merge(into, patch map[string]any) {
	for name, value := range patch {
		part, isPart := value.(map[string]any)
		before, isObject := into[name].(map[string]any)
		switch {
		case value == nil:
			delete(into, name)
		case isPart && isObject:
			merge(before, part)
		case isPart:
			before = map[string]any{}
			merge(before, part)
			into[name] = before
		default:
			into[name] = value
		}
	}
}

// keep keeps the part of an object that a patch of the other part does not change.
func keep(next, old client.Object, status bool) {
	switch next := next.(type) {
	case *v1alpha1.PullRequest:
		if old := old.(*v1alpha1.PullRequest); status {
			next.Spec = old.Spec
		} else {
			next.Status = *old.Status.DeepCopy()
		}
	case *v1alpha1.Run:
		if old := old.(*v1alpha1.Run); status {
			next.Spec = *old.Spec.DeepCopy()
		} else {
			next.Status = *old.Status.DeepCopy()
		}
	}
}

func copyInto(to, from client.Object) {
	switch to := to.(type) {
	case *v1alpha1.PullRequest:
		*to = *from.(*v1alpha1.PullRequest)
	case *v1alpha1.Run:
		*to = *from.(*v1alpha1.Run)
	case *v1alpha1.Repository:
		*to = *from.(*v1alpha1.Repository)
	case *v1alpha1.Stack:
		*to = *from.(*v1alpha1.Stack)
	}
}

func (a *apiModel) remove(o client.Object, uid *types.UID) error {
	old := a.objects[keyOf(o)]
	switch {
	case old == nil:
		return apierrors.NewNotFound(schema.GroupResource{}, o.GetName())
	case uid != nil && *uid != old.GetUID():
		return apierrors.NewConflict(schema.GroupResource{}, o.GetName(), errors.New("another UID"))
	case old.GetDeletionTimestamp() != nil:
		return nil
	}
	next := clone(old)
	next.SetDeletionTimestamp(&metav1.Time{Time: a.now})
	a.put(next)
	return nil
}

// runStep does the next step of a Run, as the controller of Runs and a pod would.
func (a *apiModel) runStep() bool {
	var unfinished []*v1alpha1.Run
	for _, k := range sorted(a.objects) {
		if run, ok := a.objects[k].(*v1alpha1.Run); ok && !isOwnRun(run) && !run.Status.Phase.Finished() {
			unfinished = append(unfinished, run)
		}
	}
	if len(unfinished) == 0 {
		return false
	}
	run := clone(unfinished[a.rand.IntN(len(unfinished))]).(*v1alpha1.Run)
	switch {
	case run.Spec.Cancel:
		run.Status.Phase = v1alpha1.PhaseCanceled
	case run.Status.Phase == "":
		run.Status.Phase = v1alpha1.PhasePlanning
	case a.rand.IntN(5) == 0:
		run.Status.Phase = v1alpha1.PhaseFailed
	default:
		run.Status.Phase = v1alpha1.PhaseSucceeded
		run.Status.Plan = &v1alpha1.Plan{Digest: "sha256:" + run.Name, Changes: true, Add: 1}
	}
	a.tracef("Run %s is %s", run.Name, run.Status.Phase)
	a.put(run)
	return true
}

// cacheModel is the cache of a process. It gets each event late, and has no Runs that succeeded.
type cacheModel struct {
	api     *apiModel
	objects map[key]client.Object
	late    []key
}

func newCacheModel(a *apiModel) cacheModel {
	c := cacheModel{api: a, objects: map[key]client.Object{}}
	for _, k := range sorted(a.objects) {
		c.refresh(k)
	}
	return c
}

func (c *cacheModel) refresh(k key) {
	o := c.api.objects[k]
	if run, ok := o.(*v1alpha1.Run); o == nil || ok && run.Status.Phase == v1alpha1.PhaseSucceeded {
		delete(c.objects, k)
		return
	}
	c.objects[k] = clone(o)
}

func (c *cacheModel) changed(k key) {
	if !slices.Contains(c.late, k) {
		c.late = append(c.late, k)
	}
}

// next receives an event. It returns the object before and after it, and whether that was deleted.
func (c *cacheModel) next(r *rand.Rand) (before, o client.Object, gone bool) {
	if len(c.late) == 0 {
		return nil, nil, false
	}
	i := r.IntN(len(c.late))
	k := c.late[i]
	c.late = slices.Delete(c.late, i, i+1)
	before = c.objects[k]
	c.refresh(k)
	if now := c.objects[k]; now != nil {
		return before, now, false
	}
	if before == nil { // created and deleted in between
		return c.next(r)
	}
	return before, before, true
}

// kube is the client of a process: it reads from the cache, or from the API server if that is nil.
type kube struct {
	client.Client
	cache map[key]client.Object
	*history
}

func (k *kube) read(what string, do func(map[key]client.Object)) error {
	if k.cache != nil {
		do(k.cache)
		return nil
	}
	return k.crossing(what, func() { do(k.api.objects) })
}

func (k *kube) Get(_ context.Context, name client.ObjectKey, o client.Object, _ ...client.GetOption) (err error) {
	lost := k.read("get "+name.Name, func(objects map[key]client.Object) {
		found := objects[key{kindOf(o), name.Namespace, name.Name}]
		if found == nil {
			err = apierrors.NewNotFound(schema.GroupResource{}, name.Name)
			return
		}
		copyInto(o, clone(found))
	})
	return errors.Join(lost, err)
}

func (k *kube) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	matches := func(object client.Object) bool {
		switch {
		case o.Namespace != "" && o.Namespace != object.GetNamespace():
			return false
		case o.LabelSelector != nil:
			return o.LabelSelector.Matches(labels.Set(object.GetLabels()))
		case o.FieldSelector == nil:
			return true
		}
		of := o.FieldSelector.Requirements()[0]
		switch of.Field {
		case repository.PullRequestIndex:
			return slices.Contains(repository.IndexPullRequest(object), of.Value)
		case repository.StackIndex:
			return slices.Contains(repository.IndexStack(object), of.Value)
		case AppliesIndex:
			return slices.Contains(IndexApplies(object), of.Value)
		case index.PullRequestField:
			return slices.Contains(index.PullRequestUIDs(object), of.Value)
		}
		panic("no index " + of.Field)
	}
	return k.read("list", func(objects map[key]client.Object) {
		for _, name := range sorted(objects) {
			if name.kind != kindOf(list) || !matches(objects[name]) {
				continue
			}
			switch list := list.(type) {
			case *v1alpha1.PullRequestList:
				list.Items = append(list.Items, *clone(objects[name]).(*v1alpha1.PullRequest))
			case *v1alpha1.RunList:
				list.Items = append(list.Items, *clone(objects[name]).(*v1alpha1.Run))
			}
		}
	})
}

func (k *kube) write(what string, do func() error) (err error) {
	lost := k.crossing(what, func() { err = do() })
	k.tracef("      %s: %v", what, err)
	return cmp.Or(lost, err)
}

func (k *kube) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	return k.write("create "+o.GetName(), func() error { return k.api.create(o) })
}

func (k *kube) Patch(_ context.Context, o client.Object, p client.Patch, _ ...client.PatchOption) error {
	return k.write("patch "+o.GetName(), func() error { return k.api.patch(o, p, false) })
}

func (k *kube) Delete(_ context.Context, o client.Object, opts ...client.DeleteOption) error {
	var all client.DeleteOptions
	all.ApplyOptions(opts)
	return k.write("delete "+o.GetName(), func() error {
		if all.Preconditions != nil {
			return k.api.remove(o, all.Preconditions.UID)
		}
		return k.api.remove(o, nil)
	})
}

func (k *kube) Status() client.SubResourceWriter { return statusModel{kube: k} }

type statusModel struct {
	client.SubResourceWriter
	kube *kube
}

func (s statusModel) Patch(_ context.Context, o client.Object, p client.Patch,
	_ ...client.SubResourcePatchOption) error {
	return s.kube.write("report "+o.GetName(), func() error { return s.kube.api.patch(o, p, true) })
}
