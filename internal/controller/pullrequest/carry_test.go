package pullrequest

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/pullrequest/comment"
	"cairn.dev/cairn/internal/source/gitprovider/pulls"
)

// planFor returns a plan that does what the text is.
func planFor(effect string) *v1alpha1.Plan {
	return &v1alpha1.Plan{Digest: "sha256:" + effect, Fingerprint: effect, Changes: true, Add: 1}
}

// approvable is a pull request with the plans of app and net, which a comment can approve.
func approvable() Snapshot {
	w := pull(func(w *Snapshot) { w.Settings = repositoryOf().Spec.PullRequests })
	w.Repository = repositoryOf()
	w.Settings.CarryApproval = &v1alpha1.CarryApproval{}
	w.PullRequest.Spec.Author = "gitlab:git.example.com:carol"
	next(&w)
	w.planned("app", planFor("create app"))
	w.planned("net", planFor("create net"))
	return w
}

// planned lets the Run of a Stack succeed with a plan.
func (w *Snapshot) planned(name string, plan *v1alpha1.Plan) {
	s := w.PullRequest.Status.Stacks[w.stack(Key{"web", name})]
	run := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: s.Run}}
	run.Status.Phase, run.Status.Plan = v1alpha1.PhaseSucceeded, plan
	w.Runs = map[Key]*v1alpha1.Run{{"web", s.Run}: run}
	next(w)
}

// comments lets a user comment, and returns the answer.
func (w *Snapshot) comments(t *testing.T, user, body string) string {
	t.Helper()
	w.PullRequest.Spec.UpdatedAt.Time = w.PullRequest.Spec.UpdatedAt.Add(time.Minute)
	scheme := schemeOf(t)
	app := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "app"}}
	app.Spec.PreventSelfApproval = true
	net := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "net"}}
	r := &Reconciler{Access: allowed(nil), Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(app,
		net).Build()}
	provider := Provider{Name: "gitlab", Host: "git.example.com",
		Client: commented{head: headOne, comments: []pulls.Comment{
			{ID: w.PullRequest.Status.Commands.LastComment + 1, Author: user, Body: body, Created: w.Now},
		}}}
	w.PullRequest.Status.Commands.Answer = ""
	if _, _, err := r.commands(t.Context(), w, provider); err != nil {
		t.Fatal(err)
	}
	return w.PullRequest.Status.Commands.Answer
}

func (w *Snapshot) approval(name string) *v1alpha1.PullRequestApproval {
	return w.PullRequest.Status.Stacks[w.stack(Key{"web", name})].Approval
}

func TestACommentApprovesThePlansThatItNames(t *testing.T) {
	w := approvable()
	shown := plansDigest(w.PullRequest.Status)
	for body, want := range map[string]string{
		"/cairn approve":                         "it names no plans",
		"/cairn approve " + headOne:              "it names no plans, or other plans",
		"/cairn approve " + shown[:39] + "0 net": "it names no plans, or other plans",
		"/cairn reject " + shown + " net":        "its plan is not approved",
		"/cairn approve " + shown + " db":        "does not affect this Stack",
		"/cairn approve " + shown + " web/app":   "spec.preventSelfApproval requires the approval",
		"/cairn apply " + headOne:                "Cairn applies after the merge",
		"/cairn approve " + shown + " net":       "approve of head 111111111111 is accepted",
	} {
		w := approvable()
		answer := w.comments(t, "alice", body)
		if !strings.Contains(answer, want) {
			t.Errorf("%s: %q, want %q", body, answer, want)
		}
		a := w.approval("net")
		if accepted := strings.Contains(want, "accepted"); (a != nil) != accepted || w.approval("app") != nil {
			t.Errorf("%s: %+v, %+v", body, a, w.approval("app"))
		}
	}
	if answer := w.comments(t, "bob", "/cairn approve "+shown+" net"); !strings.Contains(answer,
		"bob does not have the verb approve") || w.approval("net") != nil {
		t.Errorf("a user without the verb: %q", answer)
	}
	w.comments(t, "alice", "/cairn approve "+shown+" net")
	want := v1alpha1.PullRequestApproval{
		By: "gitlab:git.example.com:alice", At: metav1.Time{Time: noon}, Head: headOne, PlanDigest: "sha256:create net",
		Fingerprint: "create net",
		Author:      true, // GitLab does not report who has a commit
	}
	if a := w.approval("net"); a == nil || *a != want {
		t.Errorf("%+v, want %+v", a, want)
	}
	text := comment.Render(w.reportOf(&w.PullRequest.Status), comment.Format{Limit: 60_000})
	for _, part := range []string{"/cairn approve " + shown,
		"| Succeeded, `approved by gitlab:git.example.com:alice` |"} {
		if !strings.Contains(text, part) {
			t.Errorf("the comment lacks %q:\n%s", part, text)
		}
	}
	w.comments(t, "alice", "/cairn reject "+shown+" net")
	if a := w.approval("net"); a == nil || a.Void != "it is rejected by gitlab:git.example.com:alice" {
		t.Errorf("rejected: %+v", a)
	}
	w.Settings.CarryApproval = nil
	if answer := w.comments(t, "alice", "/cairn approve "+shown+" net"); !strings.Contains(answer,
		"Cairn applies after the merge") {
		t.Errorf("without carryApproval: %q", answer)
	}
}

