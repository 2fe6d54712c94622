//go:build envtest

package stack

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/egress/egresstest"
	"cairn.dev/cairn/internal/controller/code"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/controller/stack/snapshot"
	"cairn.dev/cairn/test/apiserver"
	"cairn.dev/cairn/test/gitserver"
)

// TestPushEnqueuesTheChangedStackFirst checks that a push enqueues the Stack whose code changed before all others.
// Other Stacks are not enqueued, nor is one that the Repository does not allow, whose code is not read.
func TestPushEnqueuesTheChangedStackFirst(t *testing.T) {
	r, elsewhere := apiserver.New(t, setupIndexes()...), apiserver.New(t, setupIndexes()...)
	repos := gitserver.New(t)
	server, err := gitserver.ServeHTTP(repos, false)
	apiserver.Must(t, err)
	t.Cleanup(func() { _ = server.Close() })
	remote, err := repos.Init("infra")
	apiserver.Must(t, err)
	_, err = remote.Commit(gitserver.Change{Files: map[string]string{"net/main.tf": "# 1", "web/main.tf": "# 1"}})
	apiserver.Must(t, err)

	mirrors, over := repository.NewMirrors(t.TempDir()), make(chan error, 1)
	mirrors.Egress = egresstest.Loopback()
	ctx, cancel := context.WithCancel(context.Background())
	go func() { over <- mirrors.Start(ctx) }()
	t.Cleanup(func() { cancel(); <-over })
	reconciler := &repository.Reconciler{Client: r.Client, Live: r.Live, Mirrors: mirrors,
		Events: events.NewFakeRecorder(100)}
	repo := &v1alpha1.Repository{ObjectMeta: metav1.ObjectMeta{Name: "infra"},
		Spec: v1alpha1.RepositorySpec{URL: server.URL + remote.Path()}}
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

	reads := func(in apiserver.Env, name string) *v1alpha1.Stack {
		s := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.StackSpec{
			Source: v1alpha1.Source{
				Git: &v1alpha1.GitSource{Repository: v1alpha1.RepositoryRef{Namespace: r.Namespace, Name: "infra"},
					Path: name}},
		}}
		in.Make(s)
		r.Seen(s)
		return s
	}
	net, web := reads(r, "net"), reads(r, "web")
	reads(elsewhere, "stranger")
	codes := code.NewCodes(mirrors)
	for _, s := range []*v1alpha1.Stack{net, web} {
		_, err := codes.Observe(t.Context(), repo, s)
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
		t.Errorf("%s is enqueued with priority %d", name, priority)
	}
	if n := queue.Len(); n != 0 {
		t.Errorf("%d others are enqueued", n)
	}

	// A deleted Repository enqueues no Stack.
	apiserver.Must(t, r.Client.Delete(t.Context(), repo))
	r.Gone(repo)
	moved(r.Client, codes).Generic(t.Context(), second, queue)
	if n := queue.Len(); n != 0 {
		t.Errorf("%d are in the queue", n)
	}
}

func setupIndexes() []apiserver.Index {
	return append(indexes(),
		apiserver.Index{Of: &v1alpha1.Stack{}, Field: snapshot.ObjectIndex, Values: snapshot.IndexObjects},
		apiserver.Index{Of: &v1alpha1.VariableSet{}, Field: snapshot.ObjectIndex, Values: snapshot.VariableSetObjects},
		apiserver.Index{Of: &v1alpha1.StackPolicy{}, Field: snapshot.ObjectIndex, Values: snapshot.StackPolicyObjects},
		apiserver.Index{Of: &v1alpha1.Stack{}, Field: snapshot.UnitUserIndex, Values: snapshot.IndexUnitUsers})
}

// newStack creates a Stack that depends on others.
func newStack(r apiserver.Env, name string, after ...string) *v1alpha1.Stack {
	r.Helper()
	s := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{v1alpha1.Finalizer}},
		Spec: v1alpha1.StackSpec{
			Source: v1alpha1.Source{Inline: map[string]string{"main.tf": ""}},
		}}
	for _, name := range after {
		s.Spec.DependsOn = append(s.Spec.DependsOn, v1alpha1.Dependency{Name: name})
	}
	r.Make(s)
	return s
}

