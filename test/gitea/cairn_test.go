//go:build gitea

package gitea

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/dev"
	"cairn.dev/cairn/test/devcluster"
)

// repo is the repository at the Git provider.
const repo = "/repos/acme/infra"

// fixture is Cairn between a real API server and a real Gitea, with a Repository of two Stacks, net and app, and a
// third one that no test changes.
type fixture struct {
	*testing.T
	*devcluster.Cluster
	gitea  *Server
	front  *front
	root   string
	tokens map[string]string
	// dir is alice's clone.
	dir string
}

func newFixture(t *testing.T, change func(*v1alpha1.RepositorySpec), serveArgs ...string) *fixture {
	t.Helper()
	ctx := t.Context()
	s, err := New(ctx, "127.0.0.1", t.TempDir())
	must(t, err)
	t.Cleanup(func() { s.Kill() })
	f := &fixture{T: t, gitea: s, front: newFront(t, s.URL), tokens: map[string]string{}, dir: t.TempDir()}
	f.root, err = s.User(ctx, Admin)
	must(t, err)
	for _, login := range []string{"alice", "bob", "mallory", "cairn"} {
		f.tokens[login], err = s.User(ctx, login)
		must(t, err)
	}
	must(t, s.Call(ctx, f.root, "POST", "/orgs", map[string]any{"username": "acme"}, nil))
	must(t, s.Call(ctx, f.root, "POST", "/orgs/acme/repos", map[string]any{"name": "infra", "auto_init": true,
		"default_branch": "main"}, nil))
	for login, permission := range map[string]string{"alice": "write", "bob": "write", "cairn": "admin"} {
		must(t, s.Call(ctx, f.root, "PUT", repo+"/collaborators/"+login, map[string]any{"permission": permission}, nil))
	}
	git(ctx, t, f.dir, "clone", "-q", s.CloneURL("alice", f.tokens["alice"], "acme/infra"), ".")
	f.push("main", map[string]string{
		"net/main.tf":   terraform("net", "1"),
		"app/main.tf":   "module \"common\" {\n  source = \"../common\"\n}\n",
		"other/main.tf": terraform("other", "1"), "common/main.tf": terraform("common", "1"), "README.md": "infra\n",
	})

	f.Cluster = devcluster.StartSplit(t, serveArgs...) // each half has only its own permissions
	t.Cleanup(f.isNeverDenied)
	spec := v1alpha1.RepositorySpec{
		URL: s.URL + "/acme/infra.git", Interval: &metav1.Duration{Duration: time.Second},
		Credentials: &v1alpha1.SecretSource{Secret: v1alpha1.ObjectRef{Name: "pulls"}},
		PullRequests: &v1alpha1.PullRequests{
			Provider: v1alpha1.GitProviderGitea, URL: f.front.URL, Interval: &metav1.Duration{Duration: time.Second},
			Credentials: v1alpha1.SecretSource{Secret: v1alpha1.ObjectRef{Name: "pulls"}},
		},
	}
	if change != nil {
		change(&spec)
	}
	f.create(
		&corev1.Secret{ObjectMeta: object("pulls"), StringData: map[string]string{"token": f.tokens["cairn"],
			"username": "cairn", "password": f.tokens["cairn"]}},
		&v1alpha1.Repository{ObjectMeta: object("infra"), Spec: spec},
		&rbacv1.Role{ObjectMeta: object("plans"),
			Rules: []rbacv1.PolicyRule{{APIGroups: []string{"cairn.dev"}, Resources: []string{"stacks"},
				Verbs: []string{"plan"}}}},
		&rbacv1.RoleBinding{ObjectMeta: object("plans"), RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "plans"},
			Subjects: []rbacv1.Subject{
				{Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: "gitea:" +
					strings.TrimPrefix(f.front.URL, "http://") + ":alice"},
				{Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: "gitea:" +
					strings.TrimPrefix(f.front.URL, "http://") + ":bob"},
			}},
	)
	for _, name := range []string{"net", "app", "other"} {
		f.create(&v1alpha1.Stack{ObjectMeta: object(name), Spec: v1alpha1.StackSpec{
			Apply: v1alpha1.ApplyAutomatic,
			Source: v1alpha1.Source{Git: &v1alpha1.GitSource{Repository: v1alpha1.RepositoryRef{Name: "infra"},
				Path: name}},
		}})
	}
	for _, name := range []string{"net", "app", "other"} {
		f.eventually("Stack "+name+" is applied", func() string {
			stack := &v1alpha1.Stack{}
			must(t, f.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, stack))
			return unless(apimeta.IsStatusConditionTrue(stack.Status.Conditions, v1alpha1.ConditionReady),
				stack.Status.Conditions)
		})
	}
	return f
}