// Without a fingerprint, or for a directory that is deleted, there is nothing to compare with the plan of the merge.
func TestOnlyAPlanThatCanBeComparedIsApproved(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.PullRequestStack){
		"no fingerprint":      func(s *v1alpha1.PullRequestStack) { s.Plan.Fingerprint = "" },
		"unverified":          func(s *v1alpha1.PullRequestStack) { s.Plan.Unverified = "encrypted" },
		"a deleted directory": func(s *v1alpha1.PullRequestStack) { s.DeletedDirectory = "stacks/net" },
	} {
		w := approvable()
		change(&w.PullRequest.Status.Stacks[w.stack(Key{"web", "net"})])
		answer := w.comments(t, "alice", "/cairn approve "+plansDigest(w.PullRequest.Status)+" net")
		if !strings.Contains(answer, "cannot compare its plan") || w.approval("net") != nil {
			t.Errorf("%s: %q", name, answer)
		}
	}
}

// A Stack that a StackSet would create and that cannot be planned keeps no approval of another one back, nor does one
// that awaits a command.
func TestAnUnplannedNewStackPreventsNoApproval(t *testing.T) {
	w := approvable()
	w.Merge.Affected = append(w.Merge.Affected,
		Affected{Key: Key{"web", "new"}, New: true, Problem: "the API server rejects the Stack"})
	s := next(&w)
	if report := w.reportOf(&s); report.Plans != plansDigest(s) {
		t.Errorf("%q, %+v", report.Plans, s.Stacks)
	}
	w.Merge.Affected[2].Restricted, w.Restricted = "a fork", "a fork"
	s = next(&w)
	if report := w.reportOf(&s); report.Plans != plansDigest(s) || !s.Stacks[2].AwaitsCommand {
		t.Errorf("%q while one waits for a command", report.Plans)
	}
	before := plansDigest(s)
	w.Merge.Affected[2].Restricted, w.Restricted = "", ""
	w.Merge.Affected[2].InputsDigest = "sha256:new"
	s = next(&w)
	if report := w.reportOf(&s); report.Plans != "" {
		t.Errorf("%q while one is planned", report.Plans)
	}
	w.planned("new", planFor("create new"))
	if report := w.reportOf(&w.PullRequest.Status); report.Plans == before || report.Plans == "" {
		t.Errorf("%q has another plan", report.Plans)
	}
}

// A Stack that waits for a command has no plan, so no comment approves it, also if it had one before a verb was
// revoked. An approval that it had is gone.
func TestAStackThatWaitsForACommandIsNotApproved(t *testing.T) {
	for name, revoked := range map[string]bool{"never planned": false, "planned before the verb was revoked": true} {
		w := approvable()
		w.Merge.Affected[1].Restricted, w.Restricted = "a fork", "a fork"
		if !revoked {
			next(&w)
		}
		answer := w.comments(t, "alice", "/cairn approve "+plansDigest(w.PullRequest.Status)+" net")
		if !strings.Contains(answer, "this Stack has no plan") || w.approval("net") != nil {
			t.Errorf("%s: %q, %+v", name, answer, w.approval("net"))
		}
	}
	w := approvable()
	w.comments(t, "alice", "/cairn approve "+plansDigest(w.PullRequest.Status)+" net")
	if a := w.approval("net"); a == nil || a.Void != "" {
		t.Fatalf("%+v", a)
	}
	w.Merge.Affected[1].Restricted, w.Restricted = "a fork", "a fork"
	if s := next(&w); w.approval("net") != nil || !s.Stacks[w.stack(Key{"web", "net"})].AwaitsCommand {
		t.Errorf("%+v", s.Stacks)
	}
}

