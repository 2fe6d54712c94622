package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	chart "cairn.dev/cairn/charts/cairn"
)

// fieldOwner is who the objects belong to that `cairn dev` and `cairn demo` apply.
const fieldOwner = client.FieldOwner("cairn-dev")

// install puts Cairn's namespace, kinds and admission policies into a cluster and waits until the kinds are served.
func install(ctx context.Context, c client.Client, namespace string) error {
	ns := &unstructured.Unstructured{}
	ns.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	ns.SetName(namespace)
	objects := []*unstructured.Unstructured{ns}
	err := fs.WalkDir(chart.Manifests, ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if data, err := chart.Manifests.ReadFile(path); err == nil {
			more, err := decode(data)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			objects = append(objects, more...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := apply(ctx, c, objects); err != nil {
		return err
	}
	for _, o := range objects {
		if o.GetKind() != "CustomResourceDefinition" {
			continue
		}
		if err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
			return established(o), client.IgnoreNotFound(c.Get(ctx, client.ObjectKeyFromObject(o), o))
		}); err != nil {
			return fmt.Errorf("wait for %s: %w", o.GetName(), err)
		}
	}
	return nil
}

func established(crd *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Established" {
			return c["status"] == "True"
		}
	}
	return false
}

// decode reads the objects of a YAML file.
func decode(data []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		if len(o.Object) > 0 {
			objects = append(objects, o)
		}
	}
}

// apply applies objects in order, by server-side apply; those without a namespace that need one get "default".
func apply(ctx context.Context, c client.Client, objects []*unstructured.Unstructured) error {
	for _, o := range objects {
		if namespaced, err := c.IsObjectNamespaced(o); err == nil && namespaced && o.GetNamespace() == "" {
			o.SetNamespace("default")
		} else if err != nil && !apimeta.IsNoMatchError(err) {
			return err
		}
		if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), fieldOwner, client.ForceOwnership); err != nil {
			return fmt.Errorf("apply %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}