// isNeverDenied checks that the API server denied no request of Cairn.
func (f *fixture) isNeverDenied() {
	requests, err := dev.Requests(f.AuditLog(), time.Time{}, nil)
	must(f.T, err)
	count := 0
	for _, r := range requests {
		if !strings.HasPrefix(r.User, "system:serviceaccount:cairn-system:cairn-") {
			continue
		}
		count++
		if r.Code == http.StatusForbidden || r.Code == http.StatusUnauthorized ||
			r.Code == http.StatusUnprocessableEntity {
			f.Errorf("%s was denied: %s %s (%d)", r.User, r.Verb, r.Path, r.Code)
		}
	}
	if count == 0 {
		f.Error("the audit log has no request of Cairn")
	}
}

func terraform(name, value string) string {
	return fmt.Sprintf("resource \"terraform_data\" %q {\n  input = %q\n}\n", name, value)
}

func object(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "default", Name: name}
}

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
	must(f.T, f.gitea.Call(f.Context(), f.tokens[login], "POST", fmt.Sprintf("%s/issues/%d/comments", repo, number),
		map[string]any{"body": text}, nil))
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
	f.eventually(fmt.Sprintf("pull request %d has status %s and a comment with %q", number, state, texts),
		func() string {
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
	if err := f.Get(f.Context(), client.ObjectKey{Namespace: "default", Name: fmt.Sprintf("infra-%d", number)},
		pull); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%+v", pull.Status)
}

// cairn runs a command of a user.
func (f *fixture) cairn(args ...string) (out string, code int) {
	f.Helper()
	cmd := exec.CommandContext(f.Context(), filepath.Join(f.Bin, "cairn"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+f.Kubeconfig)
	data, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		f.Fatal(err)
	}
	return string(data), cmd.ProcessState.ExitCode()
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

// Exactly the affected Stacks are planned, and each change of the pull request or of its base is in the one comment.
func TestPullRequestIsPlanned(t *testing.T) {
	f := newFixture(t, nil)
	head := f.push("change", map[string]string{"common/main.tf": terraform("common", "2")})
	number := f.open("alice", "change", "Change the common module")
	f.await(number, head, "success", "1 Stack planned", "default/app", "terraform_data.common",
		"0 to add, 1 to change, 0 to destroy")
	if got := f.planned(number); !slices.Equal(got, []string{"app"}) {
		t.Errorf("planned: %v", got)
	}
	if state, _ := f.status(head, "cairn/default/app"); state != "success" {
		t.Errorf("the status of Stack app is %q", state)
	}

	name := fmt.Sprintf("pr/%d", number)
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"get", "pr"}, 0, "1/1 "},
		{[]string{"describe", name}, 0, "default/app"},
		{[]string{"diff", name}, 2, "~ input  = \"1\" -> \"2\""},
		{[]string{"diff", name, "-o", "json"}, 2, `"stack": "app"`},
		{[]string{"approve", name}, 1, "is a PullRequest: `cairn describe"},
	} {
		if out, code := f.cairn(tt.args...); code != tt.code || !strings.Contains(out, tt.want) {
			t.Errorf("cairn %s: exit code %d\n%s", strings.Join(tt.args, " "), code, out)
		}
	}

	head = f.push("change", map[string]string{"net/main.tf": terraform("net", "2")})
	f.await(number, head, "success", "2 Stacks planned", "default/net")

	f.push("main", map[string]string{"README.md": "other\n"}) // the base moves, and nothing that is planned changes
	git(t.Context(), t, f.dir, "switch", "-q", "change")
	git(t.Context(), t, f.dir, "rebase", "-q", "origin/main")
	git(t.Context(), t, f.dir, "push", "-qf", "origin", "change")
	head = strings.TrimSpace(git(t.Context(), t, f.dir, "rev-parse", "HEAD"))
	f.await(number, head, "success", "2 Stacks planned", head)
	if runs := f.runs(); len(runs) != 2 {
		t.Errorf("%d Runs", len(runs))
	}
	f.push("main", map[string]string{"net/main.tf": terraform("net", "3")})
	f.await(number, head, "failure", "the head conflicts with the base", "net/main.tf")
}

