package operator

import (
	"context"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
)

// TestInvalidNamespacesAreRejected checks flags such as a list with an extra comma: an empty name would select all
// namespaces.
func TestInvalidNamespacesAreRejected(t *testing.T) {
	for _, wrong := range [][]string{{"a", ""}, {""}, {"*"}, {"A"}, {"a b"}} {
		if err := checkNamespaces(wrong); err == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
	if err := checkNamespaces([]string{"a", "team-b"}); err != nil {
		t.Error(err)
	}
	if err := checkNamespaces(nil); err != nil {
		t.Error(err)
	}
}

func TestCacheHasTheConfiguredNamespaces(t *testing.T) {
	if o := cachedIn(cacheOptions(Options{}), nil); o.DefaultNamespaces != nil {
		t.Errorf("without namespaces the cache has %v", o.DefaultNamespaces)
	}
	o := cachedIn(cacheOptions(Options{}), []string{"a", "b"})
	if _, ok := o.DefaultNamespaces["a"]; !ok || len(o.DefaultNamespaces) != 2 {
		t.Errorf("the cache has %v", o.DefaultNamespaces)
	}
	for kind, by := range o.ByObject {
		if by.Namespaces != nil { // it would replace the others
			t.Errorf("%T has namespaces of its own", kind)
		}
	}
	if _, all := o.DefaultNamespaces[cache.AllNamespaces]; all {
		t.Error("the cache has all namespaces")
	}
}

// namespaceRecorder is a client that records the namespaces of its requests, and returns every object.
type namespaceRecorder struct {
	client.Client
	namespaces []string
}

func (a *namespaceRecorder) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	a.namespaces = append(a.namespaces, key.Namespace)
	return nil
}

func (a *namespaceRecorder) List(_ context.Context, _ client.ObjectList, opts ...client.ListOption) error {
	o := client.ListOptions{}
	a.namespaces = append(a.namespaces, o.ApplyOptions(opts).Namespace)
	return nil
}

func TestReadsOfOtherNamespacesReturnNotFound(t *testing.T) {
	mapper := apimeta.NewDefaultRESTMapper(nil)
	mapper.Add(v1alpha1.GroupVersion.WithKind("Repository"), apimeta.RESTScopeNamespace)
	// used for its RESTMapper only
	known, err := client.New(&rest.Config{}, client.Options{Scheme: scheme(), Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	inner := &namespaceRecorder{Client: known}
	c := namespacedClient{inner, []string{"a"}}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "b", Name: "infra"},
		&v1alpha1.Repository{}); !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), `"infra"`) {
		t.Errorf("got %v", err)
	}
	runs := &v1alpha1.RunList{}
	if err := c.List(t.Context(), runs, client.InNamespace("b")); err != nil || apimeta.LenList(runs) != 0 {
		t.Errorf("got %v", err)
	}
	if len(inner.namespaces) != 0 {
		t.Fatalf("requests in %q", inner.namespaces)
	}
	for _, namespace := range []string{"a", ""} {
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "x"},
			&v1alpha1.Repository{}); err != nil {
			t.Error(err)
		}
		if err := c.List(t.Context(), runs, client.InNamespace(namespace)); err != nil {
			t.Error(err)
		}
	}
	if len(inner.namespaces) != 4 {
		t.Errorf("requests in %q", inner.namespaces)
	}
}

// TestClientCertificatesCanBeDisabled checks that the ConfigMap in kube-system is not read then, which Cairn may have
// no permission for.
func TestClientCertificatesCanBeDisabled(t *testing.T) {
	if authority, err := clientCA(nil, Options{}); authority != nil || err != nil {
		t.Errorf("%v, with a CA: %v", err, authority != nil)
	}
}

func TestRunnerTokensAreReviewedOrCheckedByKeys(t *testing.T) {
	var how RunnerTokens
	for _, good := range []string{"review", "jwks"} {
		if err := how.Set(good); err != nil || how.String() != good {
			t.Errorf("%s: %v", good, err)
		}
	}
	if err := how.Set("trust"); err == nil {
		t.Error("any token is accepted")
	}
}
