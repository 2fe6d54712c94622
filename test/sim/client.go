package sim

import (
	"context"
	"errors"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/run/index"
	"cairn.dev/cairn/internal/controller/stack/snapshot"
)

// kube is the client of a process: it reads from a view, or from the API server when that is nil.
type kube struct {
	client.Client

	sim  *simulation
	view *view
	// of is the process, -1 for the server.
	of int
}

// errAway is the error of a lost request or response.
var errAway = errors.New("the API server did not answer")

func (c *kube) objects(k kind) []client.Object {
	if c.view != nil {
		return c.view.objects[k]
	}
	return c.sim.api.objects[k]
}

func (c *kube) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if c.view == nil {
		if err := c.sim.crossing(c.of, "get"); err != nil {
			return err
		}
	}
	if r, ok := o.(*v1alpha1.Repository); ok {
		r.Namespace, r.Name, r.UID, r.Generation = key.Namespace, key.Name, "infra", 1
		return nil
	}
	k := kindOf(o)
	if k < 0 { // namespaces and ServiceAccounts exist
		return nil
	}
	there := find(c.objects(k), key.Name)
	if there == nil {
		return apierrors.NewNotFound(groupResource(k), key.Name)
	}
	copyInto(o, there)
	return nil
}

// List supports the indexes of the product's caches.
func (c *kube) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if c.view == nil {
		if err := c.sim.crossing(c.of, "list"); err != nil {
			return err
		}
	}
	var field, value string
	for _, opt := range opts {
		if m, ok := opt.(client.MatchingFields); ok {
			for f, v := range m { // it has one entry
				field, value = f, v
			}
		}
	}
	matches := func(o client.Object) bool {
		switch field {
		case "":
			return true
		case index.StackField:
			return o.(*v1alpha1.Run).Spec.Stack.Name == value
		case index.PodField:
			return slices.Contains(index.PodUIDs(o), value)
		case index.ReasonField:
			return slices.Contains(index.Reasons(o), value)
		case snapshot.DependencyIndex:
			return slices.Contains(snapshot.IndexDependencies(o), value)
		case snapshot.HoldIndex:
			return slices.Contains(snapshot.IndexHolds(o), value)
		}
		panic("no index " + field)
	}
	switch list := list.(type) {
	case *v1alpha1.PullRequestList:
		for _, o := range c.objects(pulls) {
			if matches(o) {
				list.Items = append(list.Items, *o.(*v1alpha1.PullRequest))
			}
		}
	case *v1alpha1.StackList:
		for _, o := range c.objects(stacks) {
			if matches(o) {
				list.Items = append(list.Items, *o.(*v1alpha1.Stack))
			}
		}
	case *v1alpha1.RunList:
		for _, o := range c.objects(runs) {
			if matches(o) {
				list.Items = append(list.Items, *o.(*v1alpha1.Run))
			}
		}
	case *v1alpha1.StateList:
		for _, o := range c.objects(states) {
			list.Items = append(list.Items, *o.(*v1alpha1.State))
		}
	case *corev1.PodList:
		for _, o := range c.objects(pods) {
			list.Items = append(list.Items, *o.(*corev1.Pod))
		}
	case *metav1.PartialObjectMetadataList:
		if list.Kind == "PodList" {
			for _, o := range c.objects(pods) {
				list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: o.(*corev1.Pod).ObjectMeta})
			}
		}
	case *v1alpha1.VariableSetList, *v1alpha1.StackPolicyList, *v1alpha1.PipelineList: // histories have none
	default:
		panic("list of an unknown kind")
	}
	return nil
}

// write performs one write, of which the request, the response or the process may be lost.
func (c *kube) write(what string, do func() error) error {
	if err := c.sim.crossing(c.of, what); err != nil {
		return err
	}
	c.sim.writer = c
	err := do()
	c.sim.writer = nil
	if err != nil {
		c.sim.tracef("      %s: %v", what, err)
		return err
	}
	return c.sim.crossed(c.of, what)
}

func (c *kube) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	return c.write("create "+o.GetName(), func() error {
		if kindOf(o) == pods && c.sim.fault("pod is refused", 60) {
			return apierrors.NewForbidden(groupResource(pods), o.GetName(), errors.New("exceeded quota"))
		}
		return c.sim.api.create(o)
	})
}

func (c *kube) Update(_ context.Context, o client.Object, _ ...client.UpdateOption) error {
	return c.write("update "+o.GetName(), func() error { return c.sim.api.update(o) })
}

func (c *kube) Patch(_ context.Context, o client.Object, p client.Patch, _ ...client.PatchOption) error {
	return c.write("patch "+o.GetName(), func() error { return c.sim.api.setMeta(o, isLocked(p)) })
}

func (c *kube) Delete(_ context.Context, o client.Object, opts ...client.DeleteOption) error {
	var all client.DeleteOptions
	all.ApplyOptions(opts)
	return c.write("delete "+o.GetName(), func() error {
		if p := all.Preconditions; p != nil {
			return c.sim.api.remove(kindOf(o), o.GetName(), p.UID, p.ResourceVersion, false)
		}
		return c.sim.api.remove(kindOf(o), o.GetName(), nil, nil, false)
	})
}

func (c *kube) Status() client.SubResourceWriter { return statusWriter{kube: c} }

type statusWriter struct {
	client.SubResourceWriter
	kube *kube
}

func (s statusWriter) Patch(_ context.Context, o client.Object, p client.Patch,
	_ ...client.SubResourcePatchOption) error {
	return s.kube.write("report "+o.GetName(), func() error { return s.kube.sim.api.setStatus(o, isLocked(p)) })
}

// isLocked reports whether a patch has an optimistic lock. Its content is ignored: the patched object is compared.
func isLocked(p client.Patch) bool {
	v := reflect.ValueOf(p)
	return v.Kind() == reflect.Pointer && v.Elem().FieldByName("opts").FieldByName("OptimisticLock").Bool()
}
