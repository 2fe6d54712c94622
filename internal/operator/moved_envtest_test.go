//go:build envtest

package operator

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/repository"
	"cairn.dev/cairn/test/apiserver"
	"cairn.dev/cairn/test/gitserver"
)

// After a push the Stack whose code changed goes before all that is in the queue. The many others stay where they are, and so
// does one that may not use the Repository: it is not looked into for it.
func TestMovedWakesThoseThatChanged(t *testing.T) {
	r, elsewhere := enter(t), enter(t)
	repos := gitserver.New(t)
	server, err := gitserver.ServeHTTP(repos, false)
	apiserver.Must(t, err)
	t.Cleanup(func() { _ = server.Close() })
	remote, err := repos.Init("infra")
	apiserver.Must(t, err)
	_, err = remote.Commit(gitserver.Change{Files: map[string]string{"net/main.tf": "# 1", "web/main.tf": "# 1"}})
	apiserver.Must(t, err)

	mirrors, over := repository.NewMirrors(t.TempDir()), make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { over <- mirrors.Start(ctx) }()
	t.Cleanup(func() { cancel(); <-over })
	reconciler := &repository.Reconciler{Client: r.Client, Live: r.Live, Mirrors: mirrors, Events: events.NewFakeRecorder(100)}
	repo := &v1alpha1.Repository{ObjectMeta: metav1.ObjectMeta{Name: "infra"}, Spec: v1alpha1.RepositorySpec{URL: server.URL + remote.Path()}}
	r.Make(repo)
	fetch := func(request string) repository.Event {
		t.Helper()
		repo.Annotations = map[string]string{v1alpha1.RequestedAtAnnotation: request}
		apiserver.Must(t, r.Client.Update(t.Context(), repo))
		r.Seen(repo)
		_, err := reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(repo)})
		apiserver.Must(t, err)
		<-mirrors.Ended()
		e := <-mirrors.Moved()
		r.Seen(repo)
		return e
	}
	first := fetch("1")

	reads := func(in apiserver.Room, name string) *v1alpha1.Stack {
		s := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.StackSpec{
			Source: v1alpha1.Source{Git: &v1alpha1.GitSource{Repository: v1alpha1.RepositoryRef{Namespace: r.Namespace, Name: "infra"}, Path: name}},
		}}
		in.Make(s)
		r.Seen(s) // the cache that is asked has it too
		return s
	}
	net, web := reads(r, "net"), reads(r, "web")
	reads(elsewhere, "stranger")
	codes := repository.NewCodes(mirrors)
	for _, s := range []*v1alpha1.Stack{net, web} {
		_, err := codes.Of(t.Context(), repo, s)
		apiserver.Must(t, err)
	}

	_, err = remote.Commit(gitserver.Change{Files: map[string]string{"web/main.tf": "# 2"}})
	apiserver.Must(t, err)
	second := fetch("2")
	if second.Object != first.Object {
		t.Errorf("%v moved", second.Object)
	}
	queue := priorityqueue.New[reconcile.Request]("moved")
	t.Cleanup(queue.ShutDown)
	moved(r.Client, codes).Generic(t.Context(), second, queue)
	request, priority, _ := queue.GetWithPriority()
	if name := names(r, []reconcile.Request{request}); name != "web" || priority != -handler.LowPriority {
		t.Errorf("%s is woken with priority %d", name, priority)
	}
	if n := queue.Len(); n != 0 {
		t.Errorf("%d others are woken", n)
	}

	// One that is gone meanwhile wakes nobody.
	apiserver.Must(t, r.Client.Delete(t.Context(), repo))
	r.Gone(repo)
	moved(r.Client, codes).Generic(t.Context(), second, queue)
	if n := queue.Len(); n != 0 {
		t.Errorf("%d are in the queue", n)
	}
}
