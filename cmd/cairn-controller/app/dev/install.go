package dev

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	chart "cairn.dev/cairn/charts/cairn"
	"cairn.dev/cairn/internal/base/version"
)

// fieldOwner owns the fields of the objects that `cairn dev` and `cairn demo` apply.
const fieldOwner = client.FieldOwner("cairn-dev")

// install applies Cairn's namespace, CRDs, admission policies and roles, and waits until the API server serves the
// CRDs.
func install(ctx context.Context, c client.Client, namespace string, log logr.Logger) error {
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
	objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool {
		unknown := setsNames(o) && !serves(c, o)
		if unknown {
			log.Info("This API server does not serve the kind, so users write their own names: see "+version.Docs+
				"how-to/access-audit.md#names",
				"kind", o.GetKind(), "name", o.GetName())
		}
		return unknown
	})
	// The API server creates its own namespaces a moment after it starts.
	if err := poll(ctx, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKey{Name: metav1.NamespacePublic}, &corev1.Namespace{})
		return err == nil, client.IgnoreNotFound(err)
	}); err != nil {
		return fmt.Errorf("wait for namespace %s: %w", metav1.NamespacePublic, err)
	}
	if err := apply(ctx, c, objects); err != nil {
		return err
	}
	for _, o := range objects {
		if o.GetKind() != "CustomResourceDefinition" {
			continue
		}
		if err := poll(ctx, func(ctx context.Context) (bool, error) {
			if err := c.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil || !established(o) {
				return false, client.IgnoreNotFound(err)
			}
			return canCreate(ctx, c, o), nil
		}); err != nil {
			return fmt.Errorf("wait for %s: %w", o.GetName(), err)
		}
	}
	return nil
}

// poll calls a condition until it is satisfied.
func poll(ctx context.Context, condition wait.ConditionWithContextFunc) error {
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 30*time.Second, true, condition)
}

// setsNames returns whether an object is a policy that sets the names of users. Older clusters do not have that kind.
func setsNames(o *unstructured.Unstructured) bool {
	return strings.HasPrefix(o.GetKind(), "MutatingAdmissionPolicy")
}

// serves returns whether the API server serves the kind of an object.
func serves(c client.Client, o *unstructured.Unstructured) bool {
	kind := o.GroupVersionKind()
	_, err := c.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	return !apimeta.IsNoMatchError(err)
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

// canCreate returns whether objects of a CRD can be created, which it tries in a dry run. After the CRD is established,
// it takes the API server a moment to serve it, and longer until its policies that change objects accept it.
func canCreate(ctx context.Context, c client.Client, crd *unstructured.Unstructured) bool {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		version, _ := v.(map[string]any)["name"].(string)
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: kind})
		o.SetNamespace("default")
		o.SetName("cairn-probe")
		err := c.Create(ctx, o, client.DryRunAll)
		if apierrors.IsServiceUnavailable(err) || apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err) {
			return false
		}
	}
	return true
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

// apply applies objects in order, with server-side apply. Namespaced objects without a namespace get "default".
func apply(ctx context.Context, c client.Client, objects []*unstructured.Unstructured) error {
	for _, o := range objects {
		if namespaced, err := c.IsObjectNamespaced(o); err == nil && namespaced && o.GetNamespace() == "" {
			o.SetNamespace("default")
		} else if err != nil && !apimeta.IsNoMatchError(err) {
			return err
		}
		if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), fieldOwner,
			client.ForceOwnership); err != nil {
			return fmt.Errorf("apply %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}
