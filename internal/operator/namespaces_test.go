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

// To a cache the empty name is all namespaces: one comma too many must not be every tenant.
func TestWhatIsNoNamespaceIsRefused(t *testing.T) {
	for _, wrong := range [][]string{{"a", ""}, {""}, {"*"}, {"A"}, {"a b"}} {
		if err := checkNamespaces(wrong); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
	if err := checkNamespaces([]string{"a", "team-b"}); err != nil {
		t.Error(err)
	}
	if err := checkNamespaces(nil); err != nil {
		t.Error(err)
	}
}

func TestTheCacheIsOfTheNamespacesThatAreNamed(t *testing.T) {
	if o := cachedIn(cacheOptions(Options{}), nil); o.DefaultNamespaces != nil {
		t.Errorf("none are named, and the cache is of %v", o.DefaultNamespaces)
	}
	o := cachedIn(cacheOptions(Options{}), []string{"a", "b"})
	if _, ok := o.DefaultNamespaces["a"]; !ok || len(o.DefaultNamespaces) != 2 {
		t.Errorf("the cache is of %v", o.DefaultNamespaces)
	}
	for kind, by := range o.ByObject {
		if by.Namespaces != nil { // it would take the place of the others
			t.Errorf("%T has namespaces of its own", kind)
		}
	}
	if _, all := o.DefaultNamespaces[cache.AllNamespaces]; all {
		t.Error("it is of all")
	}
}

// asked is a client that notes what it is asked, and finds everything.
type asked struct {
	client.Client
	namespaces []string
}

func (a *asked) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	a.namespaces = append(a.namespaces, key.Namespace)
	return nil
}

func (a *asked) List(_ context.Context, _ client.ObjectList, opts ...client.ListOption) error {
	o := client.ListOptions{}
	a.namespaces = append(a.namespaces, o.ApplyOptions(opts).Namespace)
	return nil
}

func TestThereIsNothingInNamespacesThatCairnDoesNotLookAt(t *testing.T) {
	mapper := apimeta.NewDefaultRESTMapper(nil)
	mapper.Add(v1alpha1.GroupVersion.WithKind("Repository"), apimeta.RESTScopeNamespace)
	known, err := client.New(&rest.Config{}, client.Options{Scheme: scheme(), Mapper: mapper}) // it is asked about kinds only
	if err != nil {
		t.Fatal(err)
	}
	inner := &asked{Client: known}
	c := namespacedClient{inner, []string{"a"}}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "b", Name: "infra"}, &v1alpha1.Repository{}); !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), `"infra"`) {
		t.Errorf("got %v", err)
	}
	runs := &v1alpha1.RunList{}
	if err := c.List(t.Context(), runs, client.InNamespace("b")); err != nil || apimeta.LenList(runs) != 0 {
		t.Errorf("got %v", err)
	}
	if len(inner.namespaces) != 0 {
		t.Fatalf("asked in %q", inner.namespaces)
	}
	for _, namespace := range []string{"a", ""} {
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "x"}, &v1alpha1.Repository{}); err != nil {
			t.Error(err)
		}
		if err := c.List(t.Context(), runs, client.InNamespace(namespace)); err != nil {
			t.Error(err)
		}
	}
	if len(inner.namespaces) != 4 {
		t.Errorf("asked in %q", inner.namespaces)
	}
}

// Without them the ConfigMap of kube-system is not asked for, which an install may be unable to let Cairn read.
func TestClientCertificatesCanBeLeftOut(t *testing.T) {
	if authority, err := clientCA(nil, Options{}); authority != nil || err != nil {
		t.Errorf("%v, and what they are checked with is there: %v", err, authority != nil)
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
		t.Error("anything is taken")
	}
}