// The comment as Gitea renders it, for the documentation.
func TestPictureOfTheComment(t *testing.T) {
	if os.Getenv("SCREENS") == "" {
		t.Skip("SCREENS is not set: the picture in docs/screens is taken with SCREENS=1 make test-gitea")
	}
	f := newFixture(t, nil, "--web-url=https://cairn.example.com")
	head := f.push("change", map[string]string{"common/main.tf": terraform("common", "2"),
		"net/main.tf": terraform("net", "2"), "other/main.tf": "resource {}\n"})
	number := f.open("alice", "change", "Change the network")
	f.await(number, head, "failure", "1 of 3 Stacks failed")
	page := fmt.Sprintf("%s/acme/infra/pulls/%d", f.gitea.URL, number)
	out, err := exec.CommandContext(t.Context(), "node", "../browser/picture.mjs", page,
		".comment-list .comment .render-content:has(table)",
		"../../docs/screens/pull-request-comment.png").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// Nothing of a fork runs before a user with the verb plan has asked for it, for that head commit only.
// ambient-code #763: a permission survived a push. Azure/telescope #1266: a fork ran with the credentials of the
// repository.
func TestForkNeedsCommandForItsHead(t *testing.T) {
	f := newFixture(t, nil)
	ctx := t.Context()
	must(t, f.gitea.Call(ctx, f.tokens["mallory"], "POST", repo+"/forks", map[string]any{}, nil))
	git(ctx, t, f.dir, "remote", "add", "fork", f.gitea.CloneURL("mallory", f.tokens["mallory"], "mallory/infra"))
	pushFork := func(value string) string {
		git(ctx, t, f.dir, "switch", "-q", "-C", "evil", "origin/main")
		must(t, os.WriteFile(filepath.Join(f.dir, "net", "main.tf"), []byte(terraform("net", value)), 0o600))
		git(ctx, t, f.dir, "commit", "-qam", "Change "+value)
		git(ctx, t, f.dir, "push", "-qf", "fork", "evil")
		return strings.TrimSpace(git(ctx, t, f.dir, "rev-parse", "HEAD"))
	}
	head := pushFork("2")
	var pull struct{ Number int }
	must(t, f.gitea.Call(ctx, f.tokens["mallory"], "POST", repo+"/pulls",
		map[string]any{"head": "mallory:evil", "base": "main", "title": "Nice change"}, &pull))
	f.await(pull.Number, head, "pending", "a user with the verb plan has to comment", "`default/net`")

	f.comment("mallory", pull.Number, "/cairn plan "+head)
	f.await(pull.Number, head, "pending", "does not have the verb plan on this Stack")
	if runs := f.runs(); len(runs) > 0 {
		t.Fatalf("%d Runs of a fork without a command", len(runs))
	}
	f.comment("bob", pull.Number, "/cairn plan")
	f.await(pull.Number, head, "pending", "name the head commit that you have read: /cairn plan "+head)
	f.comment("bob", pull.Number, "/cairn plan "+head)
	f.await(pull.Number, head, "success", "1 Stack planned", "plan of head")

	head = pushFork("3")
	f.await(pull.Number, head, "pending", "a user with the verb plan has to comment")
	for _, run := range f.runs() {
		if !strings.Contains(run.Spec.Revision, head) && !run.Status.Phase.Finished() {
			t.Errorf("Run %s of the older head is %s", run.Name, run.Status.Phase)
		}
		if strings.Contains(run.Spec.Revision, head) {
			t.Errorf("Run %s of a head that nobody allowed", run.Name)
		}
	}
}

// The life of pull requests: drafts, commands, directories that are deleted, closed and opened again, and merged.
func TestLifeOfPullRequests(t *testing.T) {
	f := newFixture(t, nil)
	ctx := t.Context()
	head := f.push("draft", map[string]string{"other/main.tf": ""})
	number := f.open("alice", "draft", "WIP: delete a directory")
	f.await(number, head, "pending", "the pull request is a draft")
	edit := func(body map[string]any) {
		must(t, f.gitea.Call(ctx, f.tokens["alice"], "PATCH", fmt.Sprintf("%s/pulls/%d", repo, number), body, nil))
	}
	edit(map[string]any{"title": "Delete a directory"})
	f.await(number, head, "success", "1 to destroy", "(directory deleted)", "terraform_data.other will be destroyed")

	f.comment("alice", number, "/cairn plam")
	f.await(number, head, "success", "did you mean /cairn plan?")
	f.comment("alice", number, "/cairn apply")
	f.await(number, head, "success", "Cairn applies after the merge")
	f.comment("mallory", number, "/cairn plan other")
	f.await(number, head, "success", "does not have the verb plan on this Stack")
	before := f.runs()
	f.comment("alice", number, "/cairn plan other")
	f.await(number, head, "success", "plan of head", "1 to destroy")
	if after := f.runs(); len(after) != 1 || len(before) != 1 || after[0].Name == before[0].Name {
		t.Errorf("Runs before the command: %d, after it: %d", len(before), len(after))
	}

	edit(map[string]any{"state": "closed"})
	f.eventually("a closed pull request keeps its plans", func() string {
		ended := &v1alpha1.PullRequest{}
		err := f.Get(ctx, client.ObjectKey{Namespace: "default", Name: fmt.Sprintf("infra-%d", number)}, ended)
		return unless(err == nil && ended.Status.Phase == v1alpha1.PullRequestEnded && len(f.runs()) == 1,
			f.describe(number))
	})
	edit(map[string]any{"state": "open"})
	f.await(number, head, "success", "(directory deleted)")

	pull := &v1alpha1.PullRequest{ObjectMeta: object(fmt.Sprintf("infra-%d", number))}
	f.eventually("the pull request is known again", func() string {
		return unless(f.Get(ctx, client.ObjectKeyFromObject(pull), pull) == nil &&
			pull.Status.Phase == v1alpha1.PullRequestPlanned, pull.Status)
	})
	deleted := pull.UID
	must(t, f.Delete(ctx, pull))
	f.eventually("a PullRequest that a user deletes is created again while it is open", func() string {
		err := f.Get(ctx, client.ObjectKeyFromObject(pull), pull)
		return unless(err == nil && pull.UID != deleted, err)
	})
	f.await(number, head, "success", "(directory deleted)")

	suspend := func(suspend bool) {
		app := &v1alpha1.Stack{ObjectMeta: object("app")}
		patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"suspend":%t}}`, suspend))
		must(t, f.Patch(ctx, app, patch))
	}
	suspend(true)
	waits := f.push("suspended", map[string]string{"common/main.tf": terraform("common", "3")})
	suspended := f.open("alice", "suspended", "Change the module of a Stack that is suspended")
	f.await(suspended, waits, "failure", "spec.suspend of the Stack is true")
	suspend(false)
	f.await(suspended, waits, "success", "1 Stack planned")

	for i, style := range []string{"squash", "merge", "rebase"} {
		next := f.push(style, map[string]string{"net/main.tf": terraform("net", style)})
		merged := f.open("alice", style, "Merge this")
		f.await(merged, next, "success", "1 Stack planned")
		review := map[string]any{"event": "APPROVED", "body": "/cairn plan"} // a review is no command
		must(t, f.gitea.Call(ctx, f.tokens["bob"], "POST", fmt.Sprintf("%s/pulls/%d/reviews", repo, merged),
			review, nil))
		must(t, f.gitea.Call(ctx, f.root, "POST", fmt.Sprintf("%s/pulls/%d/merge", repo, merged),
			map[string]any{"Do": style}, nil))
		applied := fmt.Sprintf("net-%d", i+2)
		f.eventually("the merge by "+style+" is applied", func() string {
			stack := &v1alpha1.Stack{}
			must(t, f.Get(ctx, client.ObjectKey{Namespace: "default", Name: "net"}, stack))
			run := &v1alpha1.Run{}
			_ = f.Get(ctx, client.ObjectKey{Namespace: "default", Name: applied}, run) // it only explains a failure
			return unless(stack.Status.LastRun == applied && apimeta.IsStatusConditionTrue(stack.Status.Conditions,
				v1alpha1.ConditionReady), run.Status)
		})
		f.eventually("the apply of the merge by "+style+" is reported by a second comment", func() string {
			ours := f.comments(merged)
			return unless(len(ours) == 2 && !strings.Contains(ours[0], "Last command"), ours)
		})
		if state, _ := f.status(next, "cairn"); state != "success" {
			t.Errorf("the status after a merge by %s is %s", style, state)
		}
	}
	f.await(number, head, "success", "(directory deleted)") // of the other one nothing changed
}

// carrying is a fixture in which bob has the verb approve on Runs, and Stack net waits for approvals.
func carrying(t *testing.T, from ...v1alpha1.ApprovalSource) (f *fixture, bob string) {
	t.Helper()
	f = newFixture(t, func(spec *v1alpha1.RepositorySpec) {
		spec.PullRequests.CarryApproval = &v1alpha1.CarryApproval{From: from}
	})
	bob = "gitea:" + strings.TrimPrefix(f.front.URL, "http://") + ":bob"
	f.create(
		&rbacv1.Role{ObjectMeta: object("approves"),
			Rules: []rbacv1.PolicyRule{{APIGroups: []string{"cairn.dev"}, Resources: []string{"runs"},
				Verbs: []string{"approve"}}}},
		&rbacv1.RoleBinding{ObjectMeta: object("approves"), RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "approves"},
			Subjects: []rbacv1.Subject{
				{Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: bob},
			}},
	)
	manual := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"apply":"Manual"}}`))
	must(t, f.Patch(t.Context(), &v1alpha1.Stack{ObjectMeta: object("net")}, manual))
	f.push("main", map[string]string{"net/main.tf": terraform("net", "2")})
	f.ends("net-2", v1alpha1.PhaseAwaitingApproval)
	if out, code := f.cairn("approve", "net-2", "--yes"); code != 0 { // the change of the Stack ends with an apply
		t.Fatal(out)
	}
	f.ends("net-2", v1alpha1.PhaseSucceeded)
	return f, bob
}

