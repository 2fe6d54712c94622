package pullrequest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/outbox"
	"cairn.dev/cairn/internal/source/gitprovider/pulls"
)

// sent decides, and lets the Git provider have what the decision sends. It returns the keys of these messages.
func sent(w *Snapshot) (keys []string) {
	d := Decide(*w)
	ledger := slices.Clone(d.Messages.Ledger)
	for _, m := range d.Messages.Send {
		i := slices.IndexFunc(ledger, func(r outbox.Record) bool { return r.Key == m.Key })
		ledger[i].Digest, ledger[i].Pending, ledger[i].Reference = m.Digest, m.Pending, "7"
		keys = append(keys, m.Key)
	}
	w.PullRequest.Status = acknowledge(d.Status, acts{}, outbox.Sent{Ledger: ledger})
	return keys
}

// mergedPull is a pull request that is merged, and affected app and net.
func mergedPull() Snapshot {
	w := pull(func(w *Snapshot) { w.Settings = repositoryOf().Spec.PullRequests })
	w.Repository = repositoryOf()
	next(&w)
	w.PullRequest.Spec.State, w.PullRequest.Spec.MergeCommit, w.Merge = v1alpha1.PullRequestMerged, headTwo, nil
	return w
}

// after lets both Stacks do something with the merge.
func (w *Snapshot) after(app, net AfterStack) {
	w.After = &After{InBase: true, Known: true, Stacks: map[Key]AfterStack{{"web", "app"}: app, {"web", "net"}: net}}
}

// The Stacks of a merge are those of the last plan, also of one in progress, and of Stacks beyond maxStacks.
func TestStatusAfterTheMerge(t *testing.T) {
	w := mergedPull()
	w.PullRequest.Spec.MergeCommit = ""
	if s := w.status(); s.Phase != v1alpha1.PullRequestEnded || s.Apply == nil ||
		s.Conditions[0].Reason != v1alpha1.ReasonClosed {
		t.Errorf("the merge commit is not known: %s, %+v", s.Phase, s.Apply)
	}
	w.PullRequest.Spec.MergeCommit = headTwo
	merged := next(&w)
	if merged.Phase != v1alpha1.PullRequestApplying || len(merged.Stacks) != 0 || len(merged.Apply.Stacks) != 2 ||
		merged.Conditions[0].Status != metav1.ConditionUnknown || Decide(w).Again != 0 {
		t.Errorf("merged: %s, %+v", merged.Phase, merged)
	}
	unread := afterMerge(unread(v1alpha1.ReasonApplied))
	w.after(unread, unread)
	if d := Decide(w); d.Again != readWithin || d.Status.Phase != v1alpha1.PullRequestApplying {
		t.Errorf("an error may count in a minute: %s, again in %s", d.Status.Phase, d.Again)
	}
	next(&w)
	w.Now = noon.Add(time.Hour)
	if d := Decide(w); d.Again != 0 {
		t.Errorf("what is next is an event, not in %s", d.Again)
	}
	applied := afterMerge(past(withRevision, opApply, true))
	w.after(applied, applied)
	if s := next(&w); s.Phase != v1alpha1.PullRequestApplied || s.Conditions[0].Status != metav1.ConditionTrue ||
		isReported(w.PullRequest) {
		t.Errorf("applied: %s, %+v", s.Phase, s.Conditions)
	}
	if sent(&w); !isReported(w.PullRequest) || !isSettled(w.PullRequest) {
		t.Errorf("all is sent: %+v", w.PullRequest.Status.Delivered)
	}
	w.PullRequest.Spec.State, w.After = v1alpha1.PullRequestOpen, nil
	if s := w.status(); s.Apply != nil || s.EndedAt != nil {
		t.Errorf("opened again: %+v", s.Apply)
	}
}

