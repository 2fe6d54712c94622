package pullrequest

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/pullrequest/comment"
)

// Before a status is sent, what the head had is unknown, and it may be pending: if the process ends before it records the
// result, the status is sent again, and ends with the pull request.
func TestWhatIsSentIsRecordedFirst(t *testing.T) {
	w := pull()
	next(&w)
	pull := w.PullRequest
	report := comment.PullRequest{Head: headOne, Phase: comment.Conflict, Message: "main.tf"}
	conflicts := report
	conflict := recordOf(comment.Statuses(report, "cairn", maxStackStatuses, nil)[0])
	delivered := func(s v1alpha1.PullRequestCommitStatus) v1alpha1.PullRequestCommitStatus {
		pull.Status.Delivered = v1alpha1.PullRequestDelivered{Head: headOne, Statuses: []v1alpha1.PullRequestCommitStatus{s}, CommentDigest: "old"}
		due := dueStatuses{all: comment.Statuses(report, "cairn", maxStackStatuses, []string{s.Context})}
		if pull.Status.Phase == v1alpha1.PullRequestEnded {
			due.all = []comment.Status{{Context: s.Context, State: comment.Failure}}
		}
		if err := announce(pull, report, due); err != nil {
			t.Fatal(err)
		}
		return pull.Status.Delivered.Statuses[0]
	}
	if got := delivered(conflict); got != conflict {
		t.Errorf("nothing is to be sent: %+v", got)
	}
	if pull.Status.Delivered.CommentDigest != "" {
		t.Error("a comment that is going to be sent is recorded as received")
	}
	pending := v1alpha1.PullRequestCommitStatus{Context: "cairn", Pending: true, Digest: "pending"}
	if got := delivered(pending); got.Digest != "" || !got.Pending {
		t.Errorf("a failure after a pending one: %+v", got)
	}
	report.Phase = comment.AwaitingCommand
	if got := delivered(conflict); got.Digest != "" || !got.Pending {
		t.Errorf("a pending one after a failure: %+v", got)
	}
	pull.Status.Delivered = v1alpha1.PullRequestDelivered{Head: headOne, Statuses: []v1alpha1.PullRequestCommitStatus{conflict}}
	announceStatuses(pull, dueStatuses{all: comment.Statuses(conflicts, "cairn", maxStackStatuses, nil), shared: "of another pull request"})
	if got := pull.Status.Delivered.Statuses[0]; got.Digest != "" {
		t.Errorf("another pull request may have written it: %+v", got)
	}
	pull.Status.Phase = v1alpha1.PullRequestEnded
	if got := delivered(pending); got.Digest != "" || !got.Pending {
		t.Errorf("the pull request is closed: %+v", got)
	}
}

// New pull requests with different heads have no statuses in common.
func TestOnlyPullRequestsWithOneHeadShareStatuses(t *testing.T) {
	h := newHistory(2)
	find := lookups{&kube{history: h, cache: h.api.objects}}
	for name, head := range map[string]string{"infra-1": headOne, "infra-2": "2", "infra-3": headOne} {
		p := &v1alpha1.PullRequest{Spec: v1alpha1.PullRequestSpec{Repository: v1alpha1.ObjectRef{Name: "infra"}, Head: v1alpha1.PullRequestHead{Commit: head}}}
		p.Namespace, p.Name, p.UID = "web", name, types.UID(name)
		h.api.objects[keyOf(p)] = p
	}
	for name, want := range map[string]int{"infra-1": 1, "infra-2": 0} {
		if got := find.sharing(t.Context(), h.api.objects[key{"PullRequest", "web", name}]); len(got) != want {
			t.Errorf("%s shares statuses with %v", name, got)
		}
	}
}

func TestUpdatesThatSendAgainAreEvents(t *testing.T) {
	sent, again := &v1alpha1.PullRequest{}, &v1alpha1.PullRequest{}
	sent.Status.Delivered.Head = "3f2a"
	for _, test := range []struct {
		before, after *v1alpha1.PullRequest
		want          bool
	}{{sent, again, true}, {sent, sent, false}, {again, again, false}, {again, sent, false}} {
		if got := resends().Update(event.UpdateEvent{ObjectOld: test.before, ObjectNew: test.after}); got != test.want {
			t.Errorf("from %q to %q: %v", test.before.Status.Delivered.Head, test.after.Status.Delivered.Head, got)
		}
	}
}