// An approval stays as long as the plans of the same head do the same.
func TestAnApprovalIsVoidOnceThePlanDoesSomethingElse(t *testing.T) {
	replanned := func(w *Snapshot, plan *v1alpha1.Plan) {
		w.Merge.Affected[1].InputsDigest = "sha256:of a new base"
		next(w)
		if plan != nil {
			w.planned("net", plan)
		}
	}
	another := func(effect string) *v1alpha1.Plan {
		plan := planFor(effect)
		plan.Digest = "sha256:another"
		return plan
	}
	for name, test := range map[string]struct {
		change func(*Snapshot)
		want   string
	}{
		"nothing":                       {func(w *Snapshot) { next(w) }, ""},
		"a new plan is in progress":     {func(w *Snapshot) { replanned(w, nil) }, ""},
		"a new plan that does the same": {func(w *Snapshot) { replanned(w, another("create net")) }, ""},
		"a new plan that does more": {func(w *Snapshot) { replanned(w, another("create two")) },
			"the plan does something else now"},
		"it did something else once": {func(w *Snapshot) {
			replanned(w, another("create two"))
			w.Merge.Affected[1].InputsDigest = "sha256:of a newer base"
			next(w)
			w.planned("net", another("create net"))
		}, "the plan does something else now"},
		"another head": {func(w *Snapshot) {
			w.PullRequest.Spec.Head.Commit = headTwo
			next(w)
		}, "the pull request has another head commit now"},
	} {
		w := approvable()
		w.comments(t, "alice", "/cairn approve "+plansDigest(w.PullRequest.Status)+" net")
		test.change(&w)
		if a := w.approval("net"); a == nil || a.Void != test.want {
			t.Errorf("%s: %+v, want %q", name, a, test.want)
		}
	}
}

// After the merge, the approval is written to the Run whose plan does the same, and the comment explains what is not.
func TestAnApprovalIsCarriedToTheRunOfTheMerge(t *testing.T) {
	for name, test := range map[string]struct {
		plan   *v1alpha1.Plan
		verb   bool
		change func(*Snapshot)
		want   string
	}{
		"the plan does the same": {planFor("create net"), true, nil, "Approved by gitlab:git.example.com:alice"},
		"the plan does something else": {planFor("create two"), true, nil,
			"The approval by gitlab:git.example.com:alice does not count: the plan does something else: it differs " +
				"in aws_vpc.net, output vpc"},
		"the user lost the verb": {planFor("create net"), false, nil,
			"The approval by gitlab:git.example.com:alice does not count: gitlab:git.example.com:alice does not have " +
				"the verb approve on the Run"},
		"it is older than a day": {planFor("create net"), true, func(w *Snapshot) {
			w.Now = w.Now.Add(25 * time.Hour)
		}, "The approval by gitlab:git.example.com:alice does not count: it is older than " +
			"spec.pullRequests.carryApproval.maxAge (24h0m0s)"},
		"it is not configured any more": {planFor("create net"), true, func(w *Snapshot) {
			w.Settings.CarryApproval = nil
		}, ""},
		"it was pushed to before the merge": {planFor("create net"), true, func(w *Snapshot) {
			w.PullRequest.Spec.Head.Commit = headTwo
		},
			"The approval by gitlab:git.example.com:alice does not count: it is for another head commit than " +
				"the merged one"},
	} {
		w := approvable()
		w.comments(t, "alice", "/cairn approve "+plansDigest(w.PullRequest.Status)+" net")
		w.PullRequest.Spec.State, w.PullRequest.Spec.MergeCommit, w.Merge = v1alpha1.PullRequestMerged, headTwo, nil
		if test.change != nil {
			test.change(&w)
		}
		waits := afterMerge(run(withRevision, v1alpha1.PhaseAwaitingApproval, v1alpha1.ReasonAwaitingApproval))
		waits.Run.Status.Plan, waits.Run.Spec.Cause.Type = test.plan, v1alpha1.CauseCommit
		w.after(afterMerge(past(withRevision, opApply, true)), waits)
		stored := waits.Run.DeepCopy()
		kube := fake.NewClientBuilder().WithScheme(schemeOf(t)).WithObjects(stored).WithStatusSubresource(stored).
			Build()
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(stored), waits.Run); err != nil {
			t.Fatal(err)
		}
		r := &Reconciler{Access: verbs(test.verb), Merger: &gitModel{}, Client: kube, Plans: storedParts{
			w.PullRequest.Status.Stacks[w.stack(Key{"web", "net"})].Plan.Digest: {"aws_vpc.net": "1", "output vpc": "2",
				"aws_subnet.a": "3"},
			planFor("create two").Digest: {"aws_vpc.net": "4", "aws_subnet.a": "3"},
		}}
		if err := r.gatherCarried(t.Context(), &w, Provider{Name: "gitlab", Host: "git.example.com",
			Client: commented{}}); err != nil {
			t.Fatal(err)
		}
		d := Decide(w)
		if got := d.Status.Apply.Stacks[1].Approval; got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		if err := r.carry(t.Context(), d.Carried); err != nil {
			t.Fatal(err)
		}
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(stored), stored); err != nil {
			t.Fatal(err)
		}
		c := stored.Status.CarriedApproval
		if counts := strings.HasPrefix(test.want, "Approved"); (c != nil) != counts {
			t.Errorf("%s: the Run has %+v", name, c)
		}
		if c == nil {
			continue
		}
		if c.By != "gitlab:git.example.com:alice" || c.PlanDigest != test.plan.Digest || c.PullRequest.Number != 12 ||
			c.PullRequest.Name != "infra-12" {
			t.Errorf("%s: %+v", name, c)
		}
		if err := r.carry(t.Context(), d.Carried); err == nil {
			t.Error("an approval is written to a Run that changed since it was read")
		}
		w.After.Stacks[Key{"web", "net"}] = AfterStack{Stack: waits.Stack, Run: stored, Merged: waits.Merged}
		if d := Decide(w); len(d.Carried) != 0 ||
			d.Status.Apply.Stacks[1].Approval != "Approved by gitlab:git.example.com:alice in pull request 12" {
			t.Errorf("%s: it is written again: %+v", name, d.Status.Apply.Stacks[1])
		}
	}
}

