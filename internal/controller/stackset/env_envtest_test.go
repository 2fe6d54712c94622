//go:build envtest

package stackset

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/egress/egresstest"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/source/git"
	"cairn.dev/cairn/test/apiserver"
	"cairn.dev/cairn/test/gitserver"
)

func TestMain(m *testing.M) { apiserver.Main(m, "../../../charts/cairn/files/crds") }

// env is the reconciler of StackSets between a real API server and a real git server; nothing calls it but the test.
type env struct {
	apiserver.Env
	*Reconciler
	writes *recorded
	http   *gitserver.HTTP
	remote *gitserver.Repo
	repo   *v1alpha1.Repository
	set    *v1alpha1.StackSet
	events *events.FakeRecorder
	ahead  time.Duration
}

// recorded records the writes to the API server.
type recorded struct {
	client.Client
	mu  sync.Mutex
	all []string
}

func (r *recorded) add(what, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, what+" "+name)
}

func (r *recorded) Apply(ctx context.Context, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	r.add("apply", o.(interface{ GetName() string }).GetName())
	return r.Client.Apply(ctx, o, opts...)
}

func (r *recorded) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	r.add("patch", o.GetName())
	return r.Client.Patch(ctx, o, p, opts...)
}

func (r *recorded) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	r.add("delete", o.GetName())
	return r.Client.Delete(ctx, o, opts...)
}

func (r *recorded) Status() client.SubResourceWriter { return statuses{r.Client.Status(), r} }

type statuses struct {
	client.SubResourceWriter
	of *recorded
}

func (s statuses) Patch(ctx context.Context, o client.Object, p client.Patch,
	opts ...client.SubResourcePatchOption) error {
	s.of.add("status", o.GetName())
	return s.SubResourceWriter.Patch(ctx, o, p, opts...)
}

// template of the sets of the tests.
const template = `
metadata:
  name: ${params.env}-${params.name}
  labels: {directory.cairn.dev/env: "${params.env}"}
spec:
  source: {git: {repository: {name: infra}, path: "${directory}"}}
  variables: [{name: replicas, value: "${params.env == 'prod' ? 3 : 1}"}]
  env: [{name: REGION, value: eu}]
  timeout: 60m
  apply: Manual
  requireApprovalFor: [Delete]
`

var ownerIndex = apiserver.Index{Of: &v1alpha1.Stack{}, Field: OwnerIndex, Values: IndexOwner}

// newEnv has a repository with the directories dev/net, dev/app and prod/net, fetched, and a set.
func newEnv(t *testing.T, changes ...func(*v1alpha1.StackSetSpec)) *env {
	t.Helper()
	repos := gitserver.New(t)
	e := &env{Env: apiserver.New(t, ownerIndex), events: events.NewFakeRecorder(1000)}
	var err error
	e.http, err = gitserver.ServeHTTP(repos, false)
	apiserver.Must(t, err)
	t.Cleanup(func() { _ = e.http.Close() })
	mirrors, over := repository.NewMirrors(t.TempDir()), make(chan error, 1)
	mirrors.Egress = egresstest.Loopback()
	ctx, cancel := context.WithCancel(context.Background())
	go func() { over <- mirrors.Start(ctx) }()
	t.Cleanup(func() { cancel(); <-over })
	e.writes = &recorded{Client: e.Env.Client}
	e.Reconciler = &Reconciler{
		Client: e.writes, Live: e.Env.Live, Mirrors: mirrors, Events: e.events,
		Clock: func() time.Time { return time.Now().Add(e.ahead) },
	}
	e.remote, err = repos.Init("infra")
	apiserver.Must(t, err)
	e.repo = &v1alpha1.Repository{
		ObjectMeta: metav1.ObjectMeta{Name: "infra"},
		Spec:       v1alpha1.RepositorySpec{URL: e.http.URL + e.remote.Path(), Ref: "main"},
	}
	e.Make(e.repo)
	e.push("dev/net", "dev/app", "prod/net")
	e.set = &v1alpha1.StackSet{ObjectMeta: metav1.ObjectMeta{Name: "platform"}}
	e.set.Spec = v1alpha1.StackSetSpec{
		Repository: &v1alpha1.RepositoryRef{Name: "infra"}, Template: parse(t, template),
		Generators: []v1alpha1.StackSetGenerator{{StackSetItems: v1alpha1.StackSetItems{
			Directories: &v1alpha1.StackSetDirectories{Include: []string{"{env}/{name}"}},
		}}},
	}
	for _, change := range changes {
		change(&e.set.Spec)
	}
	e.Make(e.set)
	return e
}

