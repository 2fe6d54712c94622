package approval

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// carriedApproval returns facts of which an approval counts: bob approved what the Run of the merge is to apply.
func carriedApproval() Carried {
	noon := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	run := &v1alpha1.Run{}
	run.Name, run.Spec.Operation, run.Spec.Cause.Type = "net-2", v1alpha1.OperationApply, v1alpha1.CauseCommit
	run.Spec.CausedBy = []v1alpha1.Contributor{{Kind: v1alpha1.ContributorAuthor, Name: "Alice <alice@example.com>",
		Users: []string{"alice"}}}
	run.Status.Phase = v1alpha1.PhaseAwaitingApproval
	run.Status.Plan = &v1alpha1.Plan{Digest: "sha256:b", Fingerprint: "f", EngineVersion: "1.12.6",
		Policy: &v1alpha1.PolicyResult{
			Checked: 2, Warned: 1,
			Findings: []v1alpha1.PolicyFinding{{Policy: "tags", Action: "warn", Message: "long"}},
		}}
	plan := run.Status.Plan.DeepCopy()
	plan.Digest = "sha256:a"
	return Carried{
		Approval: v1alpha1.PullRequestApproval{
			By: "gitea:git.example.com:bob", At: metav1.NewTime(noon), Head: "head", PlanDigest: plan.Digest,
			Fingerprint: "f",
		},
		Head: "head", Plan: plan, Run: run, Merged: true, SameInputs: true, Allowed: true, MaxAge: time.Hour,
		Now: noon.Add(time.Minute),
	}
}

