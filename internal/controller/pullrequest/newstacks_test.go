package pullrequest

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket/buckettest"
	"cairn.dev/cairn/internal/controller/code"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/pullrequest/comment"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/controller/stack/snapshot"
	stacksource "cairn.dev/cairn/internal/controller/stack/source"
	"cairn.dev/cairn/test/gitserver"
)

// adding is a pull request that adds the directory envs/dev/db, for which a StackSet would create the Stack dev-db.
type adding struct {
	*listing
	kube   client.Client
	head   string
	dryRun int
	// server gets the dry runs; nil for the model.
	server client.Client
}

func newAdding(t *testing.T, change func(*v1alpha1.StackSet), objects ...client.Object) *adding {
	t.Helper()
	a := &adding{listing: newListing(t, "envs/dev/net")}
	a.repo.Spec.PullRequests.RequireCommand = false
	a.repo.Spec.PullRequests.Runner = &v1alpha1.PullRequestRunner{ServiceAccountName: "read"}
	a.set(strings.Replace(platformSet, "namespace: prod", "namespace: web", 1), func(s *v1alpha1.StackSet) {
		if change != nil {
			change(s)
		}
	})
	a.objects = append(a.objects, objects...)
	a.head = a.push(gitserver.Change{Branch: "change", Onto: "main"}, "envs/dev/db")
	return a
}

// merge merges the head, for an author with the verb plan on some Stacks.
func (a *adding) merge(access Access, changes ...func(*Snapshot)) Snapshot {
	a.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, clientgoscheme.AddToScheme} {
		if err := add(scheme); err != nil {
			a.Fatal(err)
		}
	}
	a.kube = fake.NewClientBuilder().WithScheme(scheme).WithObjects(a.objects...).
		WithIndex(&v1alpha1.Stack{}, repository.StackIndex, repository.IndexStack).Build()
	writer := interceptor.NewClient(a.kube.(client.WithWatch), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			applied := (&client.CreateOptions{}).ApplyOptions(options)
			if !slices.Equal(applied.DryRun, []string{metav1.DryRunAll}) {
				a.Errorf("%s is created", o.GetName())
			}
			a.dryRun++
			if a.server != nil {
				return a.server.Create(ctx, o, options...)
			}
			return c.Create(ctx, o, options...)
		},
	})
	codes, store := code.NewCodes(a.mirrors), buckettest.New(a.T)
	in := inputs.NewStore(store)
	a.gather = &Gatherer{
		Client: a.kube, Writer: writer, Codes: codes, Access: access, Inputs: in,
		Stacks: &snapshot.Gatherer{
			Client: a.kube, Live: a.kube, Sources: stacksource.NewSources(a.kube, store), Inputs: in,
			Code: code.NewSources(a.kube, a.kube, codes),
		},
	}
	w := pull(func(w *Snapshot) {
		w.Merge, w.Repository, w.Settings = nil, a.repo, a.repo.Spec.PullRequests
		w.PullRequest.Spec.Head.Commit, w.PullRequest.Spec.Author = a.head, "gitlab:git.example.com:alice"
	})
	for _, change := range changes {
		change(&w)
	}
	if err := a.gather.Merge(a.Context(), &w, a.repo, Provider{Client: commented{}}); err != nil {
		a.Fatal(err)
	}
	return w
}

// A pull request adds a directory: the Stack that a StackSet would create is planned, with the identity of the
// Repository and none of what the template has for Runs. Neither the Stack nor a State is created.
func TestNewStackIsPlanned(t *testing.T) {
	a := newAdding(t, func(s *v1alpha1.StackSet) {
		s.Spec.Template.Spec.Raw = []byte(strings.Replace(string(s.Spec.Template.Spec.Raw), "{",
			`{"env":[{"name":"TOKEN","value":"secret"}],"runner":{"serviceAccountName":"apply"},`, 1))
	})
	w := a.merge(allowed{{"web", "dev-db"}: true})
	status := next(&w)
	if len(status.Stacks) != 1 || !status.Stacks[0].New || status.Stacks[0].Run == "" ||
		status.Phase != v1alpha1.PullRequestPlanned {
		t.Fatalf("%s: %+v, affected: %+v", status.Phase, status.Stacks, w.Merge.Affected)
	}
	doc, err := a.gather.Inputs.Get(t.Context(), status.Stacks[0].InputsDigest)
	if err != nil || doc.ServiceAccountName != "read" || len(doc.Env) != 0 {
		t.Errorf("ServiceAccount %q, env %v, %v", doc.ServiceAccountName, doc.Env, err)
	}
	r := &Reconciler{Client: a.kube, Live: a.kube}
	w.PullRequest.ResourceVersion = ""
	if err := a.kube.Create(t.Context(), w.PullRequest); err != nil {
		t.Fatal(err)
	}
	if _, err := r.create(t.Context(), w.PullRequest, status.Stacks[0], w.Merge.Affected[0]); err != nil {
		t.Fatal(err)
	}
	run := &v1alpha1.Run{}
	if err := a.kube.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: status.Stacks[0].Run}, run); err != nil {
		t.Fatal(err)
	}
	if owner := metav1.GetControllerOf(run); owner.Kind != "PullRequest" || owner.UID != "pull" ||
		!run.Spec.PullRequest.NewStack {
		t.Errorf("owner %+v, %+v", owner, run.Spec.PullRequest)
	}
	var stacks v1alpha1.StackList
	if err := a.kube.List(t.Context(), &stacks); err != nil || len(stacks.Items) != 0 || a.dryRun != 1 {
		t.Errorf("%d dry runs, and these Stacks exist: %+v, %v", a.dryRun, stacks.Items, err)
	}
	// What the merge creates is not a Stack that was deleted.
	if apply := affectedStacks(&status); apply != nil {
		t.Errorf("reported after the merge: %+v", apply)
	}
}

