package decision

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/api/v1alpha1"
)

// causedBy has the contributors of a Run as tests name them: kind, name and change.
func causedBy(spec *v1alpha1.RunSpec) (by []string) {
	if spec == nil {
		return []string{"no Run starts"}
	}
	for _, c := range spec.CausedBy {
		by = append(by, strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Kind, c.Name,
			strings.TrimPrefix(c.Of, "generation "))))
	}
	return by
}

const (
	baseCommit = "1f3c000000000000000000000000000000000000"
	headCommit = "2b4d000000000000000000000000000000000000"
)

// history is a Stack whose status follows a sequence of events.
type history struct {
	*testing.T
	w Snapshot
}

// newHistory returns the Stack after an apply of its first inputs.
func newHistory(t *testing.T) *history {
	h := &history{t, newSnapshot(manual, noSelfApproval, state(1))}
	h.w.Stack.Generation, h.w.Revision, h.w.Commit.ID = 1, "main@sha1:"+baseCommit, baseCommit
	h.w.Source = &v1alpha1.GitOrigin{Repository: "shop/infra", URL: "https://good.example.com"}
	h.w.RepositoryGeneration, h.w.RepositoryChangedBy = 1, "rita"
	h.by("carol")
	h.starts("sha256:one")
	h.applied()
	return h
}

func (h *history) by(user string) { annotate(v1alpha1.ChangedByAnnotation, user)(&h.w) }

// changes has a user change the spec.
func (h *history) changes(user string) {
	h.by(user)
	h.w.Stack.Generation++
}

// reads writes the status for inputs.
func (h *history) reads(digest string) {
	h.w.Digest, h.w.Problem = digest, nil
	h.w.Stack.Status = Status(h.w, Decide(h.w))
	h.w.Commits = Commits{}
}

// starts returns the Run that starts for inputs, and records it as one that was created.
func (h *history) starts(digest string) *v1alpha1.RunSpec {
	h.Helper()
	h.w.Digest, h.w.Problem = digest, nil
	d := Decide(h.w)
	if d.Start == nil {
		h.Fatalf("no Run starts for %s: %+v", digest, d)
	}
	h.w.Stack.Status = Status(h.w, d)
	h.w.Commits = Commits{}
	run := v1alpha1.Run{Spec: *d.Start, Status: v1alpha1.RunStatus{Phase: v1alpha1.PhaseAwaitingApproval,
		Plan: &v1alpha1.Plan{Changes: true}}}
	run.Name = d.Name
	h.w.Runs = append(h.w.Runs, run)
	h.w.LastInputs = &inputsOfLast
	return d.Start
}

func (h *history) ends(phase v1alpha1.RunPhase) {
	h.Helper()
	h.w.Runs[len(h.w.Runs)-1].Status.Phase = phase
}

// applied ends the newest Run with success, and writes the status.
func (h *history) applied() {
	h.Helper()
	applyStarted(&h.w.Runs[len(h.w.Runs)-1])
	h.ends(v1alpha1.PhaseSucceeded)
	h.reads(h.w.Digest)
}

func (h *history) commits(unknown string, authors ...string) {
	h.w.Commits = Commits{Base: h.w.Stack.Status.Unapplied.Commit, Unknown: unknown}
	for _, a := range authors {
		h.w.Commits.By = append(h.w.Commits.By, CommitContributor(a, "", "c0ffee", false))
	}
	h.w.Commit.ID, h.w.Revision = headCommit, "main@sha1:"+headCommit
}

func (h *history) expect(spec *v1alpha1.RunSpec, unknown string, want ...string) {
	h.Helper()
	if diff := cmp.Diff(want, causedBy(spec)); diff != "" {
		h.Errorf("-want +got:\n%s", diff)
	}
	if !strings.Contains(spec.CausedByUnknown, unknown) || (unknown == "") != (spec.CausedByUnknown == "") {
		h.Errorf("unknown is %q, want %q", spec.CausedByUnknown, unknown)
	}
}

