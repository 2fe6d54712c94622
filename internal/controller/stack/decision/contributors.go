package decision

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/approval"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// With spec.preventSelfApproval, no user approves what they caused. Several users may have caused what a Run applies:
// the status of the Stack has all of them since the last apply, and the Run has those that it applies.
//
//	spec or Repository changes ──► status.unapplied ──► spec.causedBy of the Run ──► applied, or reverted: removed from the status
//	State, commits, request ────────────────────────────────┘
//
// Who wrote commits, and versions of the State, is derived again for each Run. What cannot be known is in
// causedByUnknown, and then an approval requires a request of another user: two users want it so.

const (
	// mostContributors is how many contributors a Stack and a Run may have.
	mostContributors = 50
	longestName      = 253
)

// Commits are the contributors of commits, gathered when a Run starts that spec.preventSelfApproval is for.
type Commits struct {
	// Base is the commit after which they were listed; empty if they were not.
	Base string
	By   []v1alpha1.Contributor
	// Unknown is why there may be others; empty when there are none.
	Unknown string
	// SpecApplied reports that everything in the inputs that the spec decides is as it was last applied.
	SpecApplied bool
}

// UnappliedSince is the commit after which commits are not applied, and whether it is not applied itself.
func UnappliedSince(w Snapshot) (commit string, inclusive bool) {
	u := unapplied(w)
	return u.Commit, u.InputsDigest == "" && (w.State == nil || w.State.Status.Revision == "")
}

// unapplied is what the status has of the users who changed the inputs since the last apply.
func unapplied(w Snapshot) *v1alpha1.Unapplied {
	u := firstUnapplied(w)
	if w.Stack.Status.Unapplied != nil {
		u = w.Stack.Status.Unapplied.DeepCopy()
	}
	if u.Commit == "" {
		u.Commit = w.Commit.ID
	}
	recordApply(w, u)
	if w.Stack.DeletionTimestamp != nil { // a destroy has the inputs of the last apply
		return u
	}
	recordSpec(w, u)
	recordRepository(w, u)
	recordSelecting(w, u)
	if u.InputsDigest != "" && u.InputsDigest == w.Digest && compareOrigins(appliedOrigin(w), w.Source) == "" {
		u.Contributors, u.Unknown = nil, ""
	}
	if w.Commits.Base != "" { // listed again: those of commits that were reverted are gone
		if w.Commits.Base == u.Commit {
			u.Contributors = slices.DeleteFunc(u.Contributors, isOfCommit)
		}
		u.Commit = w.Commits.Base
		for _, c := range w.Commits.By {
			addContributor(u, c)
		}
	}
	return u
}

// firstUnapplied is what is known of a Stack without a record: a new one, or one of an older release.
func firstUnapplied(w Snapshot) *v1alpha1.Unapplied {
	s, u := w.Stack.Status, &v1alpha1.Unapplied{}
	if w.State != nil {
		u.Commit = runinfo.CommitOf(w.State.Status.Revision)
	}
	if !s.Observed() {
		return u
	}
	u.Generation, u.InputsDigest = s.ObservedGeneration, s.AppliedInputsDigest
	if s.AppliedInputsDigest == s.InputsDigest {
		u.Commit = cmp.Or(runinfo.CommitOf(s.Revision), u.Commit)
	}
	if last := w.lastDeployRun(); last != nil && last.Spec.Cause.By != "" &&
		last.Spec.InputsDigest != s.AppliedInputsDigest {
		addContributor(u, v1alpha1.Contributor{Kind: v1alpha1.ContributorSpec, Name: last.Spec.Cause.By, Of: "Run " +
			last.Name})
	}
	return u
}