func (f *fixture) run(name string) *v1alpha1.Run {
	r := &v1alpha1.Run{}
	_ = f.Get(f.Context(), client.ObjectKey{Namespace: "default", Name: name}, r) // it may not exist yet
	return r
}

func (f *fixture) ends(name string, phase v1alpha1.RunPhase) {
	f.Helper()
	f.eventually("Run "+name+" is "+string(phase), func() string {
		return unless(f.run(name).Status.Phase == phase, f.run(name).Status)
	})
}

func (f *fixture) squash(number int) {
	f.Helper()
	f.eventually("Gitea merges", func() string { // 405 while it computes whether it can
		err := f.gitea.Call(f.Context(), f.root, "POST", fmt.Sprintf("%s/pulls/%d/merge", repo, number),
			map[string]any{"Do": "squash"}, nil)
		return unless(err == nil, err)
	})
}

// A review after the plan is in the comment counts for the plan of the merge, and none that was dismissed.
func TestReviewIsCarriedToTheMerge(t *testing.T) {
	f, bob := carrying(t, v1alpha1.ApprovalReviews)
	ctx := t.Context()
	review := func(branch, value string) (number int, id int64) {
		head := f.push(branch, map[string]string{"net/main.tf": terraform("net", value)})
		number = f.open("alice", branch, "Change the network")
		var early, late struct{ ID int64 }
		reviews := fmt.Sprintf("%s/pulls/%d/reviews", repo, number)
		must(t, f.gitea.Call(ctx, f.tokens["bob"], "POST", reviews,
			map[string]any{"event": "APPROVED", "body": "not read"}, &early))
		f.await(number, head, "success", "1 Stack planned", "An approving review of this head")
		if text := f.comments(number)[0]; strings.Contains(text, "/cairn approve") ||
			strings.Contains(text, "approved by") {
			t.Errorf("before the review: %s", text)
		}
		time.Sleep(2 * time.Second) // Gitea has seconds
		must(t, f.gitea.Call(ctx, f.tokens["bob"], "POST", reviews, map[string]any{"event": "APPROVED", "body": "read"},
			&late))
		f.await(number, head, "success", "approved by a review of "+bob)
		return number, late.ID
	}
	number, _ := review("same", "3")
	f.squash(number)
	f.ends("net-3", v1alpha1.PhaseSucceeded)
	if r := f.run("net-3"); r.Spec.Approval != nil || r.Status.CarriedApproval == nil ||
		r.Status.CarriedApproval.By != bob ||
		r.Status.CarriedApproval.PlanDigest != r.Status.Plan.Digest ||
		r.Status.CarriedApproval.PullRequest.Number != int64(number) {
		t.Errorf("Run net-3: %+v, %+v", r.Spec.Approval, r.Status.CarriedApproval)
	}

	number, id := review("dismissed", "4")
	must(t, f.gitea.Call(ctx, f.root, "POST", fmt.Sprintf("%s/pulls/%d/reviews/%d/dismissals", repo, number, id),
		map[string]any{"message": "no"}, nil))
	f.squash(number)
	f.eventually("the comment has why the review does not count", func() string {
		return unless(strings.Contains(f.comments(number)[0], "does not count: no review of this user"),
			f.comments(number))
	})
	if r := f.run("net-4"); r.Status.Phase != v1alpha1.PhaseAwaitingApproval || r.Status.CarriedApproval != nil {
		t.Errorf("Run net-4: %s, %+v", r.Status.Phase, r.Status.CarriedApproval)
	}
}

