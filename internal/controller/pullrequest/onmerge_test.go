package pullrequest

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/pullrequest/comment"
)

var update = flag.Bool("update", false, "write the golden files")

// A stackCase is an affected Stack and the result of its plan.
type stackCase struct {
	name  string
	stack func(*v1alpha1.Stack)
	plan  v1alpha1.Plan
	// directory that the pull request deletes; problem is why there is no plan.
	directory, problem string
	phase              v1alpha1.RunPhase
	// set is what the merge changes in the StackSet of the Stack.
	set  *v1alpha1.PullRequestStackSet
	want v1alpha1.StackMergeAction
	// message is a part of the message, and rules are joined with commas.
	message, rules string
}

func automatic(s *v1alpha1.Stack) { s.Spec.Apply = v1alpha1.ApplyAutomatic }

// ofSet lets a Stack be of the StackSet envs.
func ofSet(s *v1alpha1.Stack) { s.Labels = map[string]string{v1alpha1.StackSetLabel: "envs"} }

func setEffect(effect v1alpha1.StackSetEffect, prune v1alpha1.StackSetPrune,
	fields ...string) *v1alpha1.PullRequestStackSet {
	return &v1alpha1.PullRequestStackSet{
		Namespace: "web", Name: "envs", Prune: prune, Go: 1,
		Stacks: []v1alpha1.PullRequestStackSetStack{{Effect: effect, Fields: fields}},
	}
}