func parse(t *testing.T, text string) (parsed v1alpha1.StackSetTemplate) {
	t.Helper()
	apiserver.Must(t, yaml.Unmarshal([]byte(text), &parsed))
	return parsed
}

// push adds directories, or removes them with a minus before the name, and fetches.
func (e *env) push(directories ...string) {
	e.Helper()
	files := map[string]string{}
	for _, d := range directories {
		if name, gone := strings.CutPrefix(d, "-"); gone {
			files[name+"/main.tf"] = ""
		} else {
			files[d+"/main.tf"] = "# " + d
		}
	}
	_, err := e.remote.Commit(gitserver.Change{Files: files})
	apiserver.Must(e.T, err)
	e.fetch()
}

func (e *env) fetch() {
	mirrors := e.Mirrors.(*repository.Mirrors)
	repo := e.repo.DeepCopy()
	repo.Spec.Timeout = &metav1.Duration{Duration: time.Minute}
	mirrors.Fetch(repo, git.Auth{}, repository.Ask{}, nil)
	<-mirrors.Ended()
}

// pass reconciles until there is nothing left to do, and returns the writes.
func (e *env) pass() []string {
	e.Helper()
	e.writes.all = nil
	for end := time.Now().Add(time.Minute); time.Now().Before(end); { // the cache may be behind for a moment
		result, err := e.Reconcile(e.Context(), requestOf(e.set))
		apiserver.Must(e.T, err)
		if result.RequeueAfter != soon {
			apiserver.Must(e.T, e.Env.Live.Get(e.Context(), client.ObjectKeyFromObject(e.set), e.set))
			slices.Sort(e.writes.all)
			return e.writes.all
		}
	}
	e.Fatal("it does not end")
	return nil
}

// settle is two passes: the second has the result of the writes.
func (e *env) settle() { e.Helper(); e.pass(); e.pass() }

// expect passes, and checks which Stacks are written, and the condition after.
func (e *env) expect(writes, reason string) {
	e.Helper()
	var of []string
	for _, one := range e.pass() {
		if !strings.HasPrefix(one, "status ") {
			of = append(of, one)
		}
	}
	if got := strings.Join(of, ", "); got != writes {
		e.Errorf("written: %s; want %s", got, writes)
	}
	e.pass()
	if c := e.ready(); c.Reason != reason {
		e.Errorf("%s: %s; want %s", c.Reason, c.Message, reason)
	}
}

func (e *env) ready() metav1.Condition {
	if c := apimeta.FindStatusCondition(e.set.Status.Conditions, v1alpha1.ConditionReady); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// declare changes the set.
func (e *env) declare(change func(*v1alpha1.StackSet)) {
	e.Helper()
	apiserver.Must(e.T, e.Env.Live.Get(e.Context(), client.ObjectKeyFromObject(e.set), e.set))
	change(e.set)
	apiserver.Must(e.T, e.Env.Client.Update(e.Context(), e.set))
	e.Seen(e.set)
}

func (e *env) stack(name string) *v1alpha1.Stack {
	e.Helper()
	s := &v1alpha1.Stack{}
	apiserver.Must(e.T, e.Env.Live.Get(e.Context(), client.ObjectKey{Namespace: e.Namespace, Name: name}, s))
	return s
}

// edit is a user's change of a Stack.
func (e *env) edit(name string, change func(*v1alpha1.Stack)) {
	e.Helper()
	s := e.stack(name)
	change(s)
	apiserver.Must(e.T, e.Env.Client.Update(e.Context(), s, client.FieldOwner("kubectl-edit")))
	e.Seen(s)
}

// apply has Stacks apply what they have.
func (e *env) apply(names ...string) {
	e.Helper()
	for _, name := range names {
		s := e.stack(name)
		s.Status.ObservedGeneration = s.Generation
		s.Status.InputsDigest = fmt.Sprintf("sha256:%064d", s.Generation)
		s.Status.AppliedInputsDigest = s.Status.InputsDigest
		apimeta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{
			Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Applied",
			ObservedGeneration: s.Generation,
		})
		apiserver.Must(e.T, e.Env.Client.Status().Update(e.Context(), s))
		e.Seen(s)
	}
}

func (e *env) recordedEvents() (all []string) {
	for {
		select {
		case text := <-e.events.Events:
			all = append(all, text)
		default:
			return all
		}
	}
}

func raw(t *testing.T, value any) apiextensionsv1.JSON {
	t.Helper()
	data, err := json.Marshal(value)
	apiserver.Must(t, err)
	return apiextensionsv1.JSON{Raw: data}
}

func requestOf(set *v1alpha1.StackSet) ctrl.Request {
	return ctrl.Request{NamespacedName: client.ObjectKeyFromObject(set)}
}