// A pull request that plans a Stack which does not exist is restricted by the same rules: its name must be one that the
// author may plan, and that of a fork waits for a command.
func TestNewStackRestrictsAPullRequest(t *testing.T) {
	for name, tt := range map[string]struct {
		access Access
		change func(*Snapshot)
		want   v1alpha1.PullRequestPhase
	}{
		"the author has the verb plan": {allowed{{"web", "dev-db"}: true}, func(*Snapshot) {},
			v1alpha1.PullRequestPlanned},
		"on another Stack": {allowed{{"web", "dev-net"}: true}, func(*Snapshot) {},
			v1alpha1.PullRequestAwaitingCommand},
		"from a fork": {allowed{{"web", "dev-db"}: true}, func(w *Snapshot) { w.PullRequest.Spec.Fork = true },
			v1alpha1.PullRequestAwaitingCommand},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAdding(t, nil)
			w := a.merge(tt.access, tt.change)
			status := next(&w)
			if status.Phase != tt.want || len(status.Stacks) != 1 || status.Stacks[0].Name != "dev-db" ||
				!status.Stacks[0].New {
				t.Errorf("%s: %+v", status.Phase, status.Stacks)
			}
			if planned := tt.want == v1alpha1.PullRequestPlanned; (a.dryRun > 0) != planned ||
				(status.Stacks[0].Run != "") != planned {
				t.Errorf("%d dry runs, Run %q", a.dryRun, status.Stacks[0].Run)
			}
		})
	}
}

// Stacks for which an empty state or the identity of the Repository would be wrong are listed, and not planned.
func TestNewStackIsListedOnly(t *testing.T) {
	with := func(text string) func(*v1alpha1.StackSet) {
		return func(s *v1alpha1.StackSet) {
			s.Spec.Template.Spec.Raw = []byte(strings.Replace(string(s.Spec.Template.Spec.Raw), "{", "{"+text+",", 1))
		}
	}
	for name, tt := range map[string]struct {
		change  func(*v1alpha1.StackSet)
		objects []client.Object
	}{
		"the state is in another backend": {with(`"backend":{"type":"s3"}`), nil},
		"it shares its credentials":       {with(`"pullRequests":{"useStackCredentials":true}`), nil},
		"it would be suspended":           {with(`"suspend":true`), nil},
		"a preview":                       {func(s *v1alpha1.StackSet) { s.Spec.Mode = v1alpha1.StackSetPreview }, nil},
		"another namespace":               {func(s *v1alpha1.StackSet) { s.Namespace = "prod" }, nil},
		"another branch": {func(s *v1alpha1.StackSet) {
			s.Spec.Template.Spec.Raw = []byte(strings.Replace(string(s.Spec.Template.Spec.Raw), `"path"`,
				`"ref":"release","path"`, 1))
		}, nil},
		"an earlier Stack left its State": {nil, []client.Object{
			&v1alpha1.State{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "dev-db"}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAdding(t, tt.change, tt.objects...)
			w := a.merge(allowed(nil))
			status := next(&w)
			if len(status.Stacks) != 0 || a.dryRun != 0 || len(status.StackSets) != 1 ||
				status.StackSets[0].Appear != 1 {
				t.Errorf("%+v, %+v, %d dry runs", status.Stacks, status.StackSets, a.dryRun)
			}
			if status.Conditions[0].Status != metav1.ConditionTrue {
				t.Errorf("%+v", status.Conditions[0])
			}
		})
	}
	a := newAdding(t, nil)
	a.repo.Spec.PullRequests.MaxStacks = ptr.To(int32(0))
	if w := a.merge(allowed(nil)); len(w.Merge.Affected) != 0 {
		t.Errorf("beyond maxStacks: %+v", w.Merge.Affected)
	}
}