// TestContributors checks which users a Run records as those who caused it.
func TestContributors(t *testing.T) {
	for name, steps := range map[string]func(h *history){
		"the user who changed the spec": func(h *history) {
			h.changes("alice")
			h.expect(h.starts("sha256:two"), "", "Spec alice 2")
		},
		"a pending change of another user": func(h *history) {
			h.changes("alice")
			h.starts("sha256:two")
			h.ends(v1alpha1.PhaseSuperseded)
			h.changes("bob")
			h.expect(h.starts("sha256:three"), "", "Spec alice 2", "Spec bob 3")
		},
		"a failed change that was reverted": func(h *history) {
			h.changes("alice")
			h.starts("sha256:two")
			applyStarted(&h.w.Runs[len(h.w.Runs)-1])
			h.ends(v1alpha1.PhaseFailed)
			h.changes("alice")
			h.expect(h.starts("sha256:one"), "")
			h.applied()
			h.commits("", "dan")
			h.expect(h.starts("sha256:three"), "", "Author dan c0ffee")
		},
		"a change that was reverted together with a commit": func(h *history) {
			h.changes("alice")
			h.starts("sha256:two")
			h.ends(v1alpha1.PhaseSuperseded)
			h.changes("alice")
			h.commits("", "dan")
			h.w.Commits.SpecApplied = true
			h.expect(h.starts("sha256:three"), "", "Author dan c0ffee")
		},
		"the authors of all commits, once": func(h *history) {
			h.commits("", "dan", "eve", "dan")
			h.expect(h.starts("sha256:two"), "", "Author dan c0ffee", "Author eve c0ffee")
			h.ends(v1alpha1.PhaseSuperseded)
			h.commits("", "eve") // dan's commit was reverted
			h.expect(h.starts("sha256:three"), "", "Author eve c0ffee")
		},
		"a change of the spec that changes no input": func(h *history) {
			h.changes("alice")
			h.reads("sha256:one")
			h.commits("", "dan")
			h.expect(h.starts("sha256:two"), "", "Author dan c0ffee")
		},
		"a change of the spec that changes no input while another change is pending": func(h *history) {
			h.changes("bob")
			h.starts("sha256:two")
			h.changes("alice")
			h.reads("sha256:two")
			h.ends(v1alpha1.PhaseSuperseded)
			h.expect(h.starts("sha256:two"), "", "Spec bob 2")
		},
		"the user who requests a retry, and the user whose change it is": func(h *history) {
			h.changes("alice")
			h.starts("sha256:two")
			h.ends(v1alpha1.PhaseFailed)
			withRequest("Apply")(&h.w)
			annotate(v1alpha1.RequestedByAnnotation, "bob")(&h.w)
			h.expect(h.starts("sha256:two"), "", "Spec alice 2", "Request bob")
		},
		"another source: the user who changed the Repository, until it is applied": func(h *history) {
			h.w.Source = &v1alpha1.GitOrigin{Repository: "shop/infra", URL: "https://evil.example.com"}
			h.w.RepositoryChangedBy, h.w.RepositoryGeneration = "alice", 2
			h.commits("", "dan")
			h.expect(h.starts("sha256:two"), "", "Repository alice 2", "Author dan c0ffee")
			h.applied()
			h.changes("bob")
			h.commits("")
			h.expect(h.starts("sha256:three"), "", "Spec bob 2")
		},
		"a change after the Run was created is not applied by it": func(h *history) {
			h.changes("alice")
			h.starts("sha256:two")
			h.changes("alice")
			h.reads("sha256:three")
			h.w.Digest = "sha256:three"
			h.applied()
			h.changes("bob")
			h.expect(h.starts("sha256:four"), "", "Spec alice 3", "Spec bob 4")
		},
		"two changes before Cairn read the first": func(h *history) {
			h.changes("alice")
			h.changes("bob")
			h.expect(h.starts("sha256:two"), "Stack net changed more than once before Cairn read it "+
				"(generations 2 to 3)", "Spec bob 3")
		},
		"a change of the spec without a user": func(h *history) {
			h.changes("")
			h.expect(h.starts("sha256:two"), "Stack net has no annotation cairn.dev/changed-by")
		},
		"a change by a StackSet, whose template several users may have changed": func(h *history) {
			h.changes("stackset:platform")
			h.expect(h.starts("sha256:two"), "StackSet platform changed Stack net")
		},
		"commits that cannot be listed": func(h *history) {
			h.commits("it is not in the repository")
			h.expect(h.starts("sha256:two"), "it is not in the repository")
		},
		"commits that were not listed": func(h *history) {
			h.w.Commit.ID = headCommit
			h.expect(h.starts("sha256:two"), "without spec.preventSelfApproval")
		},
		"more users than a Run can have": func(h *history) {
			var all []string
			for i := range mostContributors + 1 {
				all = append(all, fmt.Sprintf("dan%d", i))
			}
			h.commits("", all...)
			if spec := h.starts("sha256:two"); spec.CausedByUnknown != "there are more than 50 users" {
				h.Errorf("unknown is %q", spec.CausedByUnknown)
			}
			h.ends(v1alpha1.PhaseSuperseded)
			h.commits("", all...)
			withRequest("Apply")(&h.w)
			spec := h.starts("sha256:two")
			if last := spec.CausedBy[len(spec.CausedBy)-1]; len(spec.CausedBy) != mostContributors ||
				last.Name != "alice" || spec.CausedByUnknown == "" {
				h.Errorf("%d, the last is %+v: %s", len(spec.CausedBy), last, spec.CausedByUnknown)
			}
		},
		"a Stack of an older release with a pending change": func(h *history) {
			h.changes("alice")
			h.starts("sha256:two")
			h.ends(v1alpha1.PhaseSuperseded)
			h.w.Runs[1].Spec.Cause.By, h.w.Runs[1].Spec.CausedBy, h.w.Stack.Status.Unapplied = "alice", nil, nil
			h.changes("bob")
			h.expect(h.starts("sha256:three"), "", "Spec alice Run net-2", "Spec bob 3")
		},
	} {
		t.Run(name, func(t *testing.T) { steps(newHistory(t)) })
	}
}

// TestContributorsOfAnotherStackWithTheState checks that a Stack that is created again lists the commits since the last
// apply of its State, and not only those since its creation.
func TestContributorsOfAnotherStackWithTheState(t *testing.T) {
	w := newSnapshot(manual, noSelfApproval, state(1))
	w.Commit.ID = "head"
	if since, inclusive := UnappliedSince(w); since != "head" || !inclusive {
		t.Errorf("a State of an older release: %s, %v", since, inclusive)
	}
	w.State.Status.Revision = "main@sha1:base"
	if since, inclusive := UnappliedSince(w); since != "base" || inclusive {
		t.Errorf("got %s, %v", since, inclusive)
	}
}
