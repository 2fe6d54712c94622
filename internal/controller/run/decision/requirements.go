package decision

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// requirementsFor is how long the requirements of a pull request count as met: a review may be dismissed after it.
const requirementsFor = time.Minute

// requirementsFirst returns a decision that begins an apply only if the pull request has what is required of it. All
// rules pass here, so that no way to apply leaves it out. The PullRequest evaluates the requirements once the Run waits
// for nothing else, and again when what it wrote is old.
func requirementsFirst(w Snapshot, d Decision) Decision {
	if d.Begin != v1alpha1.AttemptApply {
		return d
	}
	lacks := lackedRequirements(w)
	if lacks == "" {
		return d
	}
	return Decision{
		Phase: v1alpha1.PhaseAwaitingApproval, Reason: v1alpha1.ReasonAwaitingRequirements,
		Message: runinfo.Summary(w.Run.Status.Plan) + "; " + lacks,
	}
}

// lackedRequirements returns what keeps the apply of a pull request back; empty for nothing. What is not known is
// lacked.
func lackedRequirements(w Snapshot) string {
	required, found, plan := w.Run.Spec.Requirements, w.Run.Status.Requirements, w.Run.Status.Plan
	if required == nil {
		return ""
	}
	name := fmt.Sprintf("pull request %d", required.PullRequest.Number)
	unread := "waits until Cairn has read whether " + name + " has what its Repository requires"
	if found == nil || plan == nil || found.PlanDigest != plan.Digest {
		return unread
	}
	var lacked []string
	for _, kind := range required.Types {
		i := slices.IndexFunc(found.Results, func(r v1alpha1.PullRequestRequirement) bool { return r.Type == kind })
		switch {
		case i < 0:
			lacked = append(lacked, string(kind)+" is unknown")
		case found.Results[i].State != v1alpha1.RequirementMet:
			lacked = append(lacked, found.Results[i].Text())
		}
	}
	switch {
	case len(lacked) > 0:
		return name + " lacks what its Repository requires: " + strings.Join(lacked, "; ")
	case !isLeft(found.At.Add(requirementsFor).Sub(w.Now), requirementsFor):
		return unread
	}
	return ""
}