var stackCases = []stackCase{
	{name: "at-once", stack: automatic, plan: v1alpha1.Plan{Changes: true, Add: 1}, want: v1alpha1.StackMergeApply},
	{name: "manual", stack: func(s *v1alpha1.Stack) { s.Spec.Apply = v1alpha1.ApplyManual },
		plan: v1alpha1.Plan{Changes: true, Change: 2},
		want: v1alpha1.StackMergeAwaitApproval, message: "spec.apply of the Stack is Manual", rules: "Apply"},
	{name: "listed", stack: func(s *v1alpha1.Stack) {
		automatic(s)
		s.Spec.RequireApprovalFor = []v1alpha1.ChangeKind{v1alpha1.ChangeDelete, v1alpha1.ChangeReplace}
	}, plan: v1alpha1.Plan{Changes: true, Add: 1, Destroy: 1}, want: v1alpha1.StackMergeAwaitApproval,
		message: "spec.requireApprovalFor of the Stack lists Delete", rules: "Changes"},
	{name: "policy", stack: automatic, plan: v1alpha1.Plan{Changes: true, Add: 1, Policy: &v1alpha1.PolicyResult{
		Checked: 1, ApprovalRequired: 1, Findings: []v1alpha1.PolicyFinding{{
			Policy: "rules/cost.rego", Action: v1alpha1.PolicyRequireApproval, Message: "more than 100 EUR",
		}},
	}}, want: v1alpha1.StackMergeAwaitApproval, message: "policy rules/cost.rego requires an approval: more " +
		"than 100 EUR", rules: "Policy"},
	{name: "other-user", stack: func(s *v1alpha1.Stack) { automatic(s); s.Spec.PreventSelfApproval = true },
		plan: v1alpha1.Plan{Changes: true, Add: 1}, want: v1alpha1.StackMergeAwaitApproval,
		message: "a user who did not cause it", rules: "SelfApproval"},
	{name: "windows", stack: func(s *v1alpha1.Stack) {
		automatic(s)
		s.Spec.Windows = []v1alpha1.Window{{Kind: v1alpha1.WindowAllow, Schedule: "0 8 * * 1-5"}}
	}, plan: v1alpha1.Plan{Changes: true, Add: 1}, want: v1alpha1.StackMergeApply, message: "within the windows"},
	{name: "window-of-policy", stack: func(s *v1alpha1.Stack) {
		automatic(s)
		s.Status.StackPolicies = []v1alpha1.AppliedStackPolicy{{Name: "freeze", Windows: 1}}
	}, plan: v1alpha1.Plan{Changes: true, Add: 1}, want: v1alpha1.StackMergeApply, message: "within the windows"},
	{name: "window-of-destroys", stack: func(s *v1alpha1.Stack) {
		automatic(s)
		s.Spec.Windows = []v1alpha1.Window{{Operations: []v1alpha1.Operation{v1alpha1.OperationDestroy}}}
	}, plan: v1alpha1.Plan{Changes: true, Add: 1}, want: v1alpha1.StackMergeApply},
	{name: "same", stack: func(s *v1alpha1.Stack) { s.Spec.Apply = v1alpha1.ApplyNever },
		want: v1alpha1.StackMergeNothing},
	{name: "never", stack: func(s *v1alpha1.Stack) { s.Spec.Apply = v1alpha1.ApplyNever },
		plan: v1alpha1.Plan{Changes: true, Add: 1},
		want: v1alpha1.StackMergeStop, message: "spec.apply of the Stack is Never"},
	{name: "denied", stack: automatic, phase: v1alpha1.PhaseFailed, plan: v1alpha1.Plan{
		Changes: true, Destroy: 1, Policy: &v1alpha1.PolicyResult{Checked: 1, Denied: 1},
	}, want: v1alpha1.StackMergeStop, message: "policies deny the plan"},
	{name: "failed", stack: automatic, phase: v1alpha1.PhaseFailed, plan: v1alpha1.Plan{Changes: true}},
	{name: "planning", stack: automatic, phase: v1alpha1.PhasePlanning},
	{name: "suspended", stack: func(s *v1alpha1.Stack) { s.Spec.Suspend = true },
		problem: "spec.suspend of the Stack is true",
		want:    v1alpha1.StackMergeStop, message: "no Run starts"},

	{name: "deleted", stack: automatic, directory: "stacks/deleted", plan: v1alpha1.Plan{Changes: true, Destroy: 2},
		want: v1alpha1.StackMergeStop, message: "nothing is destroyed: its directory stacks/deleted is gone " +
			"(PathNotFound)"},
	{name: "deleted-protected", stack: func(s *v1alpha1.Stack) {
		s.Spec.DeletionPolicy = v1alpha1.DeletionProtect
	}, directory: "stacks/a",
		plan: v1alpha1.Plan{Changes: true, Destroy: 2}, want: v1alpha1.StackMergeStop,
		message: "The Stack cannot be deleted"},
	{name: "deleted-orphan", stack: func(s *v1alpha1.Stack) {
		s.Spec.DeletionPolicy = v1alpha1.DeletionOrphan
	}, directory: "stacks/a",
		plan: v1alpha1.Plan{Changes: true, Destroy: 2}, want: v1alpha1.StackMergeStop,
		message: "Deleting the Stack destroys nothing"},
	{name: "never-applied", stack: automatic, directory: "stacks/b", problem: "the Stack was never applied",
		want: v1alpha1.StackMergeStop, message: "PathNotFound"},
	{name: "kept-by-its-set", stack: ofSet, directory: "envs/a", plan: v1alpha1.Plan{Changes: true, Destroy: 2},
		set: setEffect(v1alpha1.EffectGo, v1alpha1.PruneKeep), want: v1alpha1.StackMergeStop,
		message: "StackSet web/envs suspends it, and its resources and its State stay"},
	{name: "pruned-by-its-set", stack: ofSet, directory: "envs/b", plan: v1alpha1.Plan{Changes: true, Destroy: 2},
		set: setEffect(v1alpha1.EffectGo, v1alpha1.PruneDelete), want: v1alpha1.StackMergeStop,
		message: "deletes it once a user confirms the list with cairn confirm-deletions envs"},
	{name: "moved-by-its-set", stack: ofSet, directory: "envs/c", plan: v1alpha1.Plan{Changes: true, Destroy: 2},
		set:  setEffect(v1alpha1.EffectChange, v1alpha1.PruneKeep, "spec.source.git.path"),
		want: v1alpha1.StackMergeMove, message: "changes spec.source.git.path of the Stack"},
	{name: "set-with-an-error", stack: ofSet, directory: "envs/d", plan: v1alpha1.Plan{Changes: true, Destroy: 2},
		set:  &v1alpha1.PullRequestStackSet{Namespace: "web", Name: "envs", Reason: v1alpha1.ReasonRenderingFailed},
		want: v1alpha1.StackMergeStop, message: "PathNotFound"},
	{name: "of-a-long-list", stack: ofSet, directory: "envs/e", plan: v1alpha1.Plan{Changes: true, Destroy: 2},
		set:  &v1alpha1.PullRequestStackSet{Namespace: "web", Name: "envs", Go: 30},
		want: v1alpha1.StackMergeStop, message: "the list of StackSet web/envs changes"},
	{name: "of-a-stage", stack: func(s *v1alpha1.Stack) {
		s.Spec.Apply = v1alpha1.ApplyManual
		s.Status.Release = &v1alpha1.StackRelease{Pipeline: "shop", Stage: "production"}
	}, plan: v1alpha1.Plan{Changes: true, Change: 2}, want: v1alpha1.StackMergeWait, rules: "Apply",
		message: "it is applied when stage production of Pipeline shop gets the merge; spec.apply of the " +
			"Stack is Manual"},
}

