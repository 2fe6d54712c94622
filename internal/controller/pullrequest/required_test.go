package pullrequest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/source/gitprovider/pulls"
	"cairn.dev/cairn/test/gitserver"
)

// awaiting is the pull request of requiring, which alice applied to net. The Run of that waits for the requirements.
func awaiting() Snapshot {
	w := requiring()
	w.PullRequest.Namespace, w.PullRequest.Name, w.PullRequest.UID = "web", "infra-12", "pull"
	w.PullRequest.Status.Holds = []v1alpha1.PullRequestHold{{
		PullRequestStackApply: v1alpha1.PullRequestStackApply{Namespace: "web", Name: "net"}, Head: headOne,
		Base: headTwo, Branch: "main",
	}}
	s := afterMerge(run("pull/12@sha1:"+headOne, v1alpha1.PhaseAwaitingApproval, v1alpha1.ReasonAwaitingRequirements))
	s.Stack.Status.Hold, s.Read = &v1alpha1.StackHold{UID: "pull", Head: headOne}, true
	s.Run.Spec.Stack.Name, s.Run.Spec.InputsDigest = "net", s.Stack.Status.InputsDigest
	s.Run.Status.Plan = planFor("create net")
	s.Run.Spec.Requirements = &v1alpha1.RunRequirements{
		Types: slices.Clone(w.Settings.Requirements), PullRequest: v1alpha1.CarriedFrom{Namespace: "web",
			Name: "infra-12", Number: 12},
	}
	w.Held = map[Key]AfterStack{{"web", "net"}: s}
	return w
}

// heldRun is the Run of awaiting.
func (w *Snapshot) heldRun() *v1alpha1.Run { return w.Held[Key{"web", "net"}].Run }

// merged lets the base have the merge, after which the Stack is not held any more.
func (w *Snapshot) merged() {
	spec := &w.PullRequest.Spec
	spec.State, spec.MergeCommit = v1alpha1.PullRequestMerged, headTwo
	s := w.Held[Key{"web", "net"}]
	s.Stack.Status.Hold = nil
	w.After, w.Held, w.Merge = &After{InBase: true, Known: true, Stacks: w.Held}, nil, nil
	w.PullRequest.Status.Holds[0].Released = v1alpha1.HoldMerged
}

// statesOf are the states of requirements, such as "Met Missing".
func statesOf(all []v1alpha1.PullRequestRequirement) string {
	var states []string
	for _, r := range all {
		states = append(states, string(r.State))
	}
	return strings.Join(states, " ")
}

