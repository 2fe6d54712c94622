//go:build envtest

package server_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/server"
	"cairn.dev/cairn/test/apiserver"
)

// early runs a function after the first read of the ConfigMap.
type early struct {
	client.Reader
	then func()
}

func (e *early) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := e.Reader.Get(ctx, key, o, opts...)
	if _, ok := o.(*corev1.ConfigMap); ok && key.Name == "cairn" && e.then != nil {
		e.then()
		e.then = nil
	}
	return err
}

func TestEndpointIsPublished(t *testing.T) {
	e := newEnv(t)
	key := types.NamespacedName{Namespace: "kube-public", Name: "cairn"}
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	t.Cleanup(func() { _ = apiserver.Kube.Delete(context.Background(), m) })
	public := func(url string, own bool) func(*server.Options) {
		return func(o *server.Options) { o.Public = server.Public{URL: url, OwnCA: own} }
	}
	read := func(p *userServer, want map[string]string) {
		t.Helper()
		p.eventually(func() bool {
			err := apiserver.Kube.Get(t.Context(), key, m)
			return err == nil && cmp.Equal(m.Data, want)
		})
	}
	one := e.serveUsers(public("https://one.example.com", true))
	read(one, map[string]string{"url": "https://one.example.com", "ca.crt": string(e.keys.Bundle())})
	one.stop()
	version := m.ResourceVersion
	e.serveUsers(public("https://one.example.com", true)).stop() // before the next one, which writes other values
	two := e.serveUsers(public("https://two.example.com", false))
	read(two, map[string]string{"url": "https://two.example.com"})
	two.stop()
	if m.ResourceVersion == version {
		t.Error("nothing was written")
	}

	// An older server created it concurrently: its values are overwritten at once.
	must(t, apiserver.Kube.Delete(t.Context(), m))
	late := e.serveUsers(public("https://late.example.com", false), func(o *server.Options) {
		o.Live = &early{o.Live, func() {
			m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
			must(t, apiserver.Kube.Create(t.Context(), m))
		}}
	})
	read(late, map[string]string{"url": "https://late.example.com"})
	late.stop()

	// One of another owner is not changed.
	must(t, apiserver.Kube.Delete(t.Context(), m))
	mine := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Data: map[string]string{"url": "mine"}}
	must(t, apiserver.Kube.Create(t.Context(), mine))
	three := e.serveUsers(public("https://three.example.com", true))
	three.eventually(func() bool { return three.log.line("is not published", "is not changed") != "" })
	read(three, mine.Data)
	if err := apiserver.Kube.Delete(t.Context(), mine); apierrors.IsNotFound(err) {
		t.Error(fmt.Errorf("it is gone: %w", err))
	}
}

// The same holds for the ConfigMap by which users find the server; one that was filled before is filled again.
func TestEndpointIsPublishedInAnEmptyConfigMap(t *testing.T) {
	e := newEnv(t)
	_, c := e.cairn()
	key := types.NamespacedName{Namespace: "kube-public", Name: "cairn"}
	labels := map[string]string{"app.kubernetes.io/managed-by": "Helm"}
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: labels}}
	must(t, apiserver.Kube.Create(t.Context(), m))
	t.Cleanup(func() { _ = apiserver.Kube.Delete(context.Background(), m) })
	for _, address := range []string{"https://one.example.com", "https://two.example.com"} {
		p := e.serveUsers(func(o *server.Options) {
			o.Client, o.Live, o.Public = c, c, server.Public{URL: address}
		})
		p.eventually(func() bool {
			must(t, apiserver.Kube.Get(t.Context(), key, m))
			return m.Data["url"] == address
		})
		p.stop()
	}
	if m.Labels["app.kubernetes.io/managed-by"] != "Helm" {
		t.Errorf("the labels are %v", m.Labels)
	}
}