// names returns the names of the requests, with the namespace if it is another one.
func names(r apiserver.Env, requests []reconcile.Request) string {
	var all []string
	for _, q := range requests {
		all = append(all, strings.TrimPrefix(q.String(), r.Namespace+"/"))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// TestEventsEnqueueTheStacksThatTheyConcern checks the requests for an event of each resource.
func TestEventsEnqueueTheStacksThatTheyConcern(t *testing.T) {
	r, elsewhere := apiserver.New(t, setupIndexes()...), apiserver.New(t, setupIndexes()...)
	ask := lookups{r.Client}
	vpc := newStack(r, "vpc")
	net := newStack(r, "net", "vpc", "dns")
	web := newStack(r, "web", "net")
	dns := newStack(r, "dns")
	key := newStack(r, "key", "key")
	middle := newStack(r, "middle", "key")
	for name, reason := range map[string]string{"waits": v1alpha1.ReasonDependencyNotReady,
		"applied": v1alpha1.ReasonApplied} {
		s := newStack(r, name, "middle")
		apimeta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady,
			Status: "Unknown", Reason: reason})
		apiserver.Must(t, r.Client.Status().Update(t.Context(), s))
		r.Seen(s)
	}
	r.Seen(newStack(elsewhere, "alien", "vpc", "net"))
	shop := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Spec: v1alpha1.StackSpec{
		Source:    v1alpha1.Source{Inline: map[string]string{"main.tf": ""}},
		DependsOn: []v1alpha1.Dependency{{Name: "dns", Namespace: r.Namespace}, {Name: "alien"}},
	}}
	elsewhere.Make(shop)
	r.Seen(shop)
	grant := &v1alpha1.StackGrant{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: r.Namespace}}
	labeled := newStack(r, "labeled")
	labeled.Labels = map[string]string{"env": "prod"}
	apiserver.Must(t, r.Client.Update(t.Context(), labeled))
	r.Seen(labeled)
	apiserver.Must(t, r.Client.Delete(t.Context(), dns)) // it remains because of its finalizer
	r.Seen(dns)

	infra := &v1alpha1.Repository{ObjectMeta: metav1.ObjectMeta{Name: "infra"}, Spec: v1alpha1.RepositorySpec{
		URL:         "https://git.example.com/infra.git",
		Credentials: &v1alpha1.SecretSource{Secret: v1alpha1.ObjectRef{Name: "git"}},
	}}
	open := &v1alpha1.Repository{ObjectMeta: metav1.ObjectMeta{Name: "open"},
		Spec: v1alpha1.RepositorySpec{URL: infra.Spec.URL}}
	r.Make(infra, open)
	code := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: "code"}, Spec: v1alpha1.StackSpec{
		Source:        v1alpha1.Source{Git: &v1alpha1.GitSource{Repository: v1alpha1.RepositoryRef{Name: "infra"}}},
		VariableFiles: []v1alpha1.VariableFile{{Secret: &v1alpha1.ObjectRef{Name: "git"}}},
	}}
	r.Make(code)
	guest := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: "guest"}, Spec: v1alpha1.StackSpec{
		Source: v1alpha1.Source{
			Git: &v1alpha1.GitSource{Repository: v1alpha1.RepositoryRef{Namespace: r.Namespace, Name: "infra"}}},
	}}
	elsewhere.Make(guest)
	r.Seen(guest)

	unit := func(in apiserver.Env, name, folder string, units ...v1alpha1.Unit) *v1alpha1.Stack {
		s := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.StackSpec{
			Engine: v1alpha1.Engine{Name: v1alpha1.EngineTerragrunt},
			Source: v1alpha1.Source{Git: &v1alpha1.GitSource{
				Repository: v1alpha1.RepositoryRef{Namespace: r.Namespace, Name: "units"}, Path: folder,
			}},
		}}
		in.Make(s)
		s.Status = v1alpha1.StackStatus{Units: units}
		apiserver.Must(t, in.Client.Status().Update(t.Context(), s))
		r.Seen(s)
		return s
	}
	db := unit(r, "db", "live/db")
	unit(r, "api", "live/api", v1alpha1.Unit{Path: "live/db", Stacks: []string{"db"}})
	unit(r, "job", "live/job", v1alpha1.Unit{Path: "live/db"}, v1alpha1.Unit{Path: "live/api"})
	unit(elsewhere, "job", "live/job", v1alpha1.Unit{Path: "live/db"})
	ended := unit(r, "ended", "live/ended")
	apiserver.Must(t, r.Client.Delete(t.Context(), ended))
	r.Gone(ended)
	unit(r, "late", "live/late", v1alpha1.Unit{Path: "live/ended"})

	prod := newVariableSet("prod", map[string]string{"env": "prod"}, v1alpha1.Variable{
		Name: "key", ValueFrom: &v1alpha1.ValueFrom{Secret: &v1alpha1.KeyRef{Name: "keys", Key: "key"}},
	})
	r.Make(prod)
	r.Seen(prod)
	policy := newStackPolicy(map[string]string{"env": "prod"}, "rules")
	r.Make(policy)
	r.Seen(policy)
	everything := newVariableSet("everything", nil)
	invalid := newVariableSet("invalid", map[string]string{"env": "no value"})
	invalid.Namespace, everything.Namespace = r.Namespace, elsewhere.Namespace

	run := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Name: "net-2"}, Spec: v1alpha1.RunSpec{
		Stack: v1alpha1.ObjectRef{Name: "net"}, Operation: v1alpha1.OperationApply,
		Cause: v1alpha1.Cause{Type: v1alpha1.CauseSpec}, InputsDigest: "sha256:" + strings.Repeat("0", 64),
	}}
	r.Make(run)
	pod := func(run v1alpha1.Run, name string, uid types.UID) client.Object {
		run.Name, run.UID = name, uid
		p := newPod(&run)
		p.Namespace = r.Namespace
		return p
	}
	state := func(name string) client.Object {
		return &v1alpha1.State{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: name}}
	}
	for name, tt := range map[string]struct {
		got  []reconcile.Request
		want string
	}{
		"a Stack enqueues those that depend on it":   {ask.related(t.Context(), vpc), "net"},
		"and those that are deleted and wait for it": {ask.related(t.Context(), net), "dns web"},
		"a Stack enqueues those that wait for it by others": {ask.related(t.Context(), key),
			"middle waits"},
		"a Stack enqueues those of other namespaces": {ask.related(t.Context(), dns), "net " +
			elsewhere.Namespace + "/shop"},
		"a dependent enqueues a deleted Stack of another namespace": {ask.related(t.Context(), shop), "dns"},
		"a State enqueues dependents of other namespaces": {ask.usersOf(t.Context(), state("dns")),
			"dns net " + elsewhere.Namespace + "/shop"},
		"a StackGrant enqueues those that need one and what they depend on": {ask.granted(t.Context(), grant), "dns " +
			elsewhere.Namespace + "/shop"},
		"and not twice": {ask.related(t.Context(), middle), "applied waits"},
		"a Stack without dependents enqueues none":             {ask.related(t.Context(), web), ""},
		"a Stack enqueues those whose unit depends on its own": {ask.unitUsers(t.Context(), db), "api job"},
		"also those whose status does not name it yet":         {ask.related(t.Context(), db), "api api job"},
		"a deleted Stack enqueues its dependents":              {ask.related(t.Context(), ended), "late"},
		"a Stack without a unit enqueues no units":             {ask.unitUsers(t.Context(), code), ""},
		"a State enqueues the units that depend on its Stack's": {ask.usersOf(t.Context(), state("db")),
			"api db"},
		"a State enqueues its Stack and those that use its outputs": {ask.usersOf(t.Context(), state("vpc")),
			"net vpc"},
		"a State without a Stack enqueues that name": {ask.usersOf(t.Context(), state("none")),
			"none"},
		"a pod of a deleted Run enqueues the Stack": {
			ask.deletedRunOf(t.Context(), pod(*run, "net-1", "1")), "net"},
		"also of one that was created again": {
			ask.deletedRunOf(t.Context(), pod(*run, "net-2", "2")), "net"},
		"a pod of a Run enqueues none": {
			ask.deletedRunOf(t.Context(), pod(*run, "net-2", run.UID)), ""},
		"a pod of a controller that is no Run enqueues none": {
			ask.deletedRunOf(t.Context(), pod(*run, "job", "3")), ""},
		"a pod without a controller enqueues none": {ask.deletedRunOf(t.Context(), &corev1.Pod{}),
			""},
		"a Repository enqueues its Stacks in all namespaces": {ask.stacksFrom(t.Context(), infra), "code " +
			elsewhere.Namespace + "/guest"},
		"a Repository without Stacks enqueues none": {ask.stacksFrom(t.Context(), open), ""},
		"a Secret enqueues the Stacks that read it": {
			ask.stacksOf("Secret")(t.Context(), apiserver.Metadata("Secret", r.Namespace, "git")), "code"},
		"a Secret enqueues the Stacks that read it by a VariableSet": {
			ask.stacksOf("Secret")(t.Context(), apiserver.Metadata("Secret", r.Namespace, "keys")), "labeled"},
		"a ConfigMap enqueues the Stacks that read it by a StackPolicy": {
			ask.stacksOf("ConfigMap")(t.Context(), apiserver.Metadata("ConfigMap", r.Namespace, "rules")), "labeled"},
		"a StackPolicy enqueues the Stacks that it selects": {ask.selectedBy(t.Context(), policy), "labeled"},
		"a VariableSet enqueues the Stacks that it selects": {ask.selectedBy(t.Context(), prod), "labeled"},
		"one that selects all enqueues those of its namespace": {ask.selectedBy(t.Context(), everything),
			elsewhere.Namespace + "/alien " + elsewhere.Namespace + "/guest " + elsewhere.Namespace + "/job " +
				elsewhere.Namespace + "/shop"},
		"one whose selector is invalid enqueues all": {ask.selectedBy(t.Context(), invalid),
			names(r, ask.list(t.Context(), &v1alpha1.StackList{}, client.InNamespace(r.Namespace)))},
		"a ConfigMap of the same name does not": {
			ask.stacksOf("ConfigMap")(t.Context(), apiserver.Metadata("ConfigMap", r.Namespace, "git")), ""},
	} {
		if got := names(r, tt.got); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}
