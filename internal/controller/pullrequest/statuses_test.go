package pullrequest

import (
	"reflect"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/outbox"
	"cairn.dev/cairn/internal/controller/pullrequest/comment"
)

// Before something is sent, what the head had is unknown, and it may be pending: if the process ends before it records
// the result, it is sent again, and ends with the pull request.
func TestWhatIsSentIsRecordedFirst(t *testing.T) {
	w := pull(func(w *Snapshot) { w.Merge.Conflicts = []string{"main.tf"} })
	w.Repository, w.Settings = repositoryOf(), repositoryOf().Spec.PullRequests
	other := &v1alpha1.PullRequest{Spec: w.PullRequest.Spec}
	other.Spec.Head.Commit, other.Status.Delivered.Head = headTwo, headOne
	conflict := Decide(w)
	next := conflict.Status
	first := v1alpha1.PullRequestCommitStatus{Context: "cairn"}
	if keys := keysOf(conflict); next.Delivered.Head != headOne || next.Delivered.Statuses[0] != first ||
		next.Delivered.CommentDigest != "" || !slices.Equal(keys, []string{"status cairn", "comment"}) {
		t.Errorf("at first: %+v, %q", next.Delivered, keys)
	}
	sent := make([]outbox.Record, len(conflict.Messages.Send))
	for i, m := range conflict.Messages.Send {
		sent[i] = outbox.Record{Key: m.Key, Digest: m.Digest}
	}
	w.PullRequest.Status = acknowledge(next, acts{}, outbox.Sent{Ledger: sent})
	if keys := keysOf(Decide(w)); len(keys) > 0 {
		t.Errorf("all is sent: %q", keys)
	}
	shared := w
	shared.Others = []*v1alpha1.PullRequest{other}
	if d := Decide(shared); d.Status.Delivered.Statuses[0].Digest != "" ||
		!slices.Equal(keysOf(d), []string{"status cairn"}) {
		t.Errorf("another pull request may have written it: %+v", d.Status.Delivered)
	}
	w.Merge, w.Waits = nil, "waits for a fetch"
	merging := Decide(w)
	if d := merging.Status.Delivered; d.Statuses[0].Digest != "" || !d.Statuses[0].Pending ||
		!slices.Equal(keysOf(merging), []string{"status cairn"}) {
		t.Errorf("a pending one after a failure: %+v, %q", d, keysOf(merging))
	}
	w.PullRequest.Status = merging.Status
	w.PullRequest.Spec.State = v1alpha1.PullRequestClosed
	closed := Decide(w)
	if d := closed.Status.Delivered; !d.Statuses[0].Pending ||
		closed.Messages.Send[0].Content.status.State != comment.Failure {
		t.Errorf("the pull request is closed: %+v", d)
	}
	w.Others = []*v1alpha1.PullRequest{{Spec: v1alpha1.PullRequestSpec{
		State: v1alpha1.PullRequestOpen, Head: v1alpha1.PullRequestHead{Commit: headOne},
	}}}
	if keys := keysOf(Decide(w)); len(keys) > 0 {
		t.Errorf("the head is that of another pull request: %q", keys)
	}
}

// What an earlier version of Cairn recorded with these digests is not sent again after an update of Cairn. If the
// digests have to change, each open pull request is written once more.
func TestWhatAnEarlierVersionSentIsKnown(t *testing.T) {
	w := pull(func(w *Snapshot) { w.Merge.Conflicts = []string{"main.tf"} })
	w.Repository, w.Settings, w.WebURL = repositoryOf(), repositoryOf().Spec.PullRequests, "https://cairn.example.com/"
	next(&w)
	delivered := v1alpha1.PullRequestDelivered{
		Comment: 7, CommentDigest: "sha256:d27371329bb89a1ca0dfceb232ffa84fb2ccf310577621d05f2d5b488f12291c",
		Head: headOne,
		Statuses: []v1alpha1.PullRequestCommitStatus{
			{Context: "cairn", Digest: "sha256:6ccade47a17a5c93d7b4e4d297cf85d5ecd9ffd219c00648af85698c90d2564d"},
		},
	}
	w.PullRequest.Status.Delivered = delivered
	d := Decide(w)
	if keys := keysOf(d); len(keys) > 0 || !reflect.DeepEqual(d.Status.Delivered, delivered) {
		t.Errorf("%q are sent again: %+v", keys, d.Status.Delivered)
	}
}

func keysOf(d Decision) (keys []string) {
	for _, m := range d.Messages.Send {
		keys = append(keys, m.Key)
	}
	return keys
}

// A pull request that gets another head may have replaced the statuses of the others with that head.
func TestAPullRequestLeavesItsHead(t *testing.T) {
	w := pull()
	w.Repository, w.Settings = repositoryOf(), repositoryOf().Spec.PullRequests
	w.PullRequest.Status.Delivered.Head = headTwo
	stays, left := &v1alpha1.PullRequest{}, &v1alpha1.PullRequest{}
	stays.Spec.Head.Commit, left.Spec.Head.Commit, left.Status.Delivered.Head = headTwo, headOne, headTwo
	stays.Spec.State, left.Spec.State = v1alpha1.PullRequestOpen, v1alpha1.PullRequestOpen
	w.Others = []*v1alpha1.PullRequest{left, stays}
	if d := Decide(w); !slices.Equal(d.Left, []*v1alpha1.PullRequest{stays}) || d.Status.Delivered.Head != headOne {
		t.Errorf("%d pull requests send again, with head %s", len(d.Left), d.Status.Delivered.Head)
	}
	w.PullRequest.Spec.State = v1alpha1.PullRequestClosed
	if d := Decide(w); len(d.Left) > 0 {
		t.Errorf("the pull request is closed: %d send again", len(d.Left))
	}
}

// New pull requests with different heads have no statuses in common.
func TestOnlyPullRequestsWithOneHeadShareStatuses(t *testing.T) {
	h := newHistory(2)
	find := lookups{&kube{history: h, cache: h.api.objects}}
	for name, head := range map[string]string{"infra-1": headOne, "infra-2": "2", "infra-3": headOne} {
		p := &v1alpha1.PullRequest{Spec: v1alpha1.PullRequestSpec{Repository: v1alpha1.ObjectRef{Name: "infra"},
			Head: v1alpha1.PullRequestHead{Commit: head}}}
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