// decided decides about a pull request with some Stacks whose plans ended, as the reconciler does.
func decided(t *testing.T, cases ...stackCase) (Snapshot, v1alpha1.PullRequestStatus) {
	t.Helper()
	w := pull(func(w *Snapshot) { w.Merge.Affected = nil })
	w.Repository, w.WebURL = repositoryOf(), "https://cairn.example.com"
	w.Settings = w.Repository.Spec.PullRequests
	for _, tt := range cases {
		stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: tt.name}}
		tt.stack(stack)
		a := Affected{Key: Key{"web", tt.name}, InputsDigest: "sha256:" + tt.name, DeletedDirectory: tt.directory,
			Rules: rulesOf(stack)}
		if tt.problem != "" {
			a.InputsDigest, a.Problem, a.Empty = "", tt.problem, tt.directory != ""
		}
		w.Merge.Affected = append(w.Merge.Affected, a)
		if tt.set != nil {
			tt.set.Stacks = append([]v1alpha1.PullRequestStackSetStack(nil), tt.set.Stacks...)
			for i := range tt.set.Stacks {
				tt.set.Stacks[i].Name = tt.name
			}
			w.Merge.StackSets = append(w.Merge.StackSets, *tt.set)
		}
	}
	w.PullRequest.Status = Decide(w).Status
	w.Runs = map[Key]*v1alpha1.Run{}
	for i, tt := range cases {
		run := &v1alpha1.Run{Status: v1alpha1.RunStatus{Phase: v1alpha1.PhaseSucceeded, Plan: tt.plan.DeepCopy()}}
		if tt.phase != "" {
			run.Status.Phase = tt.phase
		}
		if name := w.PullRequest.Status.Stacks[i].Run; name != "" {
			w.Runs[Key{"web", name}] = run
		}
	}
	w.PullRequest.Status = Decide(w).Status
	return w, w.PullRequest.Status
}

// The status has what each Stack does when the pull request is merged, by its rules and its plan.
func TestWhatAMergeWillDo(t *testing.T) {
	for _, tt := range stackCases {
		t.Run(tt.name, func(t *testing.T) {
			_, s := decided(t, tt)
			got := s.Stacks[0].OnMerge
			if got == nil {
				got = &v1alpha1.StackOnMerge{}
			}
			var rules []string
			for _, r := range got.Rules {
				rules = append(rules, string(r))
			}
			if got.Action != tt.want || !strings.Contains(got.Message, tt.message) ||
				tt.message == "" && got.Message != "" ||
				strings.Join(rules, ",") != tt.rules {
				t.Errorf("%+v", got)
			}
		})
	}
}

// A merge that deletes the directory of a Stack destroys nothing. No summary may read as if it did, nor as if nothing
// followed.
func TestADeletedDirectoryIsNoDestruction(t *testing.T) {
	deleted := stackCases[14]
	w, s := decided(t, deleted)
	report := w.reportOf(&s)
	statuses := comment.Statuses(report, "cairn", 20, nil)
	if got, want := statuses[0].Description, "1 Stack stops, since its directory is deleted: the merge "+
		"destroys nothing."; got != want {
		t.Errorf("%q", got)
	}
	if got := statuses[1].Description; !strings.HasPrefix(got, "stops after the merge, destroys nothing; ") {
		t.Errorf("%q", got)
	}
	if got := s.Conditions[0].Message; !strings.Contains(got, "the merge destroys nothing") {
		t.Errorf("%q", got)
	}
	w, s = decided(t, deleted, stackCases[0])
	if got := comment.Statuses(w.reportOf(&s), "cairn", 20, nil)[0].Description; !strings.HasPrefix(got,
		"1 Stack planned: 1 to add. 1 Stack stops") {
		t.Errorf("%q", got)
	}
}

// The status of a pull request that only deletes the directory of a Stack which was never applied is a success: there
// is nothing to plan, and nothing to destroy.
func TestADeletedDirectoryOfAStackThatWasNeverApplied(t *testing.T) {
	i := slices.IndexFunc(stackCases, func(c stackCase) bool { return c.name == "never-applied" })
	w, s := decided(t, stackCases[i])
	const want = "1 Stack stops, since its directory is deleted: the merge destroys nothing"
	if c := s.Conditions[0]; c.Status != metav1.ConditionTrue || c.Message != want {
		t.Errorf("%s: %s: %q", c.Status, c.Reason, c.Message)
	}
	for _, status := range comment.Statuses(w.reportOf(&s), "cairn", 20, nil) {
		if status.State != comment.Success {
			t.Errorf("%+v", status)
		}
	}
}

