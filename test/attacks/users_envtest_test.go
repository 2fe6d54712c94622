//go:build envtest

package attacks

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/devcluster"
	"cairn.dev/cairn/test/gitserver"
)

func TestMain(m *testing.M) { devcluster.Main(m) }

// patience is how long a story waits for a step of Cairn.
const patience = 2 * time.Minute

// team are the users of the stories, with their roles of the chart and one permission that each of them has.
var team = map[string]struct {
	roles []string
	has   [2]string
}{
	"pat":   {[]string{"cairn-view", "cairn-plan"}, [2]string{"plan", "stacks"}},
	"ed":    {[]string{"cairn-view", "cairn-edit"}, [2]string{"update", "stacks"}},
	"alice": {[]string{"cairn-view", "cairn-edit", "cairn-apply", "cairn-approve"}, [2]string{"approve", "runs"}},
	"bob":   {[]string{"cairn-view", "cairn-edit", "cairn-apply", "cairn-approve"}, [2]string{"approve", "runs"}},
	"carol": {[]string{"cairn-view", "cairn-edit", "cairn-approve", "cairn-destroy"}, [2]string{"destroy", "stacks"}},
}

// story is a namespace of a real `cairn dev`, in which the team works.
type story struct {
	*testing.T
	cluster   *devcluster.Cluster
	config    *rest.Config
	namespace string
}

// runStory runs a story in a namespace of its own, once the team has its roles there.
func runStory(t *testing.T, c *devcluster.Cluster, title string, steps func(story)) {
	t.Run(title, func(t *testing.T) {
		t.Parallel()
		config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
		must(t, err)
		config.QPS = -1
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "attack-"}}
		must(t, c.Create(t.Context(), namespace))
		s := story{t, c, config, namespace.Name}
		for user, is := range team {
			for _, role := range is.roles {
				must(t, c.Create(t.Context(), &rbacv1.RoleBinding{
					ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: user + "-" + role},
					RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
					Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
				}))
			}
			s.until(user+" has the roles", func(ctx context.Context) (bool, error) {
				review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
					User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: s.namespace,
						Group: v1alpha1.GroupVersion.Group, Verb: is.has[0], Resource: is.has[1]},
				}}
				err := c.Create(ctx, review)
				return review.Status.Allowed, err
			})
		}
		steps(s)
	})
}

func (s story) until(what string, done func(context.Context) (bool, error)) {
	s.Helper()
	if err := wait.PollUntilContextTimeout(s.Context(), 50*time.Millisecond, patience, true, done); err != nil {
		s.Fatalf("%s: %v", what, err)
	}
}