// recordApply removes those whose changes the newest Run applied.
func recordApply(w Snapshot, u *v1alpha1.Unapplied) {
	digest, last := appliedInputs(w), w.LatestRun()
	if digest == "" || last == nil || last.Spec.InputsDigest != digest || digest == w.Stack.Status.AppliedInputsDigest {
		return
	}
	u.InputsDigest = digest
	u.Commit = cmp.Or(runinfo.CommitOf(last.Spec.Revision), u.Commit)
	u.Contributors = slices.DeleteFunc(u.Contributors, func(c v1alpha1.Contributor) bool {
		return isOfCommit(c) || slices.ContainsFunc(last.Spec.CausedBy, func(o v1alpha1.Contributor) bool {
			return o.Kind == c.Kind && o.Name == c.Name && o.Of == c.Of
		})
	})
	if u.Unknown == last.Spec.CausedByUnknown {
		u.Unknown = ""
	}
}

// recordSpec adds the user who changed the spec, unless that changed no input.
func recordSpec(w Snapshot, u *v1alpha1.Unapplied) {
	generation := w.Stack.Generation
	if generation == u.Generation {
		return
	}
	s := w.Stack.Status
	same := s.Observed() && w.Problem == nil && w.Digest == s.InputsDigest &&
		compareOrigins(appliedOrigin(w), w.Source) != changedInStack
	if !same {
		addUser(u, v1alpha1.ContributorSpec, changedBy(w.Stack), generation, u.Generation, "Stack "+w.Stack.Name)
	}
	u.Generation = generation
}

// recordRepository adds the user who changed the source of the code in the Repository.
func recordRepository(w Snapshot, u *v1alpha1.Unapplied) {
	if w.RepositoryGeneration == 0 {
		return
	}
	if compareOrigins(appliedOrigin(w), w.Source) == changedInRepository {
		before := cmp.Or(u.RepositoryGeneration, w.RepositoryGeneration)
		addUser(u, v1alpha1.ContributorRepository, w.RepositoryChangedBy, w.RepositoryGeneration, before, "Repository "+
			w.Source.Repository)
	}
	u.RepositoryGeneration = w.RepositoryGeneration
}

// recordSelecting records that VariableSets or StackPolicies changed an input: who changed one since the last apply is
// not known. The status has those of its inputs digest.
func recordSelecting(w Snapshot, u *v1alpha1.Unapplied) {
	if w.Effective == nil || w.Digest == "" || w.Digest == w.Stack.Status.InputsDigest {
		return
	}
	if set := changedVariableSet(w.Stack.Status.VariableSets, w.Effective.Status.VariableSets); set != "" {
		u.Unknown = fmt.Sprintf("VariableSet %s, or the labels that it selects, changed", set)
	}
	if policy := changedStackPolicy(w); policy != "" {
		u.Unknown = fmt.Sprintf("StackPolicy %s, or the labels that it selects, changed", policy)
	}
}

// addUser adds the user of one generation of an object. Of more than one at once only the last user is known.
func addUser(u *v1alpha1.Unapplied, kind v1alpha1.ContributorKind, user string, generation, before int64,
	object string) {
	if user == "" {
		u.Unknown = fmt.Sprintf("%s has no annotation %s", object, v1alpha1.ChangedByAnnotation)
		return
	}
	// several users may have changed its template
	if set, ok := strings.CutPrefix(user, v1alpha1.ChangedByStackSet); ok {
		u.Unknown = fmt.Sprintf("StackSet %s changed %s", set, object)
		return
	}
	if generation > before+1 {
		u.Unknown = fmt.Sprintf("%s changed more than once before Cairn read it (generations %d to %d)", object,
			before+1, generation)
	}
	addContributor(u, v1alpha1.Contributor{
		Kind: kind, Name: runinfo.Clip(user, longestName), Of: "generation " + strconv.FormatInt(generation, 10),
	})
}

// addContributor adds one, or only what they did last.
func addContributor(u *v1alpha1.Unapplied, c v1alpha1.Contributor) {
	for i := range u.Contributors {
		if known := &u.Contributors[i]; known.Kind == c.Kind && known.Name == c.Name {
			known.Of = c.Of
			return
		}
	}
	if len(u.Contributors) == mostContributors {
		u.Unknown = fmt.Sprintf("there are more than %d users", mostContributors)
		return
	}
	u.Contributors = append(u.Contributors, c)
}

