package pullrequest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/outbox"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/pullrequest/comment"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

const (
	// commentInterval is the shortest time between two versions of a comment while plans are in progress.
	commentInterval = 10 * time.Second
	// maxStackStatuses is the maximum number of statuses of Stacks of a commit.
	maxStackStatuses = 20
)

// content is what a message to the Git provider has: a comment, a status of a commit, a reaction to a comment, or a
// merge by a method.
type content struct {
	merge    *mergeRequest
	comment  *comment.PullRequest
	commit   string
	status   *comment.Status
	reaction *result
}

// message is a message to the Git provider.
// mergeRequest is a request to merge one commit of the head by a method.
type mergeRequest struct {
	head   string
	method v1alpha1.MergeMethod
}

type message = outbox.Message[content]

// Keys of messages. Those of statuses of the head begin with statusPrefix. applyKey is that of the status of the merge
// commit, resultKey of the comment with the result of the apply, and mergeRequestKey of a merge.
const commentKey, statusPrefix, applyKey, resultKey, mergeRequestKey = "comment", "status ", "apply", "result", "merge"

// messages returns what the Git provider should have of a pull request with the next status, the statuses before the
// comment, and a merge last. It records in the status which commit has the statuses.
func (w Snapshot) messages(next *v1alpha1.PullRequestStatus) (all []message) {
	for _, reaction := range w.Reactions { // the comment has the answer too
		all = append(all, message{
			Key: fmt.Sprintf("reaction %d", reaction.comment), Digest: string(reaction.reaction), AtMostOnce: true,
			Content: content{reaction: &reaction},
		})
	}
	ended := next.Phase.Ended()
	if !ended && next.Delivered.Head != next.Head {
		next.Delivered.Head, next.Delivered.Statuses = next.Head, nil
	}
	commit := cmp.Or(next.Delivered.Head, next.Head)
	for _, s := range w.dueStatuses(next, commit) {
		all = append(all, message{
			Key: statusPrefix + s.Context, Digest: digestOfStatus(s), Pending: s.State == comment.Pending,
			Receiver: w.receiver(), Content: content{commit: commit, status: &s},
		})
	}
	if next.Phase == v1alpha1.PullRequestMerging { // the comment shows the plans before until there are others
		return all
	}
	report := w.reportOf(next)
	if ended {
		return append(all, w.resultMessages(next, report)...)
	}
	m := w.commentMessage(commentKey, report)
	ready := apimeta.FindStatusCondition(next.Conditions, v1alpha1.ConditionReady)
	if ready.Reason == v1alpha1.ReasonPullRequestPlanning {
		m.NotBefore = w.CommentedAt.Add(commentInterval)
	}
	return append(append(all, m), w.mergeMessage(next)...)
}

// commentMessage returns the message with a comment.
func (w Snapshot) commentMessage(key string, report comment.PullRequest) message {
	facts, _ := json.Marshal(report) // it has nothing that JSON cannot represent
	return message{Key: key, Digest: inputs.Digest(facts), Receiver: w.receiver(), Content: content{comment: &report}}
}

// resultMessages returns what the Git provider should have of a merge: the status of the merge commit, the comment, and
// another one once there is a result, since an edit notifies no user.
func (w Snapshot) resultMessages(next *v1alpha1.PullRequestStatus, report comment.PullRequest) []message {
	if report.After == nil {
		return nil
	}
	delivered := &next.Delivered
	if delivered.Apply == nil {
		context := comment.ApplyContext(w.Settings.StatusContext)
		delivered.Apply = &v1alpha1.PullRequestCommitStatus{Context: context}
	}
	s := comment.ApplyStatus(report, delivered.Apply.Context)
	all := []message{{
		Key: applyKey, Digest: digestOfStatus(s), Pending: s.State == comment.Pending, Receiver: w.receiver(),
		Content: content{commit: report.After.Commit, status: &s},
	}, w.commentMessage(commentKey, report)}
	if hasResult(next) {
		all = append(all, w.commentMessage(resultKey, comment.Result(report)))
	}
	if next.Phase == v1alpha1.PullRequestApplied {
		return all
	}
	atOnce := map[string]bool{ // what users wait for; the progress of 500 Stacks is no reason for 500 requests
		applyKey:  s.State != comment.Pending && delivered.Apply.Pending,
		resultKey: delivered.Result == nil,
	}
	for i := range all {
		if !atOnce[all[i].Key] {
			all[i].NotBefore = w.CommentedAt.Add(commentInterval)
		}
	}
	return all
}