// An approval in the pull request counts for the plan of the merge if that does the same, and for no other.
func TestApprovalIsCarriedToTheMerge(t *testing.T) {
	f, bob := carrying(t)
	approve := func(branch, value string) (number int, head string) {
		head = f.push(branch, map[string]string{"net/main.tf": terraform("net", value)})
		number = f.open("alice", branch, "Change the network")
		f.await(number, head, "success", "1 Stack planned", "/cairn approve ")
		_, after, _ := strings.Cut(f.comments(number)[0], "/cairn approve ")
		f.comment("alice", number, "/cairn approve "+after[:40])
		f.await(number, head, "success", "does not have the verb approve")
		f.comment("bob", number, "/cairn approve "+after[:40])
		f.await(number, head, "success", "approved by "+bob)
		return number, head
	}
	number, _ := approve("same", "3")
	f.squash(number)
	f.ends("net-3", v1alpha1.PhaseSucceeded)
	if r := f.run("net-3"); r.Spec.Approval != nil || r.Status.CarriedApproval == nil ||
		r.Status.CarriedApproval.By != bob ||
		r.Status.CarriedApproval.PlanDigest != r.Status.Plan.Digest ||
		r.Status.CarriedApproval.PullRequest.Number != int64(number) {
		t.Errorf("Run net-3: %+v, %+v", r.Spec.Approval, r.Status.CarriedApproval)
	}
	f.eventually("the comment has who approved", func() string {
		return unless(strings.Contains(f.comments(number)[0], "Approved by "+bob), f.comments(number))
	})

	number, head := approve("other", "4")
	f.push("main", map[string]string{"net/more.tf": terraform("more", "1")})
	f.await(number, head, "success", "is void: ")
	f.squash(number)
	f.eventually("the comment has why the approval does not count", func() string {
		return unless(strings.Contains(f.comments(number)[0], "does not count: "), f.comments(number))
	})
	var all v1alpha1.RunList
	must(t, f.List(t.Context(), &all))
	for _, r := range all.Items {
		if r.Name != "net-3" && r.Status.CarriedApproval != nil {
			t.Errorf("Run %s has %+v", r.Name, r.Status.CarriedApproval)
		}
	}
}