// When an apply would start, what the pull request lacks is written to its Run: a review may be dismissed, and the pull
// request marked as a draft, after the command. Only a Run that applies this pull request now gets it.
func TestRequirementsAreEvaluatedForARun(t *testing.T) {
	const met, minute = "Met Met Met", time.Minute
	for name, tt := range map[string]struct {
		change func(*judged, *Snapshot)
		want   string
		again  time.Duration
		// requests for what the Git provider would do.
		requests int
	}{
		"all are met":             {func(*judged, *Snapshot) {}, met, minute, 1},
		"the review is dismissed": {func(p *judged, _ *Snapshot) { p.found = nil }, "Missing Met Met", minute, 1},
		"it is a draft": {func(p *judged, _ *Snapshot) { p.readiness.Draft = true },
			"Missing Missing Missing", minute, 1},
		"it has diverged": {func(_ *judged, w *Snapshot) {
			w.Merge.Affected[1].Diverged = true
		}, "Met Met Missing", minute, 1},
		"another Stack has": {func(_ *judged, w *Snapshot) {
			w.Merge.Affected[0].Diverged = true
		}, met, minute, 1},
		"it cannot be read": {func(p *judged, _ *Snapshot) { p.err = errors.New("502") },
			"Unknown Unknown Unknown", readAgainFor, 1},
		"not decided": {func(p *judged, _ *Snapshot) {
			p.readiness.Merge = pulls.MergeUnknown
		}, "Met Unknown Met", readAgainFor, 1},
		"the merge is not known": {func(_ *judged, w *Snapshot) { w.Merge = nil }, "Met Met Unknown", readAgainFor, 1},
		"it does not change the Stack now": {func(_ *judged, w *Snapshot) {
			w.Merge.Affected = w.Merge.Affected[:1]
		}, "Met Met Unknown", readAgainFor, 1},
		"the Repository requires less now": {func(_ *judged, w *Snapshot) {
			w.Settings.Requirements = w.Settings.Requirements[:1]
		}, "Met Met Unknown", readAgainFor, 1},
		"a user has pushed": {func(p *judged, w *Snapshot) {
			w.PullRequest.Status.Holds[0].Head = headTwo
		}, "Missing Missing Missing", minute, 1},
		"it is closed": {func(_ *judged, w *Snapshot) {
			w.PullRequest.Spec.State = v1alpha1.PullRequestClosed
		}, "Missing Missing Missing", minute, 0},
		"it is merged": {func(p *judged, w *Snapshot) {
			p.found, w.PullRequest.Spec.State, w.PullRequest.Spec.MergeCommit = nil, v1alpha1.PullRequestMerged, headTwo
		}, met, minute, 0},
		"it is merged into another base": {func(_ *judged, w *Snapshot) {
			w.PullRequest.Spec.State, w.PullRequest.Spec.MergeCommit = v1alpha1.PullRequestMerged, headTwo
			w.PullRequest.Status.Holds[0].Branch = "dev"
		}, "Missing Missing Missing", minute, 0},
		"another head is merged": {func(_ *judged, w *Snapshot) {
			w.PullRequest.Spec.State, w.PullRequest.Spec.MergeCommit = v1alpha1.PullRequestMerged, headTwo
			w.PullRequest.Status.Holds[0].Head = headTwo
		}, "Missing Missing Missing", minute, 0},
		"the base has it":             {func(_ *judged, w *Snapshot) { w.merged() }, met, minute, 0},
		"the base does not":           {func(_ *judged, w *Snapshot) { w.merged(); w.After.InBase = false }, "", 0, 0},
		"whether it has is not known": {func(_ *judged, w *Snapshot) { w.merged(); w.After.Known = false }, "", 0, 0},
		"another one holds it since": {func(_ *judged, w *Snapshot) {
			w.merged()
			w.After.Stacks[Key{"web", "net"}].Stack.Status.Hold = &v1alpha1.StackHold{UID: "other"}
		}, "", 0, 0},
		"its Run waits for an approval": {func(_ *judged, w *Snapshot) {
			w.heldRun().Status.Conditions[0].Reason = v1alpha1.ReasonAwaitingApproval
		}, "", 0, 0},
		"its Run applies": {func(_ *judged, w *Snapshot) {
			w.heldRun().Status.Phase = v1alpha1.PhaseApplying
		}, "", 0, 0},
		"its Run is of another one": {func(_ *judged, w *Snapshot) {
			w.heldRun().Spec.Requirements.PullRequest.Name = "infra-13"
		}, "", 0, 0},
		"its Run requires nothing": {func(_ *judged, w *Snapshot) {
			w.heldRun().Spec.Requirements = nil
		}, "", 0, 0},
		"its Run is of other code": {func(_ *judged, w *Snapshot) {
			w.heldRun().Spec.InputsDigest = "sha256:old"
		}, "", 0, 0},
		"the Stack has another head yet": {func(_ *judged, w *Snapshot) {
			w.change(func(s *AfterStack) { s.Read = false })
		}, "", 0, 0},
		"there is no Run": {func(_ *judged, w *Snapshot) { w.change(func(s *AfterStack) { s.Run = nil }) }, "", 0, 0},
	} {
		w, provider := awaiting(), accepted()
		tt.change(&provider, &w)
		(&Reconciler{}).gatherRequired(t.Context(), &w, Provider{Name: "gitlab", Host: "git.example.com",
			Client: provider})
		got := ""
		for _, one := range w.Required {
			got += statesOf(one.evaluated.Results)
			if one.evaluated.PlanDigest != "sha256:create net" || !one.evaluated.At.Time.Equal(w.Now) {
				t.Errorf("%s: %+v", name, one.evaluated)
			}
		}
		if got != tt.want || w.ReadAgain != tt.again || *provider.requests != tt.requests {
			t.Errorf("%s: %q, again in %s, %d requests, want %q, %s, %d", name, got, w.ReadAgain, *provider.requests,
				tt.want, tt.again, tt.requests)
		}
	}
}

func (w *Snapshot) change(change func(*AfterStack)) {
	s := w.Held[Key{"web", "net"}]
	change(&s)
	w.Held[Key{"web", "net"}] = s
}