// as is a client of a user, as kubectl --as.
func (s story) as(user string) client.Client {
	s.Helper()
	config := rest.CopyConfig(s.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	c, err := client.New(config, client.Options{Scheme: s.cluster.Scheme()})
	must(s.T, err)
	return c
}

// creates is kubectl create.
func (s story) creates(user string, o client.Object) {
	s.Helper()
	o.SetNamespace(s.namespace)
	must(s.T, s.as(user).Create(s.Context(), o))
}

// patches is kubectl patch --type=merge.
func (s story) patches(user string, o client.Object, patch string) error {
	s.Helper()
	o = o.DeepCopyObject().(client.Object)
	return s.as(user).Patch(s.Context(), o, client.RawPatch(types.MergePatchType, []byte(patch)))
}

func (s story) deletes(user string, o client.Object) error {
	s.Helper()
	return s.as(user).Delete(s.Context(), o.DeepCopyObject().(client.Object))
}

// denied fails when a step of an attack succeeds, or fails for another reason.
func (s story) denied(err error, because string) {
	s.Helper()
	switch {
	case err == nil:
		s.Error("the attack succeeded")
	case !strings.Contains(err.Error(), because):
		s.Errorf("got %v, want an error with %q", err, because)
	}
}

// done fails when a step that is allowed fails.
func (s story) done(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// run waits until a Run is in a phase.
func (s story) run(name string, phase v1alpha1.RunPhase) *v1alpha1.Run {
	s.Helper()
	run := &v1alpha1.Run{}
	err := wait.PollUntilContextTimeout(s.Context(), 50*time.Millisecond, patience, true,
		func(ctx context.Context) (bool, error) {
			err := s.cluster.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, run)
			return err == nil && run.Status.Phase == phase, client.IgnoreNotFound(err)
		})
	if err != nil {
		s.Fatalf("Run %s is %q, want %s: %v: %+v", name, run.Status.Phase, phase, err, run.Status.Conditions)
	}
	return run
}

// approves approves the plan of a Run.
func (s story) approves(user string, run *v1alpha1.Run) error {
	s.Helper()
	return s.patches(user, run, fmt.Sprintf(`{"spec":{"approval":{"by":%q,"planDigest":%q}}}`, user,
		run.Status.Plan.Digest))
}

// cairn runs a command of a user, without a terminal. Its error has what the command printed.
func (s story) cairn(user string, args ...string) error {
	s.Helper()
	args = append(args, "--kubeconfig", s.cluster.Kubeconfig, "--namespace", s.namespace, "--as", user)
	command := exec.CommandContext(s.Context(), filepath.Join(s.cluster.Bin, "cairn"), args...)
	if printed, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, printed)
	}
	return nil
}

// gone waits until an object is deleted.
func (s story) gone(o client.Object) {
	s.Helper()
	s.until(o.GetName()+" is deleted", func(ctx context.Context) (bool, error) {
		err := s.cluster.Get(ctx, client.ObjectKeyFromObject(o), o.DeepCopyObject().(client.Object))
		return err != nil, client.IgnoreNotFound(err)
	})
}

// state is the State of Stack net.
func (s story) state() v1alpha1.StateStatus {
	s.Helper()
	state := &v1alpha1.State{}
	must(s.T, s.cluster.Get(s.Context(), client.ObjectKey{Namespace: s.namespace, Name: "net"}, state))
	return state.Status
}

// keeps waits until the State of Stack net keeps the rule about self-approval that want has.
func (s story) keeps(want *v1alpha1.KeptSelfApproval) {
	s.Helper()
	s.until(fmt.Sprintf("the State keeps %+v", want), func(context.Context) (bool, error) {
		got := s.state().SelfApproval
		return (got == nil) == (want == nil) && (got == nil || *got == *want), nil
	})
}

// observed waits until the operator has read the Stack: of two changes before that the users are not known.
func (s story) observed(net *v1alpha1.Stack) {
	s.Helper()
	s.until("the change is read", func(ctx context.Context) (bool, error) {
		now := &v1alpha1.Stack{}
		err := s.cluster.Get(ctx, client.ObjectKeyFromObject(net), now)
		return now.Status.ObservedGeneration == now.Generation, err
	})
}

// code of one resource with an input.
func code(input string) map[string]string {
	return map[string]string{"main.tf": fmt.Sprintf("resource \"terraform_data\" \"disk\" { input = %q }\n", input)}
}

// coded is a patch of the code of a Stack, with more of its spec.
func coded(input, more string) string {
	return fmt.Sprintf(`{"spec":{"source":{"inline":{"main.tf":%q}}%s}}`, code(input)["main.tf"], more)
}

// stack is Stack net with code of its own.
func stack(change func(*v1alpha1.StackSpec)) *v1alpha1.Stack {
	net := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: "net"},
		Spec: v1alpha1.StackSpec{Source: v1alpha1.Source{Inline: code("one")}}}
	if change != nil {
		change(&net.Spec)
	}
	return net
}