// storedParts has the parts of plans by their digests.
type storedParts map[string]map[string]string

func (storedParts) JSON(context.Context, string, types.UID, string, int64) ([]byte, error) {
	return nil, bucket.ErrNotFound
}

func (s storedParts) Parts(_ context.Context, _ string, _ types.UID, digest string) (map[string]string, error) {
	return s[digest], nil
}

func schemeOf(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return scheme
}

// verbs is an Access by which each user has all verbs, or none.
type verbs bool

func (v verbs) Allows(context.Context, string, []string, string, Key) (bool, error) {
	return bool(v), nil
}
func (v verbs) AllowsRun(context.Context, string, []string, string, Key) (bool, error) {
	return bool(v), nil
}

// What pull requests do not get may differ between their plans and those after the merge.
func TestInputsOfThePlansBeforeAndAfterTheMerge(t *testing.T) {
	before := func() inputs.Document {
		return inputs.Document{
			Source: "sha256:code", Engine: v1alpha1.Engine{Name: "tofu", Version: "1.12.6"}, Image: "tools:1",
			Variables: []v1alpha1.Variable{{Name: "size"}},
			Versions:  map[string]string{"Secret/tfvars": "1", "Secret/of-pull-requests": "1"},
		}
	}
	for name, test := range map[string]struct {
		change func(*inputs.Document)
		want   bool
	}{
		"nothing": {func(*inputs.Document) {}, true},
		"what pull requests do not get": {func(d *inputs.Document) {
			d.Env, d.ServiceAccountName, d.Backend = []corev1.EnvVar{{Name: "TOKEN"}}, "apply", &v1alpha1.Backend{
				Type: "s3"}
			d.Versions = map[string]string{"Secret/tfvars": "1", "Secret/of-the-stack": "1"}
		}, true},
		"the code":    {func(d *inputs.Document) { d.Source = "sha256:other" }, false},
		"the path":    {func(d *inputs.Document) { d.Path = "other" }, false},
		"the engine":  {func(d *inputs.Document) { d.Engine.Version = "1.12.7" }, false},
		"the image":   {func(d *inputs.Document) { d.Image = "tools:2" }, false},
		"a variable":  {func(d *inputs.Document) { d.Variables = nil }, false},
		"a Secret":    {func(d *inputs.Document) { d.Versions["Secret/tfvars"] = "2" }, false},
		"a hook":      {func(d *inputs.Document) { d.Hooks = []inputs.Hook{{Script: "a"}} }, false},
		"a policy":    {func(d *inputs.Document) { d.Policies = []inputs.Policy{{Name: "a"}} }, false},
		"the script":  {func(d *inputs.Document) { d.Commands.Apply = "a" }, false},
		"a workspace": {func(d *inputs.Document) { d.Workspace = "a" }, false},
	} {
		after := before()
		test.change(&after)
		if got := sameInputs(before(), after); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
