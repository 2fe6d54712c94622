package approval

import (
	"fmt"
	"slices"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/shorten"
)

// Carried are the facts about an approval that a user gave in a pull request, and about the Run that waits for one
// after the merge.
type Carried struct {
	Approval v1alpha1.PullRequestApproval
	// Head is the head commit that was merged, and Plan that of the Stack in the pull request.
	Head string
	Plan *v1alpha1.Plan
	// Run is the Run that waits, and PreventSelfApproval the rule of its Stack now.
	Run                 *v1alpha1.Run
	PreventSelfApproval bool
	// Merged reports that the revision of the Run has the merge commit. SameInputs reports that both plans are of the
	// same code, values and engine.
	Merged, SameInputs bool
	// Differs are the names of the parts in which the plan differs from the approved one, such as addresses of
	// resources, without secrets. Empty if they are not known.
	Differs []string
	// Allowed reports that the user has the verb approve on the Run now.
	Allowed bool
	// UnreadReviews is why the reviews of the pull request cannot be read; empty if they can.
	UnreadReviews string
	MaxAge        time.Duration
	Now           time.Time
}

// Refusal returns why the approval does not count for the plan of the Run; empty if it does.
func (c Carried) Refusal() string {
	a, run := c.Approval, c.Run
	if a.Void != "" {
		return a.Void
	}
	plan := run.Status.Plan
	switch {
	case run.Spec.Operation != v1alpha1.OperationApply || run.Status.Phase != v1alpha1.PhaseAwaitingApproval ||
		plan == nil:
		return "the Run waits for no approval of an apply"
	case !c.Merged || !isOfCommits(run):
		return "the Run has other causes than commits, or does not have the merge"
	case a.From == v1alpha1.ApprovalReviews && c.UnreadReviews != "":
		return "Cairn cannot read the reviews: " + c.UnreadReviews
	case a.Head != c.Head:
		return "it is for another head commit than the merged one"
	case c.Now.Sub(a.At.Time) > c.MaxAge:
		return fmt.Sprintf("it is older than spec.pullRequests.carryApproval.maxAge (%s)", c.MaxAge)
	case c.Plan == nil || !isComparable(c.Plan) || !isComparable(plan):
		return "Cairn cannot compare the plan with the approved one"
	case a.Fingerprint != c.Plan.Fingerprint || a.Fingerprint != plan.Fingerprint:
		return "the plan does something else" + c.parts()
	case engineOf(plan) != engineOf(c.Plan):
		return "the plan is of another version of the engine"
	case !c.SameInputs:
		return "the code, the values or the engine of the Run differ from what was planned in the pull request"
	case !samePolicies(plan.Policy, c.Plan.Policy):
		return "the policies have another result"
	case c.prevents() && a.Author, By(run, c.PreventSelfApproval, a.By) == SelfApproval:
		return a.By + " caused the Run or has a commit in the pull request (spec.preventSelfApproval)"
	case By(run, c.PreventSelfApproval, a.By) != Valid:
		return "not all users who caused the Run are known (spec.preventSelfApproval)"
	case !c.Allowed:
		return a.By + " does not have the verb approve on the Run"
	}
	return ""
}

// parts names what the plan does differently: ": it differs in aws_vpc.main and 2 more". Empty if that is not known.
func (c Carried) parts() string {
	const most = 5
	if len(c.Differs) == 0 {
		return ""
	}
	return ": it differs in " + shorten.List(c.Differs, most)
}

func (c Carried) prevents() bool { return c.Run.Spec.PreventSelfApproval || c.PreventSelfApproval }

// isComparable reports whether the fingerprint of a plan has all that its apply does, as Cairn read it itself.
func isComparable(p *v1alpha1.Plan) bool {
	return p.Fingerprint != "" && p.Unverified == "" && p.Partial == "" && !p.Script && len(p.Untracked) == 0 &&
		!p.TakesOverState
}

// isOfCommits reports whether a Run applies commits, and no change of the Stack, its values or its Repository.
func isOfCommits(run *v1alpha1.Run) bool {
	isOther := func(c v1alpha1.Contributor) bool {
		return c.Kind != v1alpha1.ContributorAuthor && c.Kind != v1alpha1.ContributorCommitter
	}
	return run.Spec.Cause.Type == v1alpha1.CauseCommit && !slices.ContainsFunc(run.Spec.CausedBy, isOther)
}

// engineOf returns the exact versions of the engine of a plan and of the one that Terragrunt ran.
func engineOf(p *v1alpha1.Plan) (versions [2]string) {
	versions[0] = p.EngineVersion
	if p.Wrapped != nil {
		versions[1] = fmt.Sprint(*p.Wrapped)
	}
	return versions
}

// samePolicies compares the results of policies for the plan of a Run with those in a pull request, whose status has
// the first findings only.
func samePolicies(ofRun, ofPull *v1alpha1.PolicyResult) bool {
	if ofRun == nil || ofPull == nil {
		return ofRun == ofPull
	}
	counts := func(p *v1alpha1.PolicyResult) [4]int32 {
		return [4]int32{p.Checked, p.Denied, p.Warned, p.ApprovalRequired}
	}
	n := min(len(ofRun.Findings), len(ofPull.Findings))
	return counts(ofRun) == counts(ofPull) && slices.EqualFunc(ofRun.Findings[:n], ofPull.Findings[:n],
		func(a, b v1alpha1.PolicyFinding) bool { return a.Policy == b.Policy && a.Action == b.Action })
}

// Given returns the approval that a Run has: of a user, else one that was given in a pull request. Nil if there is
// none.
func Given(run *v1alpha1.Run) *v1alpha1.Approval {
	own, carried, plan := run.Spec.Approval, run.Status.CarriedApproval, run.Status.Plan
	if carried == nil || own != nil && (plan == nil || own.PlanDigest == plan.Digest) {
		return own
	}
	return &v1alpha1.Approval{PlanDigest: carried.PlanDigest, By: carried.By}
}