func isOfCommit(c v1alpha1.Contributor) bool {
	return c.Kind == v1alpha1.ContributorAuthor || c.Kind == v1alpha1.ContributorCommitter
}

// setContributors sets who caused what a Run applies.
func setContributors(w Snapshot, spec *v1alpha1.RunSpec) {
	if spec.Operation != v1alpha1.OperationApply {
		return
	}
	u := unapplied(w)
	if w.Commits.SpecApplied && compareOrigins(appliedOrigin(w), w.Source) != changedInStack {
		u.Contributors = slices.DeleteFunc(u.Contributors, func(c v1alpha1.Contributor) bool {
			return c.Kind == v1alpha1.ContributorSpec
		})
	}
	for _, c := range stateContributors(w) {
		if c.Name == "" {
			u.Unknown = "version " + c.Of + " of the state was written by a user whose name is not known"
			continue
		}
		addContributor(u, c)
	}
	switch {
	case w.Commits.Unknown != "":
		u.Unknown = w.Commits.Unknown
	case w.Commits.Base == "" && w.Commit.ID != "" && w.Commit.ID != u.Commit:
		u.Unknown = "the Run was created without spec.preventSelfApproval, so the authors of its commits were not read"
	}
	spec.CausedBy, spec.CausedByUnknown = u.Contributors, runinfo.Clip(u.Unknown, longestCause)
	if w.Hold != nil && u.Unknown != "" { // who applied the pull request wants it
		addRequest(spec, w.Hold.By)
	}
}

// addRequest adds the user who requested a Run. There is always a place: an approval is valid by the request
// if others are not known.
func addRequest(spec *v1alpha1.RunSpec, user string) {
	if user == "" {
		return
	}
	if len(spec.CausedBy) == mostContributors {
		spec.CausedBy = spec.CausedBy[:mostContributors-1]
		spec.CausedByUnknown = cmp.Or(spec.CausedByUnknown,
			fmt.Sprintf("there are more than %d users", mostContributors-1))
	}
	spec.CausedBy = append(spec.CausedBy, v1alpha1.Contributor{Kind: v1alpha1.ContributorRequest,
		Name: runinfo.Clip(user, longestName)})
}

// stateContributors are the users who wrote the current version of the State, and those before it that no Run wrote.
func stateContributors(w Snapshot) (by []v1alpha1.Contributor) {
	version, _ := userVersion(w)
	if p := w.Stack.Status.PlannedState; version != 0 && p != nil && p.Version == version {
		if r := w.RunNamed(p.Run); r != nil && r.Status.Phase == v1alpha1.PhaseSucceeded &&
			r.Spec.Operation == v1alpha1.OperationApply {
			return nil
		}
	}
	if version == 0 {
		return nil
	}
	for _, v := range slices.Backward(w.State.Status.Versions) {
		if v.Run != "" {
			break
		}
		by = append(by, v1alpha1.Contributor{Kind: v1alpha1.ContributorState, Name: runinfo.Clip(v.By, longestName),
			Of: strconv.FormatInt(v.Version, 10)})
	}
	return by
}

// CommitContributor is a user whom a commit names.
func CommitContributor(name, email, commit string, committer bool) v1alpha1.Contributor {
	c := v1alpha1.Contributor{Kind: v1alpha1.ContributorAuthor, Name: name, Of: commit[:min(7, len(commit))]}
	if committer {
		c.Kind = v1alpha1.ContributorCommitter
	}
	if email != "" {
		c.Name = strings.TrimSpace(name + " <" + email + ">")
	}
	c.Name, c.Users = runinfo.Clip(c.Name, longestName), approval.UsersOf(name, email)
	return c
}
