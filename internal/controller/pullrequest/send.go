package pullrequest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/base/outbox"
	"cairn.dev/cairn/internal/controller/pullrequest/comment"
	"cairn.dev/cairn/internal/engine/plan"
	"cairn.dev/cairn/internal/source/gitprovider/pulls"
)

// maxPlanJSON is the maximum size of the JSON of a plan whose text is in a comment, in bytes.
const maxPlanJSON = 8 << 20

// Plans reads the plans of Runs.
type Plans interface {
	// JSON returns the masked JSON of a plan, at most limit bytes.
	JSON(ctx context.Context, namespace string, run types.UID, digest string, limit int64) ([]byte, error)
	// Parts returns the fingerprints of the parts of a plan by their names; nil if they are not stored.
	Parts(ctx context.Context, namespace string, run types.UID, digest string) (map[string]string, error)
}

// received is what the Git provider answered.
type received struct {
	// written is when it received the comment with the plans; zero if it did not.
	written time.Time
	// merge is the answer to the request to merge; nil for none.
	merge *mergeAnswer
}

// sender returns how messages of a pull request are sent. It sets what the Git provider answers.
func (r *Reconciler) sender(pull *v1alpha1.PullRequest, provider Provider, got *received) outbox.Sender[content] {
	return func(ctx context.Context, m message, known outbox.Record) (response outbox.Response, err error) {
		switch c := m.Content; {
		case c.merge != nil:
			err = r.sendMerge(ctx, pull, provider, *c.merge, got)
		case c.reaction != nil:
			err = provider.React(ctx, int(pull.Spec.Number), c.reaction.comment, c.reaction.reaction)
		case c.status != nil:
			s := c.status
			err = provider.SetStatus(ctx, c.commit, pulls.Status{
				Context: s.Context, State: stateOf(s.State), Description: s.Description, URL: s.URL,
			})
		default:
			var sent pulls.Written
			sent, err = r.sendComment(ctx, pull, provider, *c.comment, known.Reference)
			if response.Reference = strconv.FormatInt(sent.ID, 10); m.Key == commentKey {
				got.written = sent.At
			}
		}
		if pull.Status.Phase.Ended() && rejects(err) { // nothing that follows changes that
			err = nil
		}
		response.RetryAfter = retryAfter(err)
		return response, err
	}
}

// sendComment writes the comment, in place of the known one.
func (r *Reconciler) sendComment(
	ctx context.Context, pull *v1alpha1.PullRequest, provider Provider, report comment.PullRequest, known string,
) (written pulls.Written, err error) {
	report.Stacks = slices.Clone(report.Stacks)
	for i, s := range pull.Status.Stacks[:len(report.Stacks)] { // the comment with the result has none
		if report.Stacks[i].Text, err = r.planText(ctx, s); err != nil {
			return pulls.Written{}, err
		}
	}
	limits := provider.Limits()
	text := comment.Render(report, comment.Format{Limit: limits.Comment, Plain: !limits.HTML})
	written, err = provider.Upsert(ctx, int(pull.Spec.Number), commentID(known), report.ID.IsMarked, text)
	if err == nil {
		r.commented.add(pull.UID, now(r.Clock))
	}
	return written, err
}

// rejects reports whether the Git provider rejected a request that it would not accept later either: for example the
// commit or the repository is gone, or the repository is archived.
func rejects(err error) bool {
	switch pulls.KindOf(err) {
	case pulls.NotFound, pulls.Forbidden, pulls.NotAllowed, pulls.Invalid:
		return true
	}
	return false
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