// applying has a Repository of which bob can apply pull requests before their merge.
func applying(t *testing.T, change func(*v1alpha1.RepositorySpec)) *fixture {
	f := newFixture(t, func(spec *v1alpha1.RepositorySpec) {
		spec.PullRequests.Apply = v1alpha1.ApplyBeforeMerge
		change(spec)
	})
	bob := "gitea:" + strings.TrimPrefix(f.front.URL, "http://") + ":bob"
	f.create(
		&rbacv1.Role{ObjectMeta: object("applies"), Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"cairn.dev"}, Resources: []string{"stacks"}, Verbs: []string{"apply"}},
		}},
		&rbacv1.RoleBinding{ObjectMeta: object("applies"), RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "applies"},
			Subjects: []rbacv1.Subject{
				{Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: bob},
			}},
	)
	return f
}

// TestPullRequestIsAppliedBeforeItsMerge applies a pull request by a comment and merges it: the merge starts no Run.
// One that is closed is left by a plan that waits, and while one is applied, no other is.
func TestPullRequestIsAppliedBeforeItsMerge(t *testing.T) {
	f := applying(t, func(*v1alpha1.RepositorySpec) {})
	ctx := t.Context()
	stack := func() *v1alpha1.Stack {
		s := &v1alpha1.Stack{}
		must(t, f.Get(ctx, client.ObjectKey{Namespace: "default", Name: "net"}, s))
		return s
	}
	run := func(name string) *v1alpha1.Run {
		r := &v1alpha1.Run{}
		_ = f.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, r) // it may not exist yet
		return r
	}
	open := func(branch, value string) (number int, head, command string) {
		head = f.push(branch, map[string]string{"net/main.tf": terraform("net", value)})
		number = f.open("alice", branch, "Change the network")
		f.await(number, head, "success", "1 Stack planned", "/cairn apply ")
		_, after, _ := strings.Cut(f.comments(number)[0], "/cairn apply ")
		return number, head, "/cairn apply " + after[:40]
	}
	released := func() {
		f.eventually("the Stack has the base", func() string {
			return unless(stack().Status.Hold == nil, stack().Status)
		})
	}

	number, head, apply := open("first", "2")
	f.comment("alice", number, apply)
	f.await(number, head, "success", "does not have the verb apply")
	f.comment("bob", number, apply)
	f.await(number, head, "success", "Applied before the merge", "Applied: 1 changed")
	if r := run("net-2"); r.Spec.Revision != fmt.Sprintf("pull/%d@sha1:%s", number, head) {
		t.Errorf("Run net-2 is of %s", r.Spec.Revision)
	}
	other, otherHead, applyOther := open("second", "3")
	f.comment("bob", other, applyOther)
	f.await(other, otherHead, "success", fmt.Sprintf("pull request %d is applied to this Stack", number))
	f.eventually("Gitea merges", func() string { // 405 while it computes whether it can
		err := f.gitea.Call(ctx, f.root, "POST", fmt.Sprintf("%s/pulls/%d/merge", repo, number),
			map[string]any{"Do": "squash"}, nil)
		return unless(err == nil, err)
	})
	released()
	f.eventually("the comment has the result of the merge", func() string {
		return unless(strings.Contains(f.comments(number)[0], "1 of 1 Stack applied"), f.comments(number))
	})
	if s := stack().Status; s.LastRun != "net-2" || s.EndedHold != nil || s.AppliedInputsDigest != s.InputsDigest {
		t.Errorf("the merge of what is applied: %+v", s)
	}

	must(t, f.gitea.Call(ctx, f.root, "PATCH", fmt.Sprintf("%s/pulls/%d", repo, other),
		map[string]any{"state": "closed"}, nil))
	number, head, apply = open("third", "4")
	f.comment("bob", number, apply)
	f.await(number, head, "success", "Applied before the merge", "Applied: 1 changed")
	must(t, f.gitea.Call(ctx, f.root, "PATCH", fmt.Sprintf("%s/pulls/%d", repo, number),
		map[string]any{"state": "closed"}, nil))
	f.eventually("the way back waits for an approval", func() string {
		r := run("net-4")
		return unless(r.Status.Phase == v1alpha1.PhaseAwaitingApproval && slices.Contains(r.Status.Approval.RequiredBy,
			v1alpha1.RequiredByAfterHold), r)
	})
	if out, code := f.cairn("approve", "net-4", "--yes"); code != 0 {
		t.Fatal(out)
	}
	f.eventually("the base is applied", func() string {
		s := stack().Status
		return unless(s.EndedHold == nil && s.AppliedInputsDigest == s.InputsDigest, s)
	})
}