// The second comment is sent once: when the first Stack failed, or when all have ended and something was applied. What
// it may have is corrected.
func TestTheResultIsSentOnce(t *testing.T) {
	applied, unchanged := afterMerge(past(withRevision, opApply, true)), afterMerge(past(withRevision, opApply, false))
	waits := afterMerge(run(withRevision, v1alpha1.PhaseAwaitingApproval, v1alpha1.ReasonAwaitingApproval))
	failed := afterMerge(run(withRevision, v1alpha1.PhaseFailed, "EngineError"))
	type step struct {
		app, net AfterStack
		want     string
	}
	for name, steps := range map[string][]step{
		"applied": {{waits, waits, "apply comment"}, {applied, waits, "apply comment"},
			{applied, applied, "apply comment result"}, {applied, applied, ""}},
		"unchanged": {{unchanged, waits, "apply comment"}, {unchanged, unchanged, "apply comment"},
			{unchanged, unchanged, ""}},
		"failed, and then applied": {{failed, waits, "apply comment result"}, {failed, waits, ""},
			{failed, failed, "apply comment result"}, {applied, applied, "apply comment result"}},
		"failed, and then unchanged": {{failed, unchanged, "apply comment result"},
			{unchanged, unchanged, "apply comment result"}},
	} {
		w := mergedPull()
		for i, s := range steps {
			w.Now = w.Now.Add(time.Minute)
			w.after(s.app, s.net)
			if got := strings.Join(sent(&w), " "); got != s.want {
				t.Errorf("%s, step %d: %q are sent, want %q", name, i, got, s.want)
			}
		}
		if p := w.PullRequest; p.Status.Delivered.Comment != 7 ||
			(p.Status.Delivered.Result == nil) != (name == "unchanged") {
			t.Errorf("%s: %+v", name, p.Status.Delivered)
		}
	}
}

// If the process ends before the Git provider responds, the comment may exist, and is corrected also if nothing is to
// be notified then.
func TestAResultThatMayExistIsCorrected(t *testing.T) {
	w := mergedPull()
	failed, unchanged := afterMerge(run(withRevision, v1alpha1.PhaseFailed, "EngineError")), afterMerge(
		past(withRevision, opApply, false))
	w.after(failed, unchanged)
	w.PullRequest.Status = Decide(w).Status // which is persisted before the messages are sent
	w.after(unchanged, unchanged)
	if got := strings.Join(sent(&w), " "); got != "apply comment result" {
		t.Errorf("%q are sent", got)
	}
}

// Changes follow one another, and the first result is not delayed by them. GitHub accepts 1,000 statuses for a commit
// and a name.
func TestCommentsAfterTheMergeAreNotFrequent(t *testing.T) {
	w := mergedPull()
	waits := afterMerge(run(withRevision, v1alpha1.PhaseAwaitingApproval, v1alpha1.ReasonAwaitingApproval))
	failed := afterMerge(run(withRevision, v1alpha1.PhaseFailed, "EngineError"))
	w.CommentedAt = w.Now
	for _, tt := range []struct {
		app  AfterStack
		want string
	}{{waits, ""}, {failed, "apply result"}, {waits, ""}} {
		w.after(tt.app, waits)
		if got := strings.Join(sent(&w), " "); got != tt.want || Decide(w).Again != commentInterval {
			t.Errorf("%q are sent, want %q; again in %s", got, tt.want, Decide(w).Again)
		}
	}
}

// The status of the merge commit does not remain pending when the PullRequest is deleted.
func TestStatusesOfAMergeEnd(t *testing.T) {
	w := mergedPull()
	waits := afterMerge(run(withRevision, v1alpha1.PhaseAwaitingApproval, v1alpha1.ReasonAwaitingApproval))
	w.after(waits, waits)
	if sent(&w); !w.PullRequest.Status.Delivered.Apply.Pending {
		t.Error("the status is pending")
	}
	w.Now = w.Now.Add(kept)
	if sent(&w); w.PullRequest.Status.Delivered.Apply.Pending ||
		w.PullRequest.Status.Phase != v1alpha1.PullRequestApplying {
		t.Errorf("after %s: %+v", kept, w.PullRequest.Status.Delivered.Apply)
	}
}

