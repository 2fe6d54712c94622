package decision

import (
	"fmt"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
)

// Several rules claim which commit a Stack has. ChooseCommit has their order, and no rule knows another one.

// Claims are what claims the commit of a Stack; the zero value is none.
type Claims struct {
	// Hold is the pull request whose code the Stack has.
	Hold *v1alpha1.StackHold
	// Release is the release of the stage of a Pipeline that selects the Stack. Without a commit, the stage has none
	// yet.
	Release *v1alpha1.StackRelease
	// ReleaseProblem is why it is not known which release the Stack has, if Pipelines select it.
	ReleaseProblem *Problem
}

// CommitChoice is the code that a Stack has: that of its source, unless one of the fields is set.
type CommitChoice struct {
	// Hold: the merge of the two commits of a pull request.
	Hold *v1alpha1.StackHold
	// Commit: a commit of the history of the source.
	Commit string
	// Problem: none, and why. The Stack never has the code of its source instead.
	Problem *Problem
}

// IsSource reports that the Stack has the code of its source.
func (c CommitChoice) IsSource() bool { return c == CommitChoice{} }

// releaseAgain is when a Stack without a release is checked again. A promotion is an event, which comes before.
const releaseAgain = 10 * time.Minute

// ChooseCommit returns which code a Stack has.
func ChooseCommit(c Claims) CommitChoice {
	switch {
	case c.ReleaseProblem != nil:
		return CommitChoice{Problem: c.ReleaseProblem}
	case c.Hold != nil && c.Release != nil:
		return CommitChoice{Problem: &Problem{Reason: v1alpha1.ReasonPipelineConflict, Message: fmt.Sprintf(
			"%s holds the Stack, which %s selects: comment /cairn unlock there", c.Hold.Text(), c.Release.Text())}}
	case c.Hold != nil:
		return CommitChoice{Hold: c.Hold}
	case c.Release != nil && c.Release.Commit == "":
		return CommitChoice{Problem: &Problem{
			Transient: true, After: releaseAgain, Reason: v1alpha1.ReasonAwaitingRelease,
			Message: c.Release.Text() + " has no release yet: the Stack stays as it is until a release is promoted",
		}}
	case c.Release != nil:
		return CommitChoice{Commit: c.Release.Commit}
	}
	return CommitChoice{}
}