// atlantis #4932: a status that the provider did not accept was lost. What is to be written waits until the Git
// provider responds again, and is written once, also if Cairn is restarted.
func TestNothingIsLostWhileGiteaIsDown(t *testing.T) {
	f := newFixture(t, nil)
	ctx := t.Context()
	head := f.push("change", map[string]string{"net/main.tf": terraform("net", "2"),
		"other/main.tf": "resource \"terraform_data\" \"other\" {\n  input = nothing.at.all\n}\n"})
	number := f.open("alice", "change", "Change")
	f.eventually("a Run is planned", func() string { return unless(len(f.runs()) > 0, "no Run") })
	f.gitea.Kill()
	f.eventually("the plans ended", func() string {
		for _, run := range f.runs() {
			if !run.Status.Phase.Finished() {
				return run.Name + " " + string(run.Status.Phase)
			}
		}
		return unless(len(f.runs()) == 2, "fewer than 2 Runs")
	})
	f.Restart(t)
	must(t, f.gitea.Start(ctx))
	f.await(number, head, "failure", "1 of 2 Stacks failed", "terraform_data.net", "nothing")
	if ours := f.comments(number); len(ours) != 1 {
		t.Errorf("%d comments", len(ours))
	}
}

// Without an interval, webhooks alone bring commits, pull requests and comments.
func TestWebhooksAreEnough(t *testing.T) {
	address := devcluster.FreeAddress(t)
	never := &metav1.Duration{Duration: 24 * time.Hour}
	f := newFixture(t, func(spec *v1alpha1.RepositorySpec) {
		spec.Interval, spec.PullRequests.Interval = never, never
		spec.Webhook = &v1alpha1.WebhookSource{Secret: v1alpha1.ObjectRef{Name: "hook"}}
	}, "--web-listen="+address)
	f.create(&corev1.Secret{ObjectMeta: object("hook"), StringData: map[string]string{"token": "signing secret"}})
	must(t, f.gitea.Call(t.Context(), f.root, "POST", repo+"/hooks", map[string]any{
		"type": "gitea", "active": true, "events": []string{"push", "pull_request", "pull_request_sync",
			"pull_request_comment", "pull_request_review"},
		"config": map[string]string{"url": "http://" + address + "/hooks/default/infra", "content_type": "json",
			"secret": "signing secret"},
	}, nil))
	head := f.push("change", map[string]string{"net/main.tf": terraform("net", "2")})
	number := f.open("alice", "change", "Change")
	f.await(number, head, "success", "1 Stack planned")
	f.comment("alice", number, "/cairn help")
	f.await(number, head, "success", "STACK is NAME or NAMESPACE/NAME")
	head = f.push("change", map[string]string{"other/main.tf": terraform("other", "2")})
	f.await(number, head, "success", "2 Stacks planned")
}

