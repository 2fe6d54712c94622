package operator

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// checkNamespaces rejects what is not the name of a namespace. Above all an empty one: to a cache it means all of
// them.
func checkNamespaces(namespaces []string) error {
	for _, namespace := range namespaces {
		if errs := validation.IsDNS1123Label(namespace); len(errs) > 0 {
			return fmt.Errorf("namespaces: %q is not the name of one: %s", namespace, errs[0])
		}
	}
	return nil
}

// cachedIn restricts a cache's lists and watches to some namespaces, each by itself; none means all of the cluster.
func cachedIn(o cache.Options, namespaces []string) cache.Options {
	if len(namespaces) == 0 {
		return o
	}
	o.DefaultNamespaces = map[string]cache.Config{}
	for _, namespace := range namespaces {
		o.DefaultNamespaces[namespace] = cache.Config{}
	}
	return o
}

// watches reports whether the operator watches a namespace.
func (o Options) watches(namespace string) bool {
	return o.Shard.has(namespace) && (len(o.Namespaces) == 0 || slices.Contains(o.Namespaces, namespace))
}

// namespacedClient is a client that finds nothing in other namespaces. Its cache does not have them and returns an
// error, with which a reconcile of an object that names one there would be retried for ever.
type namespacedClient struct {
	client.Client
	namespaces []string
}

func (c namespacedClient) has(namespace string) bool {
	return namespace == "" || slices.Contains(c.namespaces, namespace)
}

// Get reads an object.
func (c namespacedClient) Get(ctx context.Context, key client.ObjectKey, o client.Object,
	opts ...client.GetOption) error {
	if c.has(key.Namespace) {
		return c.Client.Get(ctx, key, o, opts...)
	}
	kind, err := c.GroupVersionKindFor(o)
	if err != nil {
		return err
	}
	mapping, err := c.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return err
	}
	return apierrors.NewNotFound(mapping.Resource.GroupResource(), key.Name)
}

// List reads objects.
func (c namespacedClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	o := client.ListOptions{}
	if o.ApplyOptions(opts); c.has(o.Namespace) {
		return c.Client.List(ctx, list, opts...)
	}
	return nil
}