// What is missing is written once, with one request for several Runs; what is met again and again, as long as the Run
// waits, since it counts for a minute.
func TestRequirementsOfARunAreWritten(t *testing.T) {
	w, provider, r := awaiting(), accepted(), &Reconciler{}
	waits := w.heldRun()
	kube := fake.NewClientBuilder().WithScheme(schemeOf(t)).WithStatusSubresource(&v1alpha1.Run{}).WithObjects(waits).
		Build()
	r.Client = kube
	of := func() Provider { return Provider{Name: "gitlab", Host: "git.example.com", Client: provider} }
	reconcile := func(after time.Duration) (written int) {
		t.Helper()
		w.Now, w.Required = w.Now.Add(after), nil
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(waits), waits); err != nil {
			t.Fatal(err)
		}
		r.gatherRequired(t.Context(), &w, of())
		if err := r.writeRequired(t.Context(), w.Required); err != nil {
			t.Fatal(err)
		}
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(waits), waits); err != nil {
			t.Fatal(err)
		}
		return len(w.Required)
	}
	provider.found = nil
	if n := reconcile(0); n != 1 || statesOf(waits.Status.Requirements.Results) != "Missing Met Met" {
		t.Errorf("%d are written: %+v", n, waits.Status.Requirements)
	}
	if n := reconcile(time.Minute) + reconcile(time.Hour); n != 0 {
		t.Errorf("what is missing is written %d times", n)
	}
	provider.found = []pulls.Review{by("bob")}
	if n := reconcile(time.Minute); n != 1 || statesOf(waits.Status.Requirements.Results) != "Met Met Met" {
		t.Errorf("%d are written: %+v", n, waits.Status.Requirements)
	}
	at, requests := waits.Status.Requirements.At, *provider.requests
	if n := reconcile(time.Second); n != 0 || *provider.requests != requests {
		t.Errorf("a second later, %d are written, after %d requests", n, *provider.requests-requests)
	}
	if n := reconcile(readAgainFor); n != 1 || !at.Before(&waits.Status.Requirements.At) ||
		*provider.requests != requests+1 {
		t.Errorf("later, %d are written, after %d requests", n, *provider.requests-requests)
	}
	// The Run was changed since it was read: it may have another plan.
	w.Now = w.Now.Add(time.Minute)
	stale := waits.DeepCopy()
	stale.ResourceVersion = "1"
	w.change(func(s *AfterStack) { s.Run = stale })
	w.Required = nil
	r.gatherRequired(t.Context(), &w, of())
	if err := r.writeRequired(t.Context(), w.Required); err == nil {
		t.Error("it is written to a Run that was changed")
	}
}

// A Run that waits for its pull request is an event of that.
func TestRunThatAwaitsRequirementsIsAnEvent(t *testing.T) {
	w := awaiting()
	waits := w.heldRun()
	if got := plannedFor(context.Background(), waits); len(got) != 1 || got[0].Name != "infra-12" ||
		got[0].Namespace != "web" {
		t.Errorf("%v", got)
	}
	waits.Spec.Requirements = nil
	if got := plannedFor(context.Background(), waits); len(got) != 0 {
		t.Errorf("without requirements: %v", got)
	}
}

// Whether the base has changed the code of a Stack is read from the repository, if that is required, or if
// Cairn merges what is applied.
func TestDivergedStacksAreFound(t *testing.T) {
	l := newListing(t, "app", "net")
	l.repo.Spec.PullRequests.Apply = v1alpha1.ApplyBeforeMerge
	for _, name := range []string{"app", "net"} {
		s := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name}}
		s.Spec.Source.Git = &v1alpha1.GitSource{Repository: v1alpha1.RepositoryRef{Name: l.repo.Name}, Path: name}
		l.objects = append(l.objects, s)
	}
	head := l.push(gitserver.Change{Branch: "change", Onto: "main", Files: map[string]string{"app/more.tf": "# head",
		"net/more.tf": "# head"}})
	l.push(gitserver.Change{Files: map[string]string{"net/main.tf": "# of the base"}})
	diverged := func(required ...v1alpha1.Requirement) (names []string) {
		l.repo.Generation++
		l.repo.Spec.PullRequests.Requirements = required
		w := l.merge(head)
		if len(w.Merge.Affected) != 2 {
			t.Fatalf("affected: %+v", w.Merge.Affected)
		}
		for _, a := range w.Merge.Affected {
			if a.Diverged {
				names = append(names, a.Name)
			}
		}
		return names
	}
	if got := diverged(v1alpha1.RequirementUndiverged); !slices.Equal(got, []string{"net"}) {
		t.Errorf("diverged: %v", got)
	}
	if got := diverged(v1alpha1.RequirementApproved); got != nil {
		t.Errorf("not required: %v", got)
	}
	l.repo.Spec.PullRequests.AutomaticMerge = &v1alpha1.AutomaticMerge{Method: v1alpha1.MergeMethodMerge}
	if got := diverged(); !slices.Equal(got, []string{"net"}) {
		t.Errorf("for an automatic merge: %v", got)
	}
}