func TestApprovalIsCarriedToTheSamePlanOnly(t *testing.T) {
	prevents := func(c *Carried) { c.PreventSelfApproval = true }
	for name, test := range map[string]struct {
		change func(*Carried)
		want   string
	}{
		"the plan of the merge does the same": {func(*Carried) {}, ""},
		"with preventSelfApproval":            {prevents, ""},
		"by an author, without that rule":     {func(c *Carried) { c.Approval.Author = true }, ""},
		"void": {func(c *Carried) {
			c.Approval.Void = "it is rejected"
		}, "it is rejected"},
		"another head": {func(c *Carried) { c.Head = "other" }, "another head commit"},
		"reviews that cannot be read": {func(c *Carried) {
			c.Approval.From, c.UnreadReviews = v1alpha1.ApprovalReviews, "no"
		}, "Cairn cannot read the reviews: no"},
		"older than maxAge": {func(c *Carried) { c.Now = c.Now.Add(time.Hour) },
			"older than spec.pullRequests.carryApproval.maxAge"},
		"the user lost the verb": {func(c *Carried) { c.Allowed = false }, "does not have the verb approve"},
		"another fingerprint":    {func(c *Carried) { c.Run.Status.Plan.Fingerprint = "g" }, "does something else"},
		"another fingerprint, in parts that are known": {func(c *Carried) {
			c.Run.Status.Plan.Fingerprint, c.Differs = "g", []string{"aws_vpc.a", "output vpc"}
		}, "the plan does something else: it differs in aws_vpc.a, output vpc"},
		"another fingerprint, in many parts": {func(c *Carried) {
			c.Run.Status.Plan.Fingerprint, c.Differs = "g", []string{"a", "b", "c", "d", "e", "f", "g"}
		}, "it differs in a, b, c, d, e and 2 more"},
		"a newer plan in the pull request": {func(c *Carried) { c.Plan.Fingerprint = "g" }, "does something else"},
		"no fingerprint": {func(c *Carried) {
			c.Run.Status.Plan.Fingerprint, c.Plan.Fingerprint, c.Approval.Fingerprint = "", "", ""
		}, "cannot compare"},
		"no plan in the pull request": {func(c *Carried) { c.Plan = nil }, "cannot compare"},
		"an unverified plan": {func(c *Carried) {
			c.Run.Status.Plan.Unverified = "encrypted"
		}, "cannot compare"},
		"an unverified plan in the pull request": {func(c *Carried) {
			c.Plan.Unverified = "encrypted"
		}, "cannot compare"},
		"a partial plan":            {func(c *Carried) { c.Run.Status.Plan.Partial = "targets" }, "cannot compare"},
		"a script applies the plan": {func(c *Carried) { c.Run.Status.Plan.Script = true }, "cannot compare"},
		"resources that are not in the state": {func(c *Carried) {
			c.Run.Status.Plan.Untracked = []v1alpha1.UntrackedResource{{Address: "a"}}
		}, "cannot compare"},
		"the state of another Stack": {func(c *Carried) {
			c.Run.Status.Plan.TakesOverState = true
		}, "cannot compare"},
		"another version of the engine": {func(c *Carried) {
			c.Run.Status.Plan.EngineVersion = "1.13.0"
		}, "another version of the engine"},
		"another wrapped engine": {func(c *Carried) {
			c.Run.Status.Plan.Wrapped = &v1alpha1.WrappedEngine{Name: "tofu", Version: "1.12.6"}
		}, "another version of the engine"},
		"other inputs": {func(c *Carried) { c.SameInputs = false },
			"the code, the values or the engine"},
		"more policy findings": {func(c *Carried) { c.Run.Status.Plan.Policy.Warned = 2 }, "the policies"},
		"other policy findings": {func(c *Carried) {
			c.Run.Status.Plan.Policy.Findings[0].Policy = "names"
		}, "the policies"},
		"no policies": {func(c *Carried) { c.Run.Status.Plan.Policy = nil }, "the policies"},
		"the Run does not have the merge": {func(c *Carried) { c.Merged = false },
			"other causes than commits, or does not have the merge"},
		"a change of the Stack": {func(c *Carried) {
			c.Run.Spec.CausedBy = append(c.Run.Spec.CausedBy, v1alpha1.Contributor{Kind: v1alpha1.ContributorSpec,
				Name: "eve"})
		}, "other causes than commits"},
		"a changed Secret": {func(c *Carried) {
			c.Run.Spec.Cause.Type = v1alpha1.CauseVariables
		}, "other causes than commits"},
		"a destroy": {func(c *Carried) {
			c.Run.Spec.Operation = v1alpha1.OperationDestroy
		}, "waits for no approval of an apply"},
		"the Run is applying": {func(c *Carried) {
			c.Run.Status.Phase = v1alpha1.PhaseApplying
		}, "waits for no approval of an apply"},
		"the Run is still queued": {func(c *Carried) { c.Run.Status.Plan = nil },
			"waits for no approval of an apply"},
		"by an author, and the Stack prevents it": {func(c *Carried) {
			prevents(c)
			c.Approval.Author = true
		}, "caused the Run or has a commit"},
		"by an author, and the Run prevents it": {func(c *Carried) {
			c.Run.Spec.PreventSelfApproval, c.Approval.Author = true, true
		}, "caused the Run or has a commit"},
		"by the author of the merged commit": {func(c *Carried) {
			prevents(c)
			c.Run.Spec.CausedBy[0].Users = []string{"bob"}
		}, "caused the Run or has a commit"},
		"not all who caused it are known": {func(c *Carried) {
			prevents(c)
			c.Run.Spec.CausedByUnknown = "a commit is missing"
		}, "not all users"},
		"by the user who removed the rule": {func(c *Carried) {
			c.Run.Spec.SelfApprovalRemovedBy = "gitea:git.example.com:bob"
		}, "caused the Run or has a commit"},
	} {
		c := carriedApproval()
		test.change(&c)
		if got := c.Refusal(); test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestCarriedApprovalCountsForItsPlan(t *testing.T) {
	for name, test := range map[string]struct {
		own, carried string
		prevents     bool
		want         Status
		by           string
	}{
		"carried":                              {"", "sha256:b", false, Valid, "bob"},
		"carried for an earlier plan":          {"", "sha256:a", false, OtherPlan, "bob"},
		"a user approved too":                  {"sha256:b", "sha256:b", false, Valid, "carol"},
		"a user approved an earlier plan":      {"sha256:a", "sha256:b", false, Valid, "bob"},
		"both are for an earlier plan":         {"sha256:a", "sha256:a", false, OtherPlan, "bob"},
		"the user of the pull request may not": {"", "sha256:b", true, SelfApproval, "bob"},
		"there is none":                        {"", "", false, None, ""},
	} {
		run := &v1alpha1.Run{}
		run.Spec.Cause.By, run.Status.Plan = "bob", &v1alpha1.Plan{Digest: "sha256:b"}
		if test.own != "" {
			run.Spec.Approval = &v1alpha1.Approval{PlanDigest: test.own, By: "carol"}
		}
		if test.carried != "" {
			run.Status.CarriedApproval = &v1alpha1.CarriedApproval{PlanDigest: test.carried, By: "bob"}
		}
		got, by := Of(run, test.prevents), ""
		if a := Given(run); a != nil {
			by = a.By
		}
		if got != test.want || by != test.by {
			t.Errorf("%s: %s by %q, want %s by %q", name, got, by, test.want, test.by)
		}
	}
}
