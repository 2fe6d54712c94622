//go:build gitea

package gitea

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/devcluster"
)

// repo is the repository at the Git provider.
const repo = "/repos/acme/infra"

// fixture is Cairn between a real API server and a real Gitea, with a Repository of two Stacks, net and app, and a third one
// that no test changes.
type fixture struct {
	*testing.T
	*devcluster.Cluster
	gitea  *Server
	root   string
	tokens map[string]string
	// dir is alice's clone.
	dir string
}

func newFixture(t *testing.T, change func(*v1alpha1.PullRequests)) *fixture {
	t.Helper()
	ctx := t.Context()
	s, err := New(ctx, "127.0.0.1", t.TempDir())
	must(t, err)
	t.Cleanup(func() { s.Kill() })
	f := &fixture{T: t, gitea: s, tokens: map[string]string{}, dir: t.TempDir()}
	f.root, err = s.User(ctx, Admin)
	must(t, err)
	for _, login := range []string{"alice", "bob", "mallory", "cairn"} {
		f.tokens[login], err = s.User(ctx, login)
		must(t, err)
	}
	must(t, s.Call(ctx, f.root, "POST", "/orgs", map[string]any{"username": "acme"}, nil))
	must(t, s.Call(ctx, f.root, "POST", "/orgs/acme/repos", map[string]any{"name": "infra", "auto_init": true, "default_branch": "main"}, nil))
	for login, permission := range map[string]string{"alice": "write", "bob": "write", "cairn": "admin"} {
		must(t, s.Call(ctx, f.root, "PUT", repo+"/collaborators/"+login, map[string]any{"permission": permission}, nil))
	}
	git(ctx, t, f.dir, "clone", "-q", s.CloneURL("alice", f.tokens["alice"], "acme/infra"), ".")
	f.push("main", map[string]string{
		"net/main.tf":   terraform("net", "1"),
		"app/main.tf":   "module \"common\" {\n  source = \"../common\"\n}\n",
		"other/main.tf": terraform("other", "1"), "common/main.tf": terraform("common", "1"), "README.md": "infra\n",
	})

	f.Cluster = devcluster.Start(t)
	settings := &v1alpha1.PullRequests{
		Provider: v1alpha1.GitProviderGitea, Interval: &metav1.Duration{Duration: time.Second},
		Credentials: v1alpha1.SecretSource{Secret: v1alpha1.ObjectRef{Name: "pulls"}},
	}
	if change != nil {
		change(settings)
	}
	f.create(
		&corev1.Secret{ObjectMeta: object("pulls"), StringData: map[string]string{"token": f.tokens["cairn"], "username": "cairn", "password": f.tokens["cairn"]}},
		&v1alpha1.Repository{ObjectMeta: object("infra"), Spec: v1alpha1.RepositorySpec{
			URL: s.URL + "/acme/infra.git", Interval: &metav1.Duration{Duration: time.Second}, PullRequests: settings,
			Credentials: &v1alpha1.SecretSource{Secret: v1alpha1.ObjectRef{Name: "pulls"}},
		}},
		&rbacv1.Role{ObjectMeta: object("plans"), Rules: []rbacv1.PolicyRule{{APIGroups: []string{"cairn.dev"}, Resources: []string{"stacks"}, Verbs: []string{"plan"}}}},
		&rbacv1.RoleBinding{ObjectMeta: object("plans"), RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "plans"}, Subjects: []rbacv1.Subject{
			{Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: "gitea:" + strings.TrimPrefix(s.URL, "http://") + ":alice"},
			{Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: "gitea:" + strings.TrimPrefix(s.URL, "http://") + ":bob"},
		}},
	)
	for _, name := range []string{"net", "app", "other"} {
		f.create(&v1alpha1.Stack{ObjectMeta: object(name), Spec: v1alpha1.StackSpec{
			Apply: v1alpha1.ApplyAutomatic, Source: v1alpha1.Source{Git: &v1alpha1.GitSource{Repository: v1alpha1.RepositoryRef{Name: "infra"}, Path: name}},
		}})
	}
	for _, name := range []string{"net", "app", "other"} {
		f.eventually("Stack "+name+" is applied", func() string {
			stack := &v1alpha1.Stack{}
			must(t, f.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, stack))
			return unless(apimeta.IsStatusConditionTrue(stack.Status.Conditions, v1alpha1.ConditionReady), stack.Status.Conditions)
		})
	}
	return f
}

func terraform(name, value string) string {
	return fmt.Sprintf("resource \"terraform_data\" %q {\n  input = %q\n}\n", name, value)
}

func object(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "default", Name: name} }

func (f *fixture) create(objects ...client.Object) {
	f.Helper()
	for _, o := range objects {
		must(f.T, f.Create(f.Context(), o))
	}
}

// push commits files to a branch; an empty text deletes one. It returns the commit.
func (f *fixture) push(branch string, files map[string]string) string {
	f.Helper()
	ctx := f.Context()
	git(ctx, f.T, f.dir, "fetch", "-q", "origin")
	if strings.Contains(git(ctx, f.T, f.dir, "branch", "-r"), "origin/"+branch+"\n") {
		git(ctx, f.T, f.dir, "switch", "-q", "-C", branch, "origin/"+branch)
	} else {
		git(ctx, f.T, f.dir, "switch", "-q", "-C", branch, "origin/main")
	}
	for name, text := range files {
		path := filepath.Join(f.dir, name)
		if text == "" {
			must(f.T, os.RemoveAll(path))
			continue
		}
		must(f.T, os.MkdirAll(filepath.Dir(path), 0o700))
		must(f.T, os.WriteFile(path, []byte(text), 0o600))
	}
	git(ctx, f.T, f.dir, "add", "-A")
	git(ctx, f.T, f.dir, "commit", "-qm", "Change "+branch)
	git(ctx, f.T, f.dir, "push", "-q", "origin", branch)
	return strings.TrimSpace(git(ctx, f.T, f.dir, "rev-parse", "HEAD"))
}