// After a conflict, another process may have sent something else.
func TestAllOfAMergeIsSentAgain(t *testing.T) {
	w := mergedPull()
	applied := afterMerge(past(withRevision, opApply, true))
	w.after(applied, applied)
	sent(&w)
	h := newHistory(2)
	h.quiet, h.git.pulls = true, []*pullModel{{Number: 12, Merge: h.git.base}}
	h.api.put(w.PullRequest.DeepCopy())
	o := w.PullRequest.DeepCopy()
	if err := h.api.patch(o, resendAll(o), true); err != nil {
		t.Fatal(err)
	}
	w.PullRequest.Status.Delivered = h.api.objects[keyOf(o)].(*v1alpha1.PullRequest).Status.Delivered
	if got := strings.Join(sent(&w), " "); got != "apply comment result" ||
		w.PullRequest.Status.Delivered.Result.ID != 7 {
		t.Errorf("%q are sent, %+v", got, w.PullRequest.Status.Delivered)
	}
	if o.Status.Delivered.Apply.Context != "cairn/apply" {
		t.Errorf("%+v", o.Status.Delivered.Apply)
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
	const applied, failed, pending = isApplied, isFailed, isPending
	if got := IndexApplies(waits(headOne, applied, failed, pending, isDeleted)); !slices.Equal(got,
		[]string{"web/s1", "web/s2"}) {
		t.Errorf("it waits for %v", got)
	}
	if got := append(IndexApplies(waits("", failed)), IndexApplies(&v1alpha1.PullRequest{})...); len(got) > 0 {
		t.Errorf("without a merge it waits for %v", got)
	}
	h := newHistory(2)
	find := lookups{&kube{history: h, cache: h.api.objects}}
	for name, p := range map[string]*v1alpha1.PullRequest{"infra-1": waits(headOne, failed),
		"infra-2": waits(headOne, applied)} {
		p.Namespace, p.Name, p.UID = "web", name, types.UID(name)
		h.api.objects[keyOf(p)] = p
	}
	stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "s0"}}
	if got := find.waitingFor(t.Context(), stack); len(got) != 1 || got[0].Name != "infra-1" {
		t.Errorf("%v wait for the Stack", got)
	}
	if update := waitsForMore().Update; !update(event.UpdateEvent{ObjectOld: waits("", pending),
		ObjectNew: waits(headOne, pending)}) ||
		update(event.UpdateEvent{ObjectOld: waits(headOne, pending, pending),
			ObjectNew: waits(headOne, failed, applied)}) {
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
	for commit, want := range map[string]string{headOne: headOne, headOne[:12]: "", headOne + headOne[:24]: "",
		"main": "", "": ""} {
		if got := mergeCommit(pulls.PullRequest{MergeCommit: commit}); got != want {
			t.Errorf("%q: %q", commit, got)
		}
	}
}

// plannedHistory is a history without faults in which a pull request with two Stacks or more is planned.
func plannedHistory(seed uint64) (*history, *pullModel) {
	h := newHistory(2 * seed) // one process
	h.quiet = true
	p := &pullModel{
		Number: 1, Title: "Change", State: "open", User: userModel{"alice"}, Updated: h.now.Truncate(time.Second),
		Head: refModel{Ref: "change", Repo: map[string]int{"id": 1}}, Base: refModel{Ref: "main", RepoID: 1},
	}
	for again := true; again; again = len(h.git.affected(p)) < 2 || h.git.conflicts(p) {
		p.Head.SHA = h.git.commit()
	}
	h.git.pulls = []*pullModel{p}
	h.git.fetch()
	h.pass(40)
	return h, p
}

// pass settles a number of times, each half a minute after the last one.
func (h *history) pass(times int) {
	for range times {
		h.settle()
		h.now = h.now.Add(30 * time.Second)
	}
}

// What the Git provider did not accept for an hour is sent later, and once.
func TestAMergeIsReportedOnceTheGitProviderResponds(t *testing.T) {
	for seed := range uint64(20) {
		h, p := plannedHistory(seed)
		h.git.rejectStatus = http.StatusServiceUnavailable
		h.git.merge(p)
		h.pass(120)
		if s := h.git.statuses[p.Merge]; s != nil || len(h.git.commentsOf(1, "cairn")) != 1 {
			t.Fatalf("while it does not respond: %v", s)
		}
		changes := h.git.changes
		h.git.rejectStatus = 0
		h.pass(40)
		if h.check(); h.problem != "" {
			t.Fatalf("seed %d: %s", 2*seed, h.problem)
		}
		if n := h.git.changes - changes; n != 3 || len(h.git.commentsOf(1, "cairn")) != 2 {
			t.Errorf("seed %d: %d changes, %d comments", 2*seed, n, len(h.git.commentsOf(1, "cairn")))
		}
	}
}