// hasResult reports whether users are notified of what the Stacks did with a merge: once the first one failed, or all
// have ended and something was applied. It stays, so that a comment that may have been written is corrected.
func hasResult(s *v1alpha1.PullRequestStatus) bool {
	switch {
	case s.Delivered.Result != nil, s.Phase == v1alpha1.PullRequestApplyFailed:
		return true
	case s.Phase != v1alpha1.PullRequestApplied:
		return false
	}
	return slices.ContainsFunc(s.Apply.Stacks, func(stack v1alpha1.PullRequestStackApply) bool {
		return stack.Phase == v1alpha1.StackApplyApplied && stack.Reason != v1alpha1.ReasonNoChanges
	})
}

// receiver is the name of the Git provider for a pull request. A change of the pull request or of the Repository is a
// reason to try it again at once.
func (w Snapshot) receiver() string {
	return fmt.Sprintf("%s %d %d", w.PullRequest.UID, w.PullRequest.Generation, w.Repository.Generation)
}

// dueStatuses returns the statuses that a commit should have. It has one status for each name, so of several open pull
// requests with the same head the worst one counts (atlantis #5228). Each of them sends it, again after each change of
// another.
func (w Snapshot) dueStatuses(next *v1alpha1.PullRequestStatus, commit string) (due []comment.Status) {
	delivered := &next.Delivered
	others := withHead(w.Others, commit)
	switch {
	case !next.Phase.Ended():
		due = w.statusesOf(next)
	case len(atHead(others, commit)) == 0: // else these send theirs
		const closed = "Not planned: the pull request was closed."
		for _, s := range delivered.Statuses {
			if s.Pending {
				due = append(due, comment.Status{Context: s.Context, State: comment.Failure, Description: closed})
			}
		}
	}
	var facts []byte
	for _, other := range others {
		phase := other.Status.Phase
		facts = fmt.Appendf(facts, "%s %s\n", other.UID, other.Spec.Head.Commit)
		if other.Spec.Head.Commit != commit || phase == "" || phase.Ended() {
			continue
		}
		theirs := w
		theirs.PullRequest = other
		for _, s := range theirs.statusesOf(&other.Status) {
			facts = fmt.Appendf(facts, "%s %s\n", s.Context, digestOfStatus(s))
			i := slices.IndexFunc(due, func(own comment.Status) bool { return own.Context == s.Context })
			if i >= 0 && severity(s.State) > severity(due[i].State) {
				due[i] = s
			}
		}
	}
	shared := ""
	if len(others) > 0 {
		shared = inputs.Digest(facts)
	}
	if delivered.Shared != shared { // another pull request may have replaced them
		delivered.Shared = shared
		for i := range delivered.Statuses {
			delivered.Statuses[i].Digest = ""
		}
	}
	return due
}

func severity(s comment.State) int {
	switch s {
	case comment.Failure:
		return 2
	case comment.Pending:
		return 1
	}
	return 0
}

func digestOfStatus(s comment.Status) string {
	return inputs.Digest(fmt.Appendf(nil, "%s\n%s\n%s", s.State, s.Description, s.URL))
}

// statusesOf returns the statuses of an open pull request.
func (w Snapshot) statusesOf(s *v1alpha1.PullRequestStatus) []comment.Status {
	var earlier []string
	for _, known := range s.Delivered.Statuses {
		earlier = append(earlier, known.Context)
	}
	context := w.Settings.StatusContext
	due := comment.Statuses(w.reportOf(s), context, maxStackStatuses, earlier)
	apply := comment.ApplyContext(context)
	if !w.appliesBefore() && !slices.Contains(earlier, apply) {
		return due
	}
	due = slices.DeleteFunc(due, func(s comment.Status) bool { return s.Context == apply })
	return append(due, comment.ApplyBeforeStatus(w.reportOf(s), apply, w.appliesBefore()))
}

// ledgerOf returns what the Git provider has of a pull request.
func ledgerOf(delivered v1alpha1.PullRequestDelivered) []outbox.Record {
	id := strconv.FormatInt(delivered.Comment, 10)
	ledger := []outbox.Record{{Key: commentKey, Digest: delivered.CommentDigest, Reference: id}}
	for _, s := range delivered.Statuses {
		ledger = append(ledger, outbox.Record{Key: statusPrefix + s.Context, Digest: s.Digest, Pending: s.Pending})
	}
	if s := delivered.Apply; s != nil {
		ledger = append(ledger, outbox.Record{Key: applyKey, Digest: s.Digest, Pending: s.Pending})
	}
	if c := delivered.Result; c != nil {
		ledger = append(ledger, outbox.Record{Key: resultKey, Digest: c.Digest, Reference: strconv.FormatInt(c.ID, 10)})
	}
	return ledger
}

