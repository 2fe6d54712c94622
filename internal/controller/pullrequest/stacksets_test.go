package pullrequest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/egress/egresstest"
	"cairn.dev/cairn/internal/controller/code"
	"cairn.dev/cairn/internal/controller/pullrequest/comment"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/source/git"
	"cairn.dev/cairn/test/gitserver"
)

// listing is a Repository at a Git server, with the branch main, and objects in the API server. Each write to that is
// an error.
type listing struct {
	*testing.T
	remote  *gitserver.Repo
	mirrors *repository.Mirrors
	repo    *v1alpha1.Repository
	objects []client.Object
	gather  *Gatherer
}

func newListing(t *testing.T, directories ...string) *listing {
	t.Helper()
	repos := gitserver.New(t)
	server, err := gitserver.ServeHTTP(repos, false)
	if err != nil {
		t.Fatal(err)
	}
	l := &listing{T: t, mirrors: repository.NewMirrors(t.TempDir()), repo: repositoryOf()}
	l.mirrors.Egress = egresstest.Loopback()
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- l.mirrors.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-over, server.Close()); err != nil {
			t.Error(err)
		}
	})
	if l.remote, err = repos.Init("infra"); err != nil {
		t.Fatal(err)
	}
	l.repo.Spec.URL, l.repo.Spec.Ref, l.repo.Spec.Timeout = server.URL+l.remote.Path(), "main",
		&metav1.Duration{Duration: time.Minute}
	l.repo.Spec.AllowedNamespaces = []string{"prod"}
	l.repo.Spec.PullRequests.RequireCommand = true // nothing of it may run
	l.push(gitserver.Change{}, directories...)
	return l
}

// push commits a file in each directory, and returns the commit. An empty name deletes none.
func (l *listing) push(c gitserver.Change, directories ...string) string {
	l.Helper()
	if c.Files == nil {
		c.Files = map[string]string{}
	}
	for _, d := range directories {
		c.Files[d+"/main.tf"] = "# code\n"
	}
	id, err := l.remote.Commit(c)
	if err != nil {
		l.Fatal(err)
	}
	l.mirrors.Fetch(l.repo, git.Auth{}, repository.Ask{}, nil)
	<-l.mirrors.Ended()
	return id
}

// set adds a StackSet.
func (l *listing) set(text string, changes ...func(*v1alpha1.StackSet)) {
	l.Helper()
	set := &v1alpha1.StackSet{}
	if err := yaml.UnmarshalStrict([]byte(text), set); err != nil {
		l.Fatal(err)
	}
	set.UID, set.Spec.Repository.Namespace = types.UID(set.Namespace+"/"+set.Name), "web"
	for _, change := range changes {
		change(set)
	}
	l.objects = append(l.objects, set)
}

// merge merges a head into main.
func (l *listing) merge(head string) Snapshot {
	l.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		l.Fatal(err)
	}
	kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(l.objects...).
		WithIndex(&v1alpha1.Stack{}, repository.StackIndex, repository.IndexStack).Build()
	written := func() error { l.Error("something is written"); return errors.ErrUnsupported }
	reads := interceptor.NewClient(kube, interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return written()
		},
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error {
			return written()
		},
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return written()
		},
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
			return written()
		},
	})
	if l.gather == nil {
		l.gather = &Gatherer{Codes: code.NewCodes(l.mirrors)}
	}
	l.gather.Client = reads
	w := pull(func(w *Snapshot) {
		w.Merge, w.Repository, w.Settings = nil, l.repo, l.repo.Spec.PullRequests
		w.PullRequest.Spec.Head.Commit, w.PullRequest.Spec.Fork = head, true
	})
	if err := l.gather.Merge(l.Context(), &w, l.repo, Provider{}); err != nil {
		l.Fatal(err)
	}
	return w
}

// lists are the effects on a few lines.
func lists(w Snapshot) []string {
	var all []string
	for _, s := range w.Merge.StackSets {
		all = append(all, s.Namespace+"/"+s.Name+": "+summaryOf(s))
	}
	return all
}

