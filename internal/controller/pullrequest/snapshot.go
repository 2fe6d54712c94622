package pullrequest

import (
	"crypto/sha256"
	"fmt"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
)

// Snapshot is the input of Decide.
type Snapshot struct {
	Now time.Time
	// PullRequest as it was read. Its status has what new comments request.
	PullRequest *v1alpha1.PullRequest
	Repository  *v1alpha1.Repository
	// Settings are spec.pullRequests of the Repository; nil if pull requests are not planned.
	Settings *v1alpha1.PullRequests
	// Merge of the head into the base; nil if it is not known, for the reason Waits or Problem.
	Merge *Merge
	// Waits is why the merge is not known yet. Problem is why it cannot be computed until a user acts.
	Waits, Problem string
	// Restricted is why a command has to name the head commit before a Stack is planned; empty if all may be planned.
	Restricted string
	// Runs of the Stacks in the status, by namespace and name. One that the API server does not have is nil.
	Runs map[Key]*v1alpha1.Run
	// Unapplied are the Runs of Stacks with changes of the base that are not applied, of those whose plans ended.
	Unapplied map[Key]string
	// Readers of outputs of the Stacks whose plans change outputs, and the readers of these.
	Readers map[Key][]Reader
	// After is what the Stacks did with the merge, if the pull request is merged and not all of that is final.
	After *After
	// Held are the Stacks that the pull request holds and that exist, with the revisions of its head in place of those
	// of a merge. MergeInBase reports that it is merged and that the base has the merge; gathered only while it holds a
	// Stack.
	Held        map[Key]AfterStack
	MergeInBase bool
	// Required are the Runs of these Stacks that wait for what the pull request lacks, with what is to be written to
	// them.
	Required []required
	// Holders are the holds of other pull requests on the affected Stacks.
	Holders map[Key]*v1alpha1.StackHold
	// Others are the other pull requests of the Repository that have, or had, a head of this one, by name.
	Others []*v1alpha1.PullRequest
	// Reactions to new comments. ReadAgain is when comments are read again; 0 for not before the pull request changes.
	Reactions []result
	ReadAgain time.Duration
	// UnreadReviews is why the reviews of the pull request cannot be read; empty if they can, or are not needed.
	UnreadReviews string
	// CommentedAt is when the comment was written last, if this process did.
	CommentedAt time.Time
	// WebURL is where users find the web UI; empty for no links to it.
	WebURL string
}

// Key is the namespace and the name of an object.
type Key struct{ Namespace, Name string }

// String returns namespace/name.
func (k Key) String() string { return k.Namespace + "/" + k.Name }

// Merge is the result of merging the head into the base.
type Merge struct {
	v1alpha1.PullRequestMerge
	// Empty: the merge result is the base.
	Empty bool
	// Unread: no Stack and no StackSet reads the base.
	Unread bool
	// Affected are the Stacks whose code differs between the base and the merge result, by namespace and name, and then
	// those that StackSets would create.
	Affected []Affected
	// StackSets are those whose lists of Stacks differ between the base and the merge result, or have an error.
	StackSets []v1alpha1.PullRequestStackSet
	// created are the Stacks that StackSets would create.
	created []newStack
	// Unplanned is what the merge changes and no plan shows.
	Unplanned *v1alpha1.PullRequestUnplanned
}

// Affected is a Stack that a pull request affects.
type Affected struct {
	Key
	UID string
	// InputsDigest of the plan; empty if the Stack is not to be planned, or for the reason Problem.
	InputsDigest string
	// Problem is why the plan cannot start. Waits reports that it ends by itself.
	Problem string
	Waits   bool
	// missing are the outputs that do not exist, if they are the reason of Problem.
	missing []missingOutput
	// Backend is the type of the engine's backend that has the state, of which the plan gets Cairn's copy; empty if
	// Cairn keeps the state.
	Backend string
	// Revision of the code.
	Revision string
	// Source of the code.
	Source *v1alpha1.GitOrigin
	// DeletedDirectory is the path of the Stack if the pull request deletes it, and DestroyInputsDigest the inputs of
	// the last apply.
	DeletedDirectory    string
	DestroyInputsDigest string
	// Empty: the directory of the Stack is deleted, and it was never applied. Problem has that there is no plan.
	Empty bool
	// Diverged: the base has a commit that the head lacks and that changes the code of the Stack. Gathered only if that
	// is a requirement of an apply before the merge.
	Diverged bool
	// New: the Stack does not exist. A StackSet would create it after the merge.
	New bool
	// Restricted is why the Stack is not planned before a command; empty if it may be.
	Restricted string
	// Rules is a Stack with only what decides what it does when the pull request is merged.
	Rules *v1alpha1.Stack
}

// runName returns the name of the Run of a plan. It differs from the names of the Stack's own Runs, which end with a
// number.
func runName(pull *v1alpha1.PullRequest, stack v1alpha1.PullRequestStack) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d", pull.UID, stack.Namespace, stack.PlanNumber))
	letters := make([]byte, 10)
	for i := range letters {
		letters[i] = 'a' + sum[i]%26
	}
	return fmt.Sprintf("%s-pr%d-%s", stack.Name, pull.Spec.Number, letters)
}
