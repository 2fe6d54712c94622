package pullrequest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/pullrequest/comment"
	"cairn.dev/cairn/internal/engine/plan"
)

const (
	// commentInterval is the shortest time between two versions of a comment while plans are in progress.
	commentInterval = 10 * time.Second
	// maxPlanJSON is the maximum size of the JSON of a plan whose text is in a comment, in bytes.
	maxPlanJSON = 8 << 20
)

// Plans reads the plans of Runs.
type Plans interface {
	// JSON returns the masked JSON of a plan, at most limit bytes.
	JSON(ctx context.Context, namespace string, run types.UID, digest string, limit int64) ([]byte, error)
}

// announce records, before anything is sent, what the Git provider may have received afterwards: if the process ends in between,
// it is sent again, and statuses that may be pending end with the pull request.
func announce(pull *v1alpha1.PullRequest, report comment.PullRequest, due dueStatuses) error {
	announceStatuses(pull, due)
	if pull.Status.Phase == v1alpha1.PullRequestEnded {
		return nil
	}
	digest, err := digestOf(report)
	if pull.Status.Delivered.CommentDigest != digest {
		pull.Status.Delivered.CommentDigest = ""
	}
	return err
}

// deliver sends the statuses that are due and the comment, unless the Git provider has them, the statuses first. It records in the
// status of the PullRequest what was sent, also if it fails in between.
// While plans are in progress, the comment is written at intervals: again is when the next time is, 0 if all was sent.
func (r *Reconciler) deliver(
	ctx context.Context, pull *v1alpha1.PullRequest, report comment.PullRequest, due dueStatuses, provider Provider,
) (again time.Duration, err error) {
	if err := sendStatuses(ctx, pull, provider, due); err != nil || pull.Status.Phase == v1alpha1.PullRequestEnded {
		return 0, err
	}
	if pull.Status.Phase == v1alpha1.PullRequestMerging { // the comment shows the plans before until there are others
		return 0, nil
	}
	if ready := apimeta.FindStatusCondition(pull.Status.Conditions, v1alpha1.ConditionReady); ready.Reason == v1alpha1.ReasonPullRequestPlanning {
		sent, _ := r.sent.get(pull.UID)
		if wait := commentInterval - now(r.Clock).Sub(sent); wait > 0 {
			return wait, nil
		}
	}
	return 0, r.sendComment(ctx, pull, provider, report)
}

// digestOf returns the digest of what a comment reports.
func digestOf(report comment.PullRequest) (string, error) {
	facts, err := json.Marshal(report)
	return inputs.Digest(facts), err
}

// sendComment writes the comment if it would report something else.
func (r *Reconciler) sendComment(ctx context.Context, pull *v1alpha1.PullRequest, provider Provider, report comment.PullRequest) error {
	delivered := &pull.Status.Delivered
	digest, err := digestOf(report)
	if err != nil {
		return err
	}
	if delivered.CommentDigest == digest {
		return nil
	}
	for i, s := range pull.Status.Stacks {
		if report.Stacks[i].Text, err = r.planText(ctx, s); err != nil {
			return err
		}
	}
	limits := provider.Limits()
	text := comment.Render(report, comment.Format{Limit: limits.Comment, Plain: !limits.HTML})
	id, err := provider.Upsert(ctx, int(pull.Spec.Number), delivered.Comment, report.ID.IsMarked, text)
	if err != nil {
		return err
	}
	delivered.Comment, delivered.CommentDigest = id, digest
	r.sent.add(pull.UID, now(r.Clock))
	return nil
}

// phases are those of a comment; of others there is none.
var phases = map[v1alpha1.PullRequestPhase]comment.Phase{
	v1alpha1.PullRequestMerging: comment.Merging, v1alpha1.PullRequestConflict: comment.Conflict, v1alpha1.PullRequestFailed: comment.Failed,
	v1alpha1.PullRequestDraft: comment.Draft, v1alpha1.PullRequestAwaitingCommand: comment.AwaitingCommand,
	v1alpha1.PullRequestPlanned: comment.Planned,
}

// reportOf returns what the comment and the statuses report, without the texts of plans.
func (r *Reconciler) reportOf(pull *v1alpha1.PullRequest, repo *v1alpha1.Repository) comment.PullRequest {
	s := pull.Status
	report := comment.PullRequest{
		ID:   comment.ID{Installation: "cairn", Repository: string(repo.UID), Number: pull.Spec.Number},
		Head: s.Head, Base: pull.Spec.Base, Phase: phases[s.Phase], Answer: s.Commands.Answer, Skipped: s.Skipped,
		MaxStacks: int(*repo.Spec.PullRequests.MaxStacks),
	}
	switch s.Phase {
	case v1alpha1.PullRequestConflict:
		report.Message = strings.Join(s.Merge.Conflicts, "\n")
	case v1alpha1.PullRequestFailed, v1alpha1.PullRequestAwaitingCommand:
		report.Message = apimeta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady).Message
	}
	web := strings.TrimSuffix(r.WebURL, "/")
	if web != "" {
		report.URL = web + "/pullrequests/" + pull.Namespace + "/" + pull.Name
	}
	for _, one := range s.Stacks {
		stack := comment.Stack{
			Namespace: one.Namespace, Name: one.Name, Phase: one.Phase, Plan: one.Plan, Backend: one.Backend,
			DeletedDirectory: one.DeletedDirectory,
		}
		if one.Run != "" && web != "" {
			stack.URL = web + "/runs/" + one.Namespace + "/" + one.Run
		}
		if one.Phase != v1alpha1.PhaseSucceeded {
			stack.Failure = one.Message
		}
		report.Stacks = append(report.Stacks, stack)
	}
	return report
}

// planText returns the masked text of a plan; empty if its JSON is not stored, or is too large to be read here.
func (r *Reconciler) planText(ctx context.Context, s v1alpha1.PullRequestStack) (string, error) {
	if s.Plan == nil || !s.Plan.Changes || !s.Phase.Finished() {
		return "", nil
	}
	data, err := r.Plans.JSON(ctx, s.Namespace, s.RunUID, s.Plan.Digest, maxPlanJSON)
	if errors.Is(err, bucket.ErrNotFound) || errors.Is(err, bucket.ErrTooLarge) || errors.Is(err, bucket.ErrWrongKey) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	view, err := plan.ParseWithin(data, maxPlanJSON)
	if err != nil {
		return "", nil //nolint:nilerr // the table has the numbers of changes
	}
	var text bytes.Buffer
	err = plan.Text(&text, view)
	return text.String(), err
}