// A pull request from a fork adds, renames and deletes directories. What that changes for StackSets of its base is
// listed, and nothing is written.
func TestPullRequestListsStackSets(t *testing.T) {
	l := newListing(t, "envs/dev/net", "envs/dev/old", "envs/dev/mail")
	l.set(platformSet)
	l.set(strings.Replace(platformSet, "namespace: prod", "namespace: stranger", 1))
	l.set(strings.Replace(platformSet, "name: platform", "name: release", 1), func(s *v1alpha1.StackSet) {
		s.Spec.Ref = "release"
	})
	l.set(strings.Replace(platformSet, "name: platform", "name: refs", 1), func(s *v1alpha1.StackSet) {
		s.Spec.Ref, s.Spec.Template.Metadata.Name = "refs/heads/main", "refs-${params.env}-${params.name}"
	})
	l.set(strings.Replace(platformSet, "name: platform", "name: elsewhere", 1), func(s *v1alpha1.StackSet) {
		s.Spec.Repository.Name = "other"
	})
	head := l.push(gitserver.Change{Branch: "change", Onto: "main",
		Files: map[string]string{"envs/dev/old/main.tf": ""}}, "envs/dev/db")
	l.push(gitserver.Change{}, "envs/dev/base") // after the head began
	w := l.merge(head)
	want := "1 Stack would go, 1 would appear\n- dev-old  envs/dev/old\n+ dev-db  envs/dev/db"
	if diff := cmp.Diff([]string{"prod/platform: " + want, "prod/refs: " + strings.NewReplacer("- ", "- refs-", "+ ",
		"+ refs-").Replace(want)}, lists(w)); diff != "" {
		t.Error(diff)
	}
	renderer := l.gather.rendererOf(l.objects[0].(*v1alpha1.StackSet)).renderer
	before := renderer.Rendered
	if again := l.merge(head); len(again.Merge.StackSets) != 2 || renderer.Rendered != before {
		t.Errorf("the same merge renders %d Stacks again", renderer.Rendered-before)
	}
	// A Stack of another owner is created meanwhile: the list is another one.
	l.objects = append(l.objects,
		&v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "dev-db", UID: "user"}})
	if got := lists(l.merge(head)); !strings.Contains(got[0], "StackNotOwned") {
		t.Errorf("with a Stack of that name: %q", got)
	}
	next := l.push(gitserver.Change{Branch: "next", Onto: "main"}, "envs/dev/more")
	if got := lists(l.merge(next)); len(got) != 2 || renderer.Rendered > before+4 {
		t.Errorf("another pull request renders %d Stacks: %q", renderer.Rendered-before, got)
	}
}

// A pull request adds code that no Stack reads, and changes a manifest of a Stack. That is no success without a notice:
// the merge changes infrastructure. Directories that a StackSet lists are in its list.
func TestPullRequestNamesWhatNoPlanShows(t *testing.T) {
	l := newListing(t, "envs/dev/net")
	l.set(platformSet)
	manifest := "apiVersion: cairn.dev/v1alpha1\nkind: Stack\nmetadata: {name: net}\n"
	head := l.push(gitserver.Change{Branch: "change", Onto: "main",
		Files: map[string]string{"stacks/net.yaml": manifest}}, "envs/dev/db", "new")
	w := l.merge(head)
	status := next(&w)
	want := &v1alpha1.PullRequestUnplanned{Directories: []string{"new"}, Manifests: []string{"stacks/net.yaml"}}
	if diff := cmp.Diff(want, status.Unplanned); diff != "" {
		t.Error(diff)
	}
	if c := status.Conditions[0]; c.Reason != v1alpha1.ReasonChangesNotPlanned ||
		!strings.HasSuffix(c.Message, "not planned: 1 new directory with code that no Stack reads, 1 file with "+
			"manifests of Cairn") {
		t.Errorf("%+v", c)
	}
	s := comment.Statuses(w.reportOf(&status), "cairn", 20, nil)[0]
	if !strings.HasPrefix(s.Description, "No Stack is affected, and the merge has changes that no plan shows. 1 "+
		"Stack would appear.") {
		t.Errorf("%q", s.Description)
	}
	docs := l.merge(l.push(gitserver.Change{Branch: "docs", Onto: "main",
		Files: map[string]string{"README.md": "text"}}))
	if status := next(&docs); status.Unplanned != nil || status.Conditions[0].Reason != v1alpha1.ReasonNotAffected {
		t.Errorf("documents only: %+v", status)
	}
}

// A pull request changes the settings file of a directory: the Stack that it changes, and an error in it, are listed.
func TestPullRequestListsSettingsOfStacks(t *testing.T) {
	l := newListing(t, "envs/dev/net", "envs/dev/db")
	l.set(strings.Replace(platformSet, `{include: ["envs/{env}/{name}"]}`,
		`{include: ["envs/{env}/{name}"], settingsFile: cairn.yaml}`, 1))
	for name, tt := range map[string]struct{ file, want string }{
		"another dependency":      {"dependsOn: [{name: dev-db}]\n", "1 Stack would change\n! dev-net  spec.dependsOn"},
		"a field that is not its": {"runner: {serviceAccountName: admin}\n", v1alpha1.ReasonRenderingFailed},
	} {
		head := l.push(gitserver.Change{Branch: strings.ReplaceAll(name, " ", "-"), Onto: "main",
			Files: map[string]string{"envs/dev/net/cairn.yaml": tt.file}})
		w := l.merge(head)
		if diff := cmp.Diff([]string{"prod/platform: " + tt.want}, lists(w)); diff != "" {
			t.Errorf("%s: %s %q", name, diff, w.Merge.StackSets)
		}
	}
}