// open opens a pull request of a branch.
func (f *fixture) open(login, head, title string) int {
	f.Helper()
	var pull struct{ Number int }
	body := map[string]any{"head": head, "base": "main", "title": title}
	must(f.T, f.gitea.Call(f.Context(), f.tokens[login], "POST", repo+"/pulls", body, &pull))
	return pull.Number
}

func (f *fixture) comment(login string, number int, text string) {
	f.Helper()
	must(f.T, f.gitea.Call(f.Context(), f.tokens[login], "POST", fmt.Sprintf("%s/issues/%d/comments", repo, number), map[string]any{"body": text}, nil))
}

// comments returns the comments of Cairn.
func (f *fixture) comments(number int) []string {
	f.Helper()
	var all []struct {
		Body string
		User struct{ Login string }
	}
	must(f.T, f.gitea.Call(f.Context(), f.root, "GET", fmt.Sprintf("%s/issues/%d/comments", repo, number), nil, &all))
	var ours []string
	for _, c := range all {
		if c.User.Login == "cairn" {
			ours = append(ours, c.Body)
		}
	}
	return ours
}

// status returns the newest status of a commit for a context.
func (f *fixture) status(commit, context string) (state, description string) {
	f.Helper()
	var all struct {
		Statuses []struct{ Status, Context, Description string }
	}
	must(f.T, f.gitea.Call(f.Context(), f.root, "GET", repo+"/commits/"+commit+"/status", nil, &all))
	for _, s := range all.Statuses {
		if s.Context == context {
			return s.Status, s.Description
		}
	}
	return "", ""
}

// await waits until the head commit has an aggregate status, and Cairn one comment with some texts.
func (f *fixture) await(number int, commit, state string, texts ...string) {
	f.Helper()
	f.eventually(fmt.Sprintf("pull request %d has status %s and a comment with %q", number, state, texts), func() string {
		is, description := f.status(commit, "cairn")
		if is != state {
			return fmt.Sprintf("status %q: %s\n%s", is, description, f.describe(number))
		}
		ours := f.comments(number)
		if len(ours) != 1 {
			return fmt.Sprintf("%d comments", len(ours))
		}
		for _, text := range texts {
			if !strings.Contains(ours[0], text) {
				return ours[0]
			}
		}
		return ""
	})
}

func (f *fixture) describe(number int) string {
	pull := &v1alpha1.PullRequest{}
	if err := f.Get(f.Context(), client.ObjectKey{Namespace: "default", Name: fmt.Sprintf("infra-%d", number)}, pull); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%+v", pull.Status)
}

// planned returns the Stacks of a pull request.
func (f *fixture) planned(number int) (names []string) {
	f.Helper()
	pull := &v1alpha1.PullRequest{}
	must(f.T, f.Get(f.Context(), client.ObjectKey{Namespace: "default", Name: fmt.Sprintf("infra-%d", number)}, pull))
	for _, s := range pull.Status.Stacks {
		names = append(names, s.Name)
	}
	return names
}

// runs returns the Runs of pull requests.
func (f *fixture) runs() []v1alpha1.Run {
	f.Helper()
	var all v1alpha1.RunList
	must(f.T, f.List(f.Context(), &all))
	return slices.DeleteFunc(all.Items, func(r v1alpha1.Run) bool { return r.Spec.PullRequest == nil })
}

// eventually fails if there is something wrong for more than a minute.
func (f *fixture) eventually(what string, wrong func() string) {
	f.Helper()
	text := ""
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		if text = wrong(); text == "" {
			return
		}
	}
	f.Fatalf("not true after a minute: %s\n%s", what, text)
}

func unless(is bool, what any) string {
	if is {
		return ""
	}
	return fmt.Sprintf("%+v", what)
}

var _ = context.Background

// Exactly the affected Stacks are planned, and each change of the pull request or of its base is in the one comment.
func TestPullRequestIsPlanned(t *testing.T) {
	f := newFixture(t, nil)
	head := f.push("change", map[string]string{"common/main.tf": terraform("common", "2")})
	number := f.open("alice", "change", "Change the common module")
	f.await(number, head, "success", "1 Stack planned", "default/app", "terraform_data.common", "0 to add, 1 to change, 0 to destroy")
	if got := f.planned(number); !slices.Equal(got, []string{"app"}) {
		t.Errorf("planned: %v", got)
	}
	if state, _ := f.status(head, "cairn/default/app"); state != "success" {
		t.Errorf("the status of Stack app is %q", state)
	}

	older := head
	head = f.push("change", map[string]string{"net/main.tf": terraform("net", "2")})
	f.await(number, head, "success", "2 Stacks planned", "default/net")
	_ = older

	f.push("main", map[string]string{"README.md": "other\n"}) // the base moves, and nothing that is planned changes
	time.Sleep(3 * time.Second)
	if runs := f.runs(); len(runs) != 2 {
		t.Errorf("%d Runs", len(runs))
	}
	f.push("main", map[string]string{"net/main.tf": terraform("net", "3")})
	f.await(number, head, "failure", "the head conflicts with the base", "net/main.tf")
}
