package pullrequest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/bucket"
	"cairn.dev/cairn/internal/gitprovider/pulls"
	"cairn.dev/cairn/internal/inputs"
	"cairn.dev/cairn/internal/plan"
	"cairn.dev/cairn/internal/pullrequest/comment"
)

const (
	// maxStackStatuses is the maximum number of statuses of Stacks of a commit.
	maxStackStatuses = 20
	// maxPlanJSON is the maximum size of the JSON of a plan whose text is in a comment, in bytes.
	maxPlanJSON = 8 << 20
)

// Plans reads the plans of Runs.
type Plans interface {
	// JSON returns the masked JSON of a plan, at most limit bytes.
	JSON(ctx context.Context, namespace string, run types.UID, digest string, limit int64) ([]byte, error)
}

// deliver sends the statuses and the comment that the Git provider does not have yet, the statuses first. It records in the
// status of the PullRequest what was sent, also if it fails in between.
// While plans are in progress, the comment is written at intervals: again is when the next time is, 0 if all was sent.
func (r *Reconciler) deliver(ctx context.Context, pull *v1alpha1.PullRequest, repo *v1alpha1.Repository, provider Provider) (again time.Duration, err error) {
	if pull.Status.Phase == v1alpha1.PullRequestEnded {
		return 0, endStatuses(ctx, pull, provider)
	}
	report := r.reportOf(pull, repo)
	if err := sendStatuses(ctx, pull, repo, provider, report); err != nil {
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

// commentInterval is the shortest time between two versions of a comment while plans are in progress.
const commentInterval = 10 * time.Second

// announce records, before anything is sent, what the Git provider may have received afterwards: if the process ends in between,
// it is sent again, and statuses that may be pending end with the pull request.
func announce(pull *v1alpha1.PullRequest, repo *v1alpha1.Repository, report comment.PullRequest) error {
	delivered := &pull.Status.Delivered
	if pull.Status.Phase == v1alpha1.PullRequestEnded {
		for i := range delivered.Statuses {
			if delivered.Statuses[i].Pending {
				delivered.Statuses[i].Digest = ""
			}
		}
		return nil
	}
	if delivered.Head != pull.Status.Head {
		delivered.Head, delivered.Statuses = pull.Status.Head, nil
	}
	for _, s := range statusesOf(pull, repo, report) {
		next, i := recordOf(s), find(delivered, s.Context)
		switch {
		case i < 0:
			delivered.Statuses = append(delivered.Statuses, v1alpha1.PullRequestCommitStatus{Context: s.Context, Pending: next.Pending})
		case delivered.Statuses[i] != next:
			delivered.Statuses[i].Digest = ""
			delivered.Statuses[i].Pending = delivered.Statuses[i].Pending || next.Pending
		}
	}
	digest, err := digestOf(report)
	if delivered.CommentDigest != digest {
		delivered.CommentDigest = ""
	}
	return err
}

// digestOf returns the digest of what a comment reports.
func digestOf(report comment.PullRequest) (string, error) {
	facts, err := json.Marshal(report)
	return inputs.Digest(facts), err
}

// recordOf returns what status.delivered has of a status that was sent.
func recordOf(s comment.Status) v1alpha1.PullRequestCommitStatus {
	return v1alpha1.PullRequestCommitStatus{
		Context: s.Context, Pending: s.State == comment.Pending, Digest: inputs.Digest(fmt.Appendf(nil, "%s\n%s\n%s", s.State, s.Description, s.URL)),
	}
}

// statusesOf returns the statuses that the head should have.
func statusesOf(pull *v1alpha1.PullRequest, repo *v1alpha1.Repository, report comment.PullRequest) []comment.Status {
	var earlier []string
	for _, s := range pull.Status.Delivered.Statuses {
		earlier = append(earlier, s.Context)
	}
	return comment.Statuses(report, repo.Spec.PullRequests.StatusContext, maxStackStatuses, earlier)
}

// find returns the index of the status with a context; -1 if it has none.
func find(delivered *v1alpha1.PullRequestDelivered, context string) int {
	return slices.IndexFunc(delivered.Statuses, func(known v1alpha1.PullRequestCommitStatus) bool { return known.Context == context })
}

func sendStatuses(
	ctx context.Context, pull *v1alpha1.PullRequest, repo *v1alpha1.Repository, provider Provider, report comment.PullRequest,
) error {
	for _, s := range statusesOf(pull, repo, report) {
		if err := send(ctx, pull, provider, s); err != nil {
			return err
		}
	}
	return nil
}

// send sends a status that was announced, unless the head has it.
func send(ctx context.Context, pull *v1alpha1.PullRequest, provider Provider, s comment.Status) error {
	delivered := &pull.Status.Delivered
	next, i := recordOf(s), find(delivered, s.Context)
	if delivered.Statuses[i] == next {
		return nil
	}
	status := pulls.Status{Context: s.Context, State: stateOf(s.State), Description: s.Description, URL: s.URL}
	if err := provider.SetStatus(ctx, cmp.Or(delivered.Head, pull.Status.Head), status); err != nil {
		return err
	}
	delivered.Statuses[i] = next
	return nil
}

// endStatuses ends the statuses that are pending when the pull request is closed.
func endStatuses(ctx context.Context, pull *v1alpha1.PullRequest, provider Provider) error {
	for _, s := range pull.Status.Delivered.Statuses {
		if !s.Pending {
			continue
		}
		ended := comment.Status{Context: s.Context, State: comment.Failure, Description: "Not planned: the pull request was closed."}
		if err := send(ctx, pull, provider, ended); err != nil {
			return err
		}
	}
	return nil
}

// stateOf returns the state for a Git provider. None of their commit statuses has a neutral state.
func stateOf(s comment.State) pulls.StatusState {
	switch s {
	case comment.Pending:
		return pulls.Pending
	case comment.Failure:
		return pulls.Failure
	}
	return pulls.Success
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
	case v1alpha1.PullRequestFailed:
		report.Message = apimeta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady).Message
	}
	web := strings.TrimSuffix(r.WebURL, "/")
	if web != "" {
		report.URL = web + "/pullrequests/" + pull.Namespace + "/" + pull.Name
	}
	for _, one := range s.Stacks {
		stack := comment.Stack{
			Namespace: one.Namespace, Name: one.Name, Phase: one.Phase, Plan: one.Plan, DeletedDirectory: one.DeletedDirectory,
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
