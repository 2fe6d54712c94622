package decision

import (
	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/approval"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// Code from another source is a change of the user who changed the source, and not of the author of the commit that is
// found there. It stays that user's change until it is applied.

// originChange is the object in which the source of the code changed since the last apply; empty when it did not.
type originChange string

const (
	changedInStack      originChange = "Stack"
	changedInRepository originChange = "Repository"
)

// compareOrigins returns where the source changed. One that is not known has not changed.
func compareOrigins(before, now *v1alpha1.GitOrigin) originChange {
	switch {
	case before == nil || now == nil:
		return ""
	case before.Repository != now.Repository || before.Ref != now.Ref:
		return changedInStack
	case *before != *now:
		return changedInRepository
	}
	return ""
}

// originChangedBy is the user who changed the source; empty when not known.
func originChangedBy(w Snapshot, change originChange) string {
	switch change {
	case changedInStack:
		return changedBy(w.Stack)
	case changedInRepository:
		return runinfo.Clip(w.RepositoryChangedBy, 253)
	}
	return ""
}

// ofOrigin is the cause of code that may be from another source: the user who changed the Repository goes before the
// author of a commit, and before the user who changed the Stack.
func ofOrigin(w Snapshot, c v1alpha1.Cause) v1alpha1.Cause {
	if change := compareOrigins(w.Stack.Status.Source, w.Source); change == changedInRepository {
		c.By = originChangedBy(w, change)
	}
	return c
}

// appliedOrigin is the source that the status keeps: that of the last apply, or the first one that was read. A Run that
// another user caused applies no change of the source: who approved it may be the user who changed that.
func appliedOrigin(w Snapshot) *v1alpha1.GitOrigin {
	known, last := w.Stack.Status.Source, w.lastDeployRun()
	switch {
	case known == nil:
		return w.Source
	case last == nil || last.Spec.Source == nil || !begun(last):
		return known
	}
	if by := originChangedBy(w, compareOrigins(known, last.Spec.Source)); by != "" && !approval.Caused(last, by) {
		return known
	}
	return last.Spec.Source
}