// applied has bob create a Stack, and alice approve its first plan.
func (s story) applied(net *v1alpha1.Stack) {
	s.Helper()
	s.creates("bob", net)
	s.done(s.approves("alice", s.run("net-1", v1alpha1.PhaseAwaitingApproval)))
	s.run("net-1", v1alpha1.PhaseSucceeded)
	s.until("Stack net is Ready", func(ctx context.Context) (bool, error) {
		err := s.cluster.Get(ctx, client.ObjectKeyFromObject(net), net)
		return err == nil && net.Status.CurrentRun == "" && net.Status.AppliedInputsDigest != "", err
	})
}

// repositories are a Repository of bob with the code of Stack net, and the git repositories that it can point to.
type repositories struct {
	story
	object       *v1alpha1.Repository
	good, copied *gitserver.Repo
	// evil has other code, copy the same.
	evil, copy string
}

func (s story) repositories() repositories {
	s.Helper()
	repos := gitserver.New(s.T)
	server, err := gitserver.ServeHTTP(repos, false)
	must(s.T, err)
	s.Cleanup(func() { must(s.T, server.Close()) })
	made := map[string]*gitserver.Repo{} // the copy has the same name, which is among the inputs
	for name, input := range map[string]string{"good": "one", "copy/good": "one", "evil": "evil"} {
		made[name], err = repos.Init(name)
		must(s.T, err)
		repositories{story: s}.commit(made[name], input)
	}
	object := &v1alpha1.Repository{ObjectMeta: metav1.ObjectMeta{Name: "infra"},
		Spec: v1alpha1.RepositorySpec{URL: server.URL + made["good"].Path()}}
	s.creates("bob", object)
	return repositories{s, object, made["good"], made["copy/good"], server.URL + made["evil"].Path(),
		server.URL + made["copy/good"].Path()}
}

// stack is Stack net with the code of the Repository.
func (r repositories) stack(change func(*v1alpha1.StackSpec)) *v1alpha1.Stack {
	net := stack(change)
	net.Spec.Source = v1alpha1.Source{Git: &v1alpha1.GitSource{Repository: v1alpha1.RepositoryRef{Name: r.object.Name}}}
	return net
}

// commit is a push by an author whom the API server does not know.
func (r repositories) commit(to *gitserver.Repo, input string) {
	r.Helper()
	r.commitBy(to, gitserver.Change{Author: "Dan <dan@example.org>", Files: code(input)})
}

// commitBy is a push by who it names.
func (r repositories) commitBy(to *gitserver.Repo, change gitserver.Change) {
	r.Helper()
	_, err := to.Commit(change)
	must(r.T, err)
}

// fetch requests a fetch of the Repository.
func (r repositories) fetch() {
	r.Helper()
	at := time.Now().UTC().Format(time.RFC3339Nano)
	r.done(r.patches("bob", r.object, fmt.Sprintf(`{"metadata":{"annotations":{"cairn.dev/requested-at":%q}}}`, at)))
}

// upToDate fetches the newest commit, so that a Stack which is created then starts from it.
func (r repositories) upToDate() {
	r.Helper()
	head, err := r.good.Git("rev-parse", "refs/heads/main")
	must(r.T, err)
	r.fetch()
	r.until("the newest commit is fetched", func(ctx context.Context) (bool, error) {
		err := r.cluster.Get(ctx, client.ObjectKeyFromObject(r.object), r.object)
		return slices.ContainsFunc(r.object.Status.Refs, func(ref v1alpha1.RefStatus) bool {
			return strings.HasSuffix(ref.Revision, strings.TrimSpace(head))
		}), err
	})
}

// fetched waits until the Repository is fetched from its URL.
func (r repositories) fetched(url string) {
	r.Helper()
	r.until("the Repository is fetched from "+url, func(ctx context.Context) (bool, error) {
		err := r.cluster.Get(ctx, client.ObjectKeyFromObject(r.object), r.object)
		ready := apimeta.FindStatusCondition(r.object.Status.Conditions, v1alpha1.ConditionReady)
		return err == nil && r.object.Status.ObservedGeneration == r.object.Generation && ready != nil &&
			ready.Status == metav1.ConditionTrue &&
			r.object.Spec.URL == url, err
	})
}