// Who pushes a directory chooses labels of its Stack, and by them a VariableSet with Secrets that no Stack of theirs
// has. Such a Stack is not planned, which does not fail the pull request.
func TestNewStackGetsNoSecretsByItsLabels(t *testing.T) {
	secret := &v1alpha1.VariableSet{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "dev"},
		Spec: v1alpha1.VariableSetSpec{
			StackSelector: metav1.LabelSelector{MatchLabels: map[string]string{"directory.cairn.dev/env": "dev"}},
			Variables: []v1alpha1.Variable{{Name: "password", ValueFrom: &v1alpha1.ValueFrom{
				Secret: &v1alpha1.KeyRef{Name: "db", Key: "password"},
			}}},
		}}
	a := newAdding(t, func(s *v1alpha1.StackSet) {
		s.Spec.Template.Metadata.Labels = map[string]string{"directory.cairn.dev/env": "${params.env}"}
	}, secret, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "db"}, Data: map[string][]byte{
		"password": nil}})
	w := a.merge(allowed(nil))
	status := next(&w)
	if len(status.Stacks) != 1 || status.Stacks[0].Run != "" ||
		!strings.Contains(status.Stacks[0].Message, "VariableSet") {
		t.Fatalf("%+v", status.Stacks)
	}
	if ready := status.Conditions[0]; ready.Status != metav1.ConditionTrue ||
		ready.Message != "no Stack is affected; 1 Stack would appear" {
		t.Errorf("%+v", ready)
	}
}

// A pull request adds a directory whose Stack its author may not plan, and changes a Stack that the author may plan:
// the new one waits for a command of a user who may plan it, is no success until then, and keeps the other one not
// back.
func TestANewStackWaitsForACommandByItself(t *testing.T) {
	net := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "net"}}
	net.Spec.Source.Git = &v1alpha1.GitSource{Repository: v1alpha1.RepositoryRef{Name: "infra"}, Path: "envs/dev/net"}
	a := newAdding(t, nil, net)
	a.head = a.push(gitserver.Change{Branch: "change", Files: map[string]string{"envs/dev/net/main.tf": "# changed\n"}})
	access := mayOn{"alice": {{"web", "net"}}, "bob": {{"web", "dev-db"}}, "carol": {{"web", "net"}}}
	for name, tt := range map[string]struct {
		by      string
		head    string
		stacks  []string
		allowed bool
	}{
		"without a command":                    {},
		"after one of a user without the verb": {by: "carol", head: a.head},
		"after one for another Stack":          {by: "bob", head: a.head, stacks: []string{"web/net"}},
		"after one for another head":           {by: "bob", head: headOne},
		"after one of a user who may plan it":  {by: "bob", head: a.head, allowed: true},
		"after one of such a user, by its name": {by: "bob", head: a.head, stacks: []string{"web/dev-db"},
			allowed: true},
	} {
		t.Run(name, func(t *testing.T) {
			a.dryRun = 0
			w := a.merge(access, func(w *Snapshot) {
				w.Settings.CarryApproval = &v1alpha1.CarryApproval{}
				if tt.by != "" {
					allow(&w.PullRequest.Status.Commands, tt.head, "gitlab:git.example.com:"+tt.by, tt.stacks)
				}
			})
			s := next(&w)
			if s.Phase != v1alpha1.PullRequestPlanned || len(s.Stacks) != 2 || s.Stacks[0].Run == "" ||
				!s.Stacks[1].New {
				t.Fatalf("%s: %+v", s.Phase, s.Stacks)
			}
			if db := s.Stacks[1]; db.AwaitsCommand == tt.allowed || (db.Run != "") != tt.allowed ||
				(db.InputsDigest != "") != tt.allowed ||
				(a.dryRun > 0) != tt.allowed {
				t.Fatalf("%d dry runs, %+v", a.dryRun, db)
			}
			if tt.allowed {
				return
			}
			w.planned("net", planFor("create net"))
			s = w.PullRequest.Status
			if c := s.Conditions[0]; c.Reason != v1alpha1.ReasonAwaitingCommand ||
				c.Message != "1 of 2 affected Stacks await a comment /cairn plan" {
				t.Errorf("%+v", c)
			}
			report := w.reportOf(&s)
			statuses := comment.Statuses(report, "cairn", 20, nil)
			if got := statuses[0]; got.State != comment.Pending ||
				got.Description != "1 of 2 Stacks planned, 1 waits for a command." {
				t.Errorf("%+v", got)
			}
			for _, one := range statuses[1:] {
				if strings.HasSuffix(one.Context, "/dev-db") && one.State != comment.Pending {
					t.Errorf("%+v", one)
				}
			}
			if text := comment.Render(report, comment.Format{Limit: 60_000}); !strings.Contains(text,
				"| Waits for a command |") ||
				strings.Contains(text, "not planned") || report.Plans == "" {
				t.Errorf("approvable %q: %s", report.Plans, text)
			}
		})
	}
}