// Text of a pull request is neither Markdown nor a command of any shell, and what it plans is without credentials.
// GHSA-rjh2-4xgw-p2hj: the name of a branch was run by sh -c.
func TestHostilePullRequest(t *testing.T) {
	f := newFixture(t, nil)
	const branch = "x;touch${IFS}/tmp/owned;$(id)"
	title := "</details>\n@alice [click](http://evil.example) ``` $(touch /tmp/owned) " + strings.Repeat("x", 200)
	head := f.push(branch, map[string]string{
		"net/main.tf": "resource \"terraform_data\" \"net\" {\n  input = \"```\\n</details> @alice " +
			"closes #1\"\n}\n",
		"net/variables.tf": "variable \"" + strings.Repeat("v", 300) + "\" {\n  default = 1\n}\n",
	})
	number := f.open("alice", branch, title)
	f.await(number, head, "success", "1 Stack planned")
	text := f.comments(number)[0]
	if strings.Contains(text, "click](") || strings.Contains(text, title[:20]) {
		t.Errorf("the title is in the comment: %s", text)
	}
	if _, err := os.Stat("/tmp/owned"); err == nil {
		t.Error("a shell ran text of the pull request")
	}
	for _, run := range f.runs() {
		if run.Spec.Operation != v1alpha1.OperationPlan || run.Status.Phase != v1alpha1.PhaseSucceeded {
			t.Errorf("Run %s: %s %s", run.Name, run.Spec.Operation, run.Status.Phase)
		}
	}
}
