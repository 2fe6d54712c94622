//go:build envtest

package operator

import (
	"context"
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/egress/egresstest"
	"cairn.dev/cairn/test/apiserver"
	"cairn.dev/cairn/test/gitserver"
)

// TestStackSetFollowsItsRepository checks the wiring: a set that is created before its Repository is fetched, a push,
// and a Stack that a user changes.
func TestStackSetFollowsItsRepository(t *testing.T) {
	env, repos := apiserver.New(t), gitserver.New(t)
	server, err := gitserver.ServeHTTP(repos, false)
	apiserver.Must(t, err)
	t.Cleanup(func() { _ = server.Close() })
	remote, err := repos.Init("infra")
	apiserver.Must(t, err)
	push := func(directory string) {
		_, err := remote.Commit(gitserver.Change{Files: map[string]string{directory + "/main.tf": "# " + directory}})
		apiserver.Must(t, err)
	}
	push("envs/net")
	set := &v1alpha1.StackSet{ObjectMeta: metav1.ObjectMeta{Name: "platform"}, Spec: v1alpha1.StackSetSpec{
		Repository: &v1alpha1.RepositoryRef{Name: "infra"},
		Generators: []v1alpha1.StackSetGenerator{{StackSetItems: v1alpha1.StackSetItems{
			Directories: &v1alpha1.StackSetDirectories{Include: []string{"envs/{name}"}},
		}}},
		Template: v1alpha1.StackSetTemplate{
			Metadata: v1alpha1.StackSetMetadata{Name: "${params.name}"},
			Spec: apiextensionsv1.JSON{
				Raw: []byte(`{"source": {"git": {"repository": {"name": "infra"}, "path": "${directory}"}}, "apply": "Never"}`)},
		},
	}}
	env.Make(set)
	start(t, func(o *Options) {
		o.Operator, o.Namespaces, o.Egress = true, []string{env.Namespace}, egresstest.Loopback()
	})
	until := func(what string, is func(context.Context) bool) {
		t.Helper()
		err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 2*time.Minute, true,
			func(ctx context.Context) (bool, error) {
				return is(ctx), nil
			})
		if err != nil {
			_ = env.Live.Get(t.Context(), client.ObjectKeyFromObject(set), set)
			t.Fatalf("%s: %v; the set has %+v", what, err, set.Status)
		}
	}
	reason := func(want string) func(context.Context) bool {
		return func(ctx context.Context) bool {
			err := env.Live.Get(ctx, client.ObjectKeyFromObject(set), set)
			c := apimeta.FindStatusCondition(set.Status.Conditions, v1alpha1.ConditionReady)
			return err == nil && c != nil && c.Reason == want
		}
	}
	stack := func(name string, is func(*v1alpha1.Stack) bool) func(context.Context) bool {
		return func(ctx context.Context) bool {
			s := &v1alpha1.Stack{}
			return env.Live.Get(ctx, client.ObjectKey{Namespace: env.Namespace, Name: name}, s) == nil && is(s)
		}
	}
	isOfSet := func(s *v1alpha1.Stack) bool {
		return s.Labels[v1alpha1.StackSetLabel] == "platform" && strings.HasPrefix(s.Spec.Source.Git.Path, "envs/")
	}
	until("without a Repository", reason(v1alpha1.ReasonRepositoryNotFound))
	repo := &v1alpha1.Repository{ObjectMeta: metav1.ObjectMeta{Name: "infra"},
		Spec: v1alpha1.RepositorySpec{URL: server.URL + remote.Path(), Ref: "main"}}
	env.Make(repo)
	until("the first fetch", stack("net", isOfSet))
	push("envs/web")
	apiserver.Must(t, env.Live.Get(t.Context(), client.ObjectKeyFromObject(repo), repo))
	before := repo.DeepCopy()
	repo.Annotations = map[string]string{v1alpha1.RequestedAtAnnotation: "now"}
	apiserver.Must(t, env.Client.Patch(t.Context(), repo, client.MergeFrom(before)))
	until("a push", stack("web", isOfSet))
	s := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace, Name: "web"}}
	changed := s.DeepCopy()
	changed.Spec.Apply = v1alpha1.ApplyManual
	apiserver.Must(t, env.Client.Patch(t.Context(), changed, client.MergeFrom(s)))
	until("a change of a user", stack("web", func(s *v1alpha1.Stack) bool {
		return s.Spec.Apply == v1alpha1.ApplyNever
	}))
	until("the status", func(ctx context.Context) bool {
		return env.Live.Get(ctx, client.ObjectKeyFromObject(set), set) == nil && set.Status.Generated == 2
	})
}
