package pullrequest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/source/gitprovider/pulls"
)

// The Stacks of a merge are those of the last plan, also of one in progress, and of Stacks beyond maxStacks.
func TestStatusAfterTheMerge(t *testing.T) {
	w := pull(func(w *Snapshot) { w.Settings.MaxStacks = new(int32(1)) })
	next(&w)
	w.PullRequest.Spec.State, w.Merge = v1alpha1.PullRequestMerged, nil
	if s := w.status(); s.Phase != v1alpha1.PullRequestEnded || s.Apply == nil || s.Conditions[0].Reason != v1alpha1.ReasonClosed {
		t.Errorf("the merge commit is not known: %s, %+v", s.Phase, s.Apply)
	}
	w.PullRequest.Spec.MergeCommit = headTwo
	merged := next(&w)
	if merged.Phase != v1alpha1.PullRequestApplying || len(merged.Stacks) != 0 || len(merged.Apply.Stacks) != 2 ||
		merged.Conditions[0].Status != metav1.ConditionUnknown || Decide(w).Again != 0 {
		t.Errorf("merged: %s, %+v", merged.Phase, merged)
	}
	w.After = &After{InBase: true, Known: true, Stacks: map[Key]AfterStack{}}
	for _, s := range merged.Apply.Stacks {
		w.After.Stacks[Key{s.Namespace, s.Name}] = afterMerge(unread(v1alpha1.ReasonApplied))
	}
	if d := Decide(w); d.Again != readWithin || d.Status.Phase != v1alpha1.PullRequestApplying {
		t.Errorf("an error may count in a minute: %s, again in %s", d.Status.Phase, d.Again)
	}
	next(&w)
	w.Now = noon.Add(time.Hour)
	if d := Decide(w); d.Again != 0 {
		t.Errorf("what is next is an event, not in %s", d.Again)
	}
	for key := range w.After.Stacks {
		w.After.Stacks[key] = afterMerge(past(withRevision, v1alpha1.OperationApply, true))
	}
	if s := next(&w); s.Phase != v1alpha1.PullRequestApplied || s.Conditions[0].Status != metav1.ConditionTrue || !isReported(w.PullRequest) {
		t.Errorf("applied: %s, %+v", s.Phase, s.Conditions)
	}
	w.PullRequest.Spec.State, w.After = v1alpha1.PullRequestOpen, nil
	if s := w.status(); s.Apply != nil || s.EndedAt != nil {
		t.Errorf("opened again: %+v", s.Apply)
	}
}

// A pull request that is closed, affected no Stack, or ended before Cairn reported merges has no report.
func TestPullRequestsWithoutAReport(t *testing.T) {
	for name, change := range map[string]func(*Snapshot){
		"closed":       func(w *Snapshot) { w.PullRequest.Spec.State = v1alpha1.PullRequestClosed },
		"no Stack":     func(w *Snapshot) { w.PullRequest.Status.Stacks = nil },
		"ended before": func(w *Snapshot) { w.PullRequest.Status.EndedAt = &metav1.Time{Time: noon} },
	} {
		w := pull()
		next(&w)
		w.PullRequest.Spec.State, w.PullRequest.Spec.MergeCommit, w.Merge = v1alpha1.PullRequestMerged, headTwo, nil
		change(&w)
		if s := next(&w); s.Apply != nil || s.Phase != v1alpha1.PullRequestEnded || !isReported(w.PullRequest) {
			t.Errorf("%s: %s, %+v", name, s.Phase, s.Apply)
		}
	}
}

// A Stack is an event for the merged pull requests that wait for it, and a lookup for all others.
func TestEventsAfterTheMerge(t *testing.T) {
	waits := func(commit string, phases ...v1alpha1.StackApplyPhase) *v1alpha1.PullRequest {
		p := &v1alpha1.PullRequest{Spec: v1alpha1.PullRequestSpec{MergeCommit: commit}}
		p.Status.Apply = &v1alpha1.PullRequestApply{}
		for i, phase := range phases {
			p.Status.Apply.Stacks = append(p.Status.Apply.Stacks, v1alpha1.PullRequestStackApply{
				Namespace: "web", Name: fmt.Sprint("s", i), Phase: phase,
			})
		}
		return p
	}
	const applied, failed, pending = v1alpha1.StackApplyApplied, v1alpha1.StackApplyFailed, v1alpha1.StackApplyPending
	if got := IndexApplies(waits(headOne, applied, failed, pending, v1alpha1.StackApplyDeleted)); !slices.Equal(got, []string{"web/s1", "web/s2"}) {
		t.Errorf("it waits for %v", got)
	}
	if got := append(IndexApplies(waits("", failed)), IndexApplies(&v1alpha1.PullRequest{})...); len(got) > 0 {
		t.Errorf("without a merge it waits for %v", got)
	}
	h := newHistory(2)
	find := lookups{&kube{history: h, cache: h.api.objects}}
	for name, p := range map[string]*v1alpha1.PullRequest{"infra-1": waits(headOne, failed), "infra-2": waits(headOne, applied)} {
		p.Namespace, p.Name, p.UID = "web", name, types.UID(name)
		h.api.objects[keyOf(p)] = p
	}
	stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "s0"}}
	if got := find.waitingFor(t.Context(), stack); len(got) != 1 || got[0].Name != "infra-1" {
		t.Errorf("%v wait for the Stack", got)
	}
	if update := waitsForMore().Update; !update(event.UpdateEvent{ObjectOld: waits("", pending), ObjectNew: waits(headOne, pending)}) ||
		update(event.UpdateEvent{ObjectOld: waits(headOne, pending, pending), ObjectNew: waits(headOne, failed, applied)}) {
		t.Error("a pull request is reconciled again once it waits for another Stack")
	}
	for name, change := range map[string]func(*v1alpha1.StackStatus){
		"":             func(s *v1alpha1.StackStatus) { s.Resources++ },
		"the revision": func(s *v1alpha1.StackStatus) { s.Revision = "main@sha1:1" },
		"a Run":        func(s *v1alpha1.StackStatus) { s.CurrentRun = "net-1" },
		"an apply":     func(s *v1alpha1.StackStatus) { s.AppliedInputsDigest = "sha256:1" },
		"a reason": func(s *v1alpha1.StackStatus) {
			s.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Reason: v1alpha1.ReasonPathNotFound}}
		},
	} {
		after := stack.DeepCopy()
		change(&after.Status)
		if got := progresses().Update(event.UpdateEvent{ObjectOld: stack, ObjectNew: after}); got != (name != "") {
			t.Errorf("%q is an event: %t", name, got)
		}
	}
	if progresses().Create(event.CreateEvent{Object: stack}) {
		t.Error("the Stacks of a cache that starts are no events")
	}
}

// A merge commit that the API would reject prevents no update of a PullRequest.
func TestMergeCommitIsACommit(t *testing.T) {
	for commit, want := range map[string]string{headOne: headOne, headOne[:12]: "", headOne + headOne[:24]: "", "main": "", "": ""} {
		if got := mergeCommit(pulls.PullRequest{MergeCommit: commit}); got != want {
			t.Errorf("%q: %q", commit, got)
		}
	}
}