// setLedger records what the Git provider has. Reactions are not recorded, since status.commands has their comments.
func setLedger(delivered *v1alpha1.PullRequestDelivered, ledger []outbox.Record) {
	delivered.Statuses = nil
	for _, r := range ledger {
		if context, ok := strings.CutPrefix(r.Key, statusPrefix); ok {
			delivered.Statuses = append(delivered.Statuses, v1alpha1.PullRequestCommitStatus{
				Context: context, Pending: r.Pending, Digest: r.Digest,
			})
		}
		switch r.Key {
		case commentKey:
			delivered.Comment, delivered.CommentDigest = commentID(r.Reference), r.Digest
		case resultKey:
			delivered.Result = &v1alpha1.PullRequestComment{ID: commentID(r.Reference), Digest: r.Digest}
		case applyKey:
			delivered.Apply.Pending, delivered.Apply.Digest = r.Pending, r.Digest
		}
	}
}

// commentID returns the ID of a comment; 0 if there is none.
func commentID(reference string) int64 {
	id, _ := strconv.ParseInt(reference, 10, 64) // of ledgerOf or sendComment
	return id
}

// reportOf returns what the comment and the statuses report, without the texts of plans.
func (w Snapshot) reportOf(s *v1alpha1.PullRequestStatus) comment.PullRequest {
	pull := w.PullRequest
	report := comment.PullRequest{
		ID:   comment.ID{Installation: "cairn", Repository: string(w.Repository.UID), Number: pull.Spec.Number},
		Head: s.Head, Base: pull.Spec.Base, Phase: s.Phase, Answer: s.Commands.Answer, Skipped: s.Skipped,
		MaxStacks: int(*w.Settings.MaxStacks), StackSets: s.StackSets, MoreStackSets: int(s.MoreStackSets),
	}
	if !s.Phase.Ended() {
		report.Unplanned, report.Dependents, report.MoreDependents = s.Unplanned, s.Dependents, int(s.MoreDependents)
		report.Later = runinfo.Dependents(s.Stacks, s.Dependents, s.MoreDependents)
	}
	ready := apimeta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)
	report.Unread = ready != nil && ready.Reason == v1alpha1.ReasonBaseNotRead
	switch s.Phase {
	case v1alpha1.PullRequestConflict:
		report.Message = strings.Join(s.Merge.Conflicts, "\n")
	case v1alpha1.PullRequestFailed, v1alpha1.PullRequestAwaitingCommand:
		report.Message = ready.Message
	}
	if w.Settings.CarryApproval.Accepts(v1alpha1.ApprovalCommands) && isApprovable(s) {
		report.Plans = plansDigest(*s)
	}
	if w.isAppliable(s) {
		report.Apply, report.Requirements = plansDigest(*s), s.Requirements
	}
	report.Reviews = w.Settings.CarryApproval.Accepts(v1alpha1.ApprovalReviews) && hasApprovable(s)
	web := strings.TrimSuffix(w.WebURL, "/")
	if web != "" {
		report.URL = web + "/pullrequests/" + pull.Namespace + "/" + pull.Name
	}
	for _, one := range s.Stacks {
		stack := comment.Stack{
			Namespace: one.Namespace, Name: one.Name, Phase: one.Phase, Plan: one.Plan, Backend: one.Backend,
			DeletedDirectory: one.DeletedDirectory, New: one.New, AwaitsCommand: one.AwaitsCommand,
			Deferred:     one.Deferred,
			UnappliedRun: one.UnappliedRun,
		}
		if one.Approval != nil {
			stack.Approval = one.Approval.Text()
		}
		if one.Run != "" && web != "" {
			stack.URL = web + "/runs/" + one.Namespace + "/" + one.Run
		}
		if one.Phase != v1alpha1.PhaseSucceeded {
			stack.Failure = one.Message
		}
		if !s.Phase.Ended() {
			stack.OnMerge = one.OnMerge
		}
		report.Stacks = append(report.Stacks, stack)
	}
	report.After, report.Held, report.Merge = w.afterOf(s, web), w.holdsOf(s, web), mergeOf(s)
	return report
}

// afterOf returns what is reported about the merge; nil for nothing.
func (w Snapshot) afterOf(s *v1alpha1.PullRequestStatus, web string) *comment.After {
	commit := w.PullRequest.Spec.MergeCommit
	if s.Apply == nil || commit == "" || !s.Phase.Ended() {
		return nil
	}
	after := &comment.After{
		Commit: commit, More: int(s.Apply.MoreStacks), Expired: s.EndedAt != nil && !w.Now.Before(s.EndedAt.Add(kept)),
	}
	for _, one := range s.Apply.Stacks {
		applied := comment.Applied{PullRequestStackApply: one}
		if one.Run != "" && web != "" {
			applied.URL = web + "/runs/" + one.Namespace + "/" + one.Run
		}
		after.Stacks = append(after.Stacks, applied)
	}
	return after
}