// That a Stack is deleted is final, so a cache that lacks it is not believed. The Run in progress counts, else the last
// one.
func TestFactsAfterTheMerge(t *testing.T) {
	h := newHistory(2)
	h.quiet = true
	w := mergedPull()
	w.PullRequest.Spec.MergeCommit = h.git.base
	cached := &kube{history: h, cache: map[key]client.Object{}}
	r := &Reconciler{Client: cached, Live: &kube{history: h}, Merger: h.git}
	h.api.remove(h.git.merges.stack("net"), nil)
	if err := r.gatherAfter(t.Context(), &w, w.Repository); err != nil {
		t.Fatal(err)
	}
	if _, app := w.After.Stacks[Key{"web", "app"}]; !app || len(w.After.Stacks) != 1 || !w.After.InBase ||
		!w.After.Known {
		t.Errorf("%+v", w.After)
	}
	stack := h.git.merges.stack("app")
	old, current := &v1alpha1.Run{}, &v1alpha1.Run{}
	old.Namespace, old.Name, old.Spec.Revision = "web", "app-1", "main@sha1:"+headOne
	current.Namespace, current.Name, current.Spec.Revision = "web", "app-2", "main@sha1:"+h.git.base
	cached.cache[keyOf(old)], cached.cache[keyOf(current)] = old, current
	merged, _ := h.git.Merged(t.Context(), nil, "main", h.git.base)
	for name, want := range map[string]string{"": "app-1", "app-2": "app-2", "app-3": ""} {
		stack.Status.CurrentRun, stack.Status.LastRun = name, "app-1"
		s, err := r.afterStack(t.Context(), merged, stack)
		got := ""
		if s.Run != nil {
			got = s.Run.Name
		}
		if err != nil || got != want || s.Merged["main@sha1:"+headOne] || !s.Merged[stack.Status.Revision] {
			t.Errorf("current Run %q: %q, %+v, %v", name, got, s.Merged, err)
		}
	}
}

// Without credentials of the Git provider, nothing is sent, and the PullRequest is still deleted.
func TestAMergedPullRequestIsDeletedWithoutCredentials(t *testing.T) {
	h, p := plannedHistory(0)
	h.git.merge(p)
	h.settle()
	for _, process := range h.processes {
		process.reconciler.Provider = func(context.Context, *v1alpha1.Repository) (Provider, error) {
			return Provider{}, &ConfigError{v1alpha1.ReasonCredentialsNotFound, "no Secret"}
		}
		process.discovery.Provider = process.reconciler.Provider
	}
	h.git.push("another change", stackNames)
	h.pass(10)
	h.now = h.now.Add(kept)
	h.pass(10)
	if left := h.api.objects[key{"PullRequest", "web", "infra-1"}]; left != nil {
		t.Errorf("%+v", left)
	}
}

// The history of the base is that of the mirror, and what a Stack reads is what it has with its VariableSets.
func TestMergedOfAMirror(t *testing.T) {
	g, repo, change, _ := fetched(t)
	main, err := g.Codes.Base(t.Context(), repo, "main")
	if err != nil {
		t.Fatal(err)
	}
	dev, err := g.Codes.Base(t.Context(), repo, "dev") // which follows main, and has the same code
	if err != nil {
		t.Fatal(err)
	}
	stack := &g.Client.(stacksOf).stacks[0]
	for name, tt := range map[string]struct {
		base, commit          string
		inBase, known         bool
		revision              string
		has, isSame, readThen bool
	}{
		"a merge":                           {"dev", dev, true, true, dev, true, true, true},
		"the same code before it":           {"dev", dev, true, true, main, false, true, true},
		"other code":                        {"dev", dev, true, true, change, false, false, true},
		"what follows a merge":              {"dev", main, true, true, dev, true, true, true},
		"a commit of another branch":        {"main", change, false, true, change, false, false, false},
		"a commit that is not fetched":      {"main", headOne, false, false, main, false, false, false},
		"a branch that is not there at all": {"none", main, false, false, main, false, false, false},
	} {
		m, err := g.Merged(t.Context(), repo, tt.base, tt.commit)
		if err != nil {
			t.Fatal(err)
		}
		inBase, known := m.InBase()
		has, err := m.Has(t.Context(), "x@sha1:"+tt.revision)
		same, wrong := m.IsSame(t.Context(), stack, "x@sha1:"+tt.revision)
		if err != nil || wrong != nil || inBase != tt.inBase || known != tt.known || has != tt.has ||
			same != tt.isSame {
			t.Errorf("%s: in the base %t, known %t; has %t, same %t; %v, %v", name, inBase, known, has, same,
				err, wrong)
		}
		if _, err := g.Codes.Observe(t.Context(), repo, stack); err != nil {
			t.Fatal(err)
		}
		if read, err := m.IsRead(t.Context(), stack); err != nil || read != tt.readThen {
			t.Errorf("%s: read %t, %v", name, read, err)
		}
		g.Codes.Forget(stack)
		if read, err := m.IsRead(t.Context(), stack); err != nil || read {
			t.Errorf("%s, and the Stack read nothing: read %t, %v", name, read, err)
		}
	}
}