// The author of a pull request names directories so that they are Markdown, or have the name of the Stack of another
// owner or of another directory. They are shown as code, the status fails for the latter, and nothing is planned.
func TestHostileDirectoryIsShownAndNotPlanned(t *testing.T) {
	const evil = "a`<img src=x>@alice [x](https:evil.example) ```|\n```\n\x1b[2J\u202e"
	const byName = `
metadata: {name: platform, namespace: prod}
spec:
  repository: {name: infra}
  generators: [{directories: {include: ["{env}/*"]}}]
  template:
    metadata: {name: "${params.env}"}
    spec: {source: {git: {repository: {name: infra}, path: "${directory}"}}}
`
	l := newListing(t, "dev/net", "prod/net")
	l.set(byName)
	l.objects = append(l.objects,
		&v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "billing", UID: "user"}})
	for name, tt := range map[string]struct {
		directory, reason string
		appear            int32
	}{
		"markdown":                   {"new/" + evil, "", 1},
		"not a name":                 {evil + "/net", v1alpha1.ReasonRenderingFailed, 0},
		"the Stack of another owner": {"billing/" + evil, v1alpha1.ReasonStackNotOwned, 0},
		"the name of another one":    {"dev/" + evil, v1alpha1.ReasonNamesCollide, 0},
		"a name that is no UTF-8":    {"new/\xff\xfe", "", 0}, // no pattern matches it
	} {
		t.Run(name, func(t *testing.T) {
			w := l.merge(l.push(gitserver.Change{Branch: strings.ReplaceAll(name, " ", "-"), Onto: "main"},
				tt.directory))
			status := next(&w)
			if len(status.Stacks) != 0 || status.Plans != 0 {
				t.Errorf("planned: %+v", status.Stacks)
			}
			var set v1alpha1.PullRequestStackSet
			if len(status.StackSets) > 0 {
				set = status.StackSets[0]
			}
			if set.Reason != tt.reason || set.Appear != tt.appear {
				t.Errorf("%+v", status.StackSets)
			}
			if fails := status.Conditions[0].Status == metav1.ConditionFalse; fails != (tt.reason != "") {
				t.Errorf("Ready: %+v", status.Conditions[0])
			}
			text := comment.Render(w.reportOf(&status), comment.Format{Limit: 65_536})
			if out := outsideOfBlocks(text); strings.Contains(out, "evil.example") ||
				strings.ContainsAny(text, "\x1b\u202e") {
				t.Errorf("text of others outside of code: %q", out)
			}
		})
	}
}

// outsideOfBlocks is the text of a comment that is in no block of code. The tests of package comment render Markdown.
func outsideOfBlocks(text string) string {
	var out strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case fence == "" && strings.HasPrefix(line, "```"):
			fence = line[:len(line)-len(strings.TrimLeft(line, "`"))]
		case fence == "":
			out.WriteString(line + "\n")
		case line == fence:
			fence = ""
		}
	}
	return out.String()
}

// A StackSet would create a Stack in a namespace that does not allow it: the comment has that, and the pull request
// does not fail. With the StackGrant there is no such note.
func TestPullRequestNotesAMissingStackGrant(t *testing.T) {
	l := newListing(t, "envs/dev/net")
	l.set(strings.Replace(platformSet, `metadata: {name: "${params.env}-${params.name}"}`,
		`metadata: {name: "${params.env}-${params.name}", namespace: "${params.env == 'crm' ? 'crm' : 'prod'}"}`, 1),
		func(s *v1alpha1.StackSet) { s.Spec.Namespaces = []string{"crm"} })
	head := l.push(gitserver.Change{Branch: "change", Onto: "main"}, "envs/crm/web", "envs/dev/db")
	w := l.merge(head)
	status := next(&w)
	const note = "1 of these Stacks would not be written: no StackGrant in namespace crm allows StackSets of " +
		"namespace prod to write them"
	if set := w.Merge.StackSets[0]; set.Message != note || set.Reason != "" || set.Appear != 2 {
		t.Errorf("%+v", set)
	}
	if status.Conditions[0].Status != metav1.ConditionTrue {
		t.Errorf("%+v", status.Conditions[0])
	}
	l.objects = append(l.objects,
		&v1alpha1.StackGrant{ObjectMeta: metav1.ObjectMeta{Namespace: "crm", Name: "platform", UID: "grant"},
			Spec: v1alpha1.StackGrantSpec{
				From: []v1alpha1.StackGrantFrom{{Kind: v1alpha1.GrantStackSet, Namespace: "prod"}}}})
	if set := l.merge(head).Merge.StackSets[0]; set.Message != "" || set.Appear != 2 {
		t.Errorf("with a StackGrant: %+v", set)
	}
}