// Once the pull request has ended, the comment has what the Stacks did, and not what they would do.
func TestWhatAMergeWillDoIsNotReportedAfterIt(t *testing.T) {
	w, _ := decided(t, stackCases[0])
	w.PullRequest.Spec.State, w.Merge = v1alpha1.PullRequestClosed, nil
	s := Decide(w).Status
	if s.Stacks[0].OnMerge == nil || w.reportOf(&s).Stacks[0].OnMerge != nil {
		t.Errorf("%+v", s.Stacks[0].OnMerge)
	}
}

// A plan includes changes of the base that wait for an approval. They are not those of the pull request.
func TestUnappliedChangesOfTheBaseAreNamed(t *testing.T) {
	for name, tt := range map[string]struct {
		status v1alpha1.StackStatus
		want   string
	}{
		"all is applied": {v1alpha1.StackStatus{InputsDigest: "a", AppliedInputsDigest: "a", LastRun: "net-2"},
			""},
		"a Run waits": {v1alpha1.StackStatus{InputsDigest: "b", AppliedInputsDigest: "a",
			CurrentRun: "net-3", LastRun: "net-2"}, "net-3"},
		"the last Run failed": {v1alpha1.StackStatus{InputsDigest: "b", AppliedInputsDigest: "a", LastRun: "net-2"},
			"net-2"},
		"the first Run waits":    {v1alpha1.StackStatus{InputsDigest: "a", CurrentRun: "net-1"}, "net-1"},
		"nothing is known of it": {v1alpha1.StackStatus{}, ""},
	} {
		if got := unappliedRun(&v1alpha1.Stack{Status: tt.status}); got != tt.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	w := pull()
	w.Repository, w.Settings = repositoryOf(), repositoryOf().Spec.PullRequests
	first := next(&w).Stacks
	h := newHistory(2)
	h.quiet = true
	for _, s := range first { // of which the first one has changes
		run := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: s.Run}}
		run.Status.Phase, run.Status.Plan = v1alpha1.PhaseSucceeded, &v1alpha1.Plan{Changes: s.Name == "app", Add: 1}
		stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: s.Name}}
		stack.Status = v1alpha1.StackStatus{InputsDigest: "b", AppliedInputsDigest: "a", CurrentRun: s.Name + "-3"}
		h.api.put(run)
		h.api.put(stack)
	}
	r := &Reconciler{Client: &kube{history: h}, Live: &kube{history: h}}
	if err := r.gatherRuns(t.Context(), &w); err != nil {
		t.Fatal(err)
	}
	s := next(&w)
	if s.Stacks[0].UnappliedRun != "app-3" || s.Stacks[1].UnappliedRun != "" {
		t.Errorf("%+v", s.Stacks)
	}
	text := comment.Render(w.reportOf(&s), comment.Format{Limit: 65_536})
	if !strings.Contains(text, "| 1 to add (includes changes of the base that are not applied) |") ||
		!strings.Contains(text, "Run app-3 has them") {
		t.Error(text)
	}
}

// The comments of pull requests whose statuses are those of decisions.
func TestCommentsOfDecisions(t *testing.T) {
	unplanned := &v1alpha1.PullRequestUnplanned{
		Directories: []string{"envs/new"}, Manifests: []string{"stacks/net.yaml", "stacks/app.yaml"}, MoreManifests: 3,
	}
	ofStacks := slices.DeleteFunc(slices.Clone(stackCases), func(c stackCase) bool { return c.set != nil })
	ofStacks = append(ofStacks, stackCase{name: "same-too", stack: automatic})
	for name, cases := range map[string][]stackCase{"when-merged": ofStacks, "deleted": {stackCases[14]},
		"unplanned": nil} {
		w, s := decided(t, cases...)
		if name == "unplanned" {
			w.Merge.Unplanned = unplanned
			s = Decide(w).Status
		}
		report := w.reportOf(&s)
		for i, of := range s.Stacks {
			if of.Plan != nil && of.Plan.Changes {
				report.Stacks[i].Text = "  ~ terraform_data.a will be changed\n"
				if of.Plan.Destroy > 0 {
					report.Stacks[i].Text = "  - terraform_data.a will be destroyed\n"
				}
			}
		}
		got := comment.Render(report, comment.Format{Limit: 65_536})
		file := filepath.Join("testdata", name+".golden.md")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-update writes it):\n%s", name, diff)
		}
	}
}
