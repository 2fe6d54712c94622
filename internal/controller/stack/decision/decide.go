package decision

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/shorten"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// Decision is the next step for a Stack, and its Ready condition until that is done.
type Decision struct {
	// Needs is what comes before anything is done by this decision. After it, the Stack is decided on again.
	Needs Need
	// Start a Run like this, and Name it so.
	Start *v1alpha1.RunSpec
	Name  string
	// Request is the request of a user that the Run accepts; empty when there is none.
	Request string
	// StateVersion is the version of the State that a user wrote, if the Run plans it for no other reason.
	StateVersion int64
	// Finish lets the Stack go. RemoveState takes its State along.
	Finish, RemoveState bool

	// Ready, Reason and Message are the condition; of a Stack that goes they are an event, if there is a Reason.
	Ready           metav1.ConditionStatus
	Reason, Message string
	// Stalled reports that nothing changes until a user acts.
	Stalled bool
	// RequeueAfter is when the Stack is reconciled again; 0 waits for an event.
	RequeueAfter time.Duration
	// NextDriftCheck is when the next drift check is due; nil when none can start as the Stack is now.
	NextDriftCheck *metav1.Time
}

// A Need is what a decision needs before anything is done by it. Each is met once in a reconciliation, and is then in
// Snapshot.Met.
type Need string

const (
	// NeedsFinalizer on the Stack, before anything is created.
	NeedsFinalizer Need = "Finalizer"
	// NeedsLeftover is Snapshot.Leftover, before a Run starts or the Stack goes.
	NeedsLeftover Need = "Leftover"
	// NeedsCommits is Snapshot.Commits, before a Run starts that spec.preventSelfApproval is for.
	NeedsCommits Need = "Commits"
	// NeedsDriftPause is Snapshot.DriftPause, before a Run starts that corrects drift.
	NeedsDriftPause Need = "DriftPause"
)

// A rule decides, or leaves it to the next one.
type rule func(Snapshot) (Decision, bool)

// A besideRule decides what starts, or is reported, beside how the Stack stands without it.
type besideRule func(w Snapshot, stands Decision) (Decision, bool)

// The rules of a Stack that is not deleted. Those of the first four lists decide how it stands (standing). They know
// no request and no read-only Run: those of the last list start or report one of these beside it.
var (
	// fences prevent every Run.
	fences = []rule{
		stateIsStranded,
		leftoverEndsFirst,
	}
	// ended prevent every Run that no user requests.
	ended = []rule{
		staysDestroyed,
		destroyStopped,
	}
	// obstacles prevent every Run but a destroy.
	obstacles = []rule{
		dependsOnItself,
		inputsArePending,
		inputsHaveProblem,
		runIsUnderWay,
	}
	// changes start a Run for what changed, or else report how the last one ended.
	changes = []rule{
		runIsDue,
		lastRunFailed,
		outputsAreForeign,
		outputsAreMissing,
		outputsFailed,
		lastRunCanceled,
		changesAreOnlyShown,
		correctionIsPaused,
		driftCorrectionIsDue,
		isDrifted,
		outputsCannotBeWritten,
		isReady,
	}
	requestsAndChecks = []besideRule{
		readOnlyRunEndsFirst,
		isSuspended,
		readOnlyRunIsUnderWay,
		requestIsPending,
		driftCheckIsDue,
	}
)

// deletion has the rules of a Stack that is being deleted.
var deletion = []rule{
	hasNoFinalizer,
	runEndsFirst,
	leftoverEndsFirst,
	stateIsStranded,
	isOrphaned,
	journalIsUnreadable,
	isDestroyed,
	hasUnclaimedState,
	isNotItsOwn,
	destroyIsUnderWay,
	dependentsGoFirst,
	destroyIsSuspended,
	isProtected,
	isNeverApplied,
	namespaceEnds,
	destroyLeftResources,
	destroyWasStopped,
	statesDiverged,
	destroyIsPrevented,
	destroyIsDue,
}

// UncachedRequeue is when a Stack is reconciled again whose Run under way the cache does not have, unless an event
// comes first.
const UncachedRequeue = time.Minute

// Decide returns the one next step, and when to check again.
func Decide(w Snapshot) Decision {
	var d Decision
	if w.Stack.DeletionTimestamp != nil {
		d, _ = first(w, deletion)
	} else {
		d = declared(w)
		d.RequeueAfter = Sooner(d.RequeueAfter, ignoreEnds(w))
		d.RequeueAfter = Sooner(d.RequeueAfter, holdEnds(w))
	}
	if w.CurrentRunUncached {
		d.RequeueAfter = Sooner(d.RequeueAfter, UncachedRequeue)
	}
	if d.Needs = needs(w, d); slices.Contains(w.Met, d.Needs) {
		d.Needs = ""
	}
	return d
}

// Sooner is the shorter of two times after which a Stack is reconciled again; 0 is never.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || (b != 0 && b < a) {
		return b
	}
	return a
}

// declared is the decision for a Stack that is not deleted.
func declared(w Snapshot) Decision {
	if d, ok := isNew(w); ok {
		return d
	}
	stands := standing(w)
	for _, r := range requestsAndChecks {
		if d, ok := r(w, stands); ok {
			return d
		}
	}
	return stands
}

// standing is how a Stack stands without requests of users and read-only Runs: what Ready is, and the Run that a change
// needs, if one is due.
func standing(w Snapshot) Decision {
	if d, ok := first(w, fences, ended, obstacles, []rule{changeAwaitsDependency}); ok {
		return d
	}
	d, _ := first(w, changes)
	if start, ok := userStateIsDue(w); ok {
		return beside(w, start, d)
	}
	return d
}

// beside is the decision to start a Run: Ready stays as the Stack stands, if the Run is read-only and no other one is
// due.
func beside(w Snapshot, start, stands Decision) Decision {
	if stands.Start != nil || !w.isReadOnly(&v1alpha1.Run{Spec: *start.Start}) {
		return start
	}
	stands.Start, stands.Name = start.Start, start.Name
	stands.Request, stands.StateVersion = start.Request, start.StateVersion
	return stands
}

// first is the decision of the first rule that has one.
func first(w Snapshot, lists ...[]rule) (Decision, bool) {
	for _, r := range slices.Concat(lists...) {
		if d, ok := r(w); ok {
			return d, true
		}
	}
	return Decision{}, false
}

// needs is what a decision needs first; empty for nothing.
func needs(w Snapshot, d Decision) Need {
	switch {
	case d.Needs != "":
		return d.Needs
	case isCorrection(d.Start) && !slices.Contains(w.Met, NeedsDriftPause):
		return NeedsDriftPause
	case (d.Start != nil || d.Finish) && !slices.Contains(w.Met, NeedsLeftover):
		return NeedsLeftover
	case d.Start != nil && d.Start.Operation == v1alpha1.OperationApply && w.Commit.ID != "" && preventsSelfApproval(w):
		return NeedsCommits
	}
	return ""
}

// Unready is the decision that the Stack is not Ready, for a reason.
func Unready(reason, format string, args ...any) (Decision, bool) {
	return Decision{Ready: metav1.ConditionFalse, Reason: reason, Message: fmt.Sprintf(format, args...)}, true
}

func stalled(reason, format string, args ...any) (Decision, bool) {
	d, ok := Unready(reason, format, args...)
	d.Stalled = true
	return d, ok
}

func progressing(reason, format string, args ...any) (Decision, bool) {
	return Decision{Ready: metav1.ConditionUnknown, Reason: reason, Message: fmt.Sprintf(format, args...)}, true
}

func isNew(w Snapshot) (Decision, bool) {
	if slices.Contains(w.Stack.Finalizers, v1alpha1.Finalizer) {
		return Decision{}, false
	}
	return Decision{Needs: NeedsFinalizer}, true
}

// isSuspended starts nothing. A Stack that is as declared stays Ready; any other waits for a user.
func isSuspended(w Snapshot, stands Decision) (Decision, bool) {
	if !w.Stack.Spec.Suspend || w.changeUnderWay() != nil {
		return Decision{}, false
	}
	d := suspension(w)
	switch {
	case stands.Reason == "" && readySays(w, d.Reason): // nothing new is known
		return Decision{}, true
	case stands.Ready == metav1.ConditionTrue && stands.Start == nil:
		d.Ready, d.Stalled, d.Message = metav1.ConditionTrue, false, stands.Message+"; "+d.Message
	}
	return d, true
}

// suspension reports that a Stack starts nothing, who suspended it, and the request that waits.
func suspension(w Snapshot) Decision {
	gone := ""
	if w.Stack.Annotations[v1alpha1.ItemGoneAnnotation] != "" {
		gone = "StackSet " + w.Stack.StackSet() + " does not generate it any more; "
	}
	d, _ := stalled(v1alpha1.ReasonSuspended, "%snothing is planned, applied or destroyed until spec.suspend is "+
		"false: cairn resume %s", gone, w.Stack.Name)
	if q, waits := PendingRequest(w); waits {
		d.Message += "; the Run that was " + q.Who() + " waits for that"
	}
	return d
}

// inputsArePending waits for facts that the inputs need. Until then the status stays as it is: it is the latest that is
// known.
func inputsArePending(w Snapshot) (Decision, bool) {
	if w.Problem == nil || !w.Problem.Transient || w.changeUnderWay() != nil {
		return Decision{}, false
	}
	if w.Problem.Missing {
		return Unready(w.Problem.Reason, "%s", w.Problem.Message)
	}
	if known := w.Stack.Status; w.Problem.After == 0 && known.InputsDigest != "" &&
		known.ObservedGeneration == w.Stack.Generation && !readySays(w, w.Problem.Reason) {
		return Decision{}, true
	}
	d, ok := progressing(w.Problem.Reason, "%s", w.Problem.Message)
	d.RequeueAfter = w.Problem.After
	return d, ok
}

func readySays(w Snapshot, reason string) bool { return ReadyReason(w.Stack.Status) == reason }

func inputsHaveProblem(w Snapshot) (Decision, bool) {
	if w.Problem == nil || w.changeUnderWay() != nil {
		return Decision{}, false
	}
	return stalled(w.Problem.Reason, "%s", w.Problem.Message)
}

func runIsUnderWay(w Snapshot) (Decision, bool) {
	r := w.changeUnderWay()
	if r == nil {
		return Decision{}, false
	}
	d, ok := runProgress(r)
	// who approves has to know
	if p := w.Problem; p != nil && !p.Transient && d.Reason == v1alpha1.ReasonAwaitingApproval {
		d.Message += fmt.Sprintf("; after this Run none starts, since the inputs have changed: %s: %s",
			p.Reason, p.Message)
	}
	return d, ok
}

// runProgress is the Ready condition while a Run is under way: what the Run waits for, or only that it is under way. It
// does not follow each phase: the Run has that, and each would be one more write.
func runProgress(r *v1alpha1.Run) (Decision, bool) {
	c := runCondition(r)
	if reason, _ := v1alpha1.ReasonNamed(c.Reason); reason.WaitsFor != "" && reason.In&v1alpha1.InStack != 0 {
		return Unready(c.Reason, "Run %s: %s", r.Name, c.Message)
	}
	d, ok := inProgress(r.Name, r.Spec)
	if n := len(r.Status.Attempts); n > 1 && r.Status.Attempts[n-2].Failure != nil {
		d.Message += fmt.Sprintf("; attempt %d, after: %s", r.Status.Attempts[n-1].Number,
			shorten.Line(r.Status.Attempts[n-2].Failure.Message, mostOfFailure))
	}
	return d, ok
}

// mostOfFailure is how much of the failure before an attempt the Ready condition has, in bytes.
const mostOfFailure = 200

func inProgress(name string, spec v1alpha1.RunSpec) (Decision, bool) {
	if spec.Operation == v1alpha1.OperationDestroy {
		return progressing(v1alpha1.ReasonDestroying, "Run %s destroys: %s", name, spec.Cause.Message)
	}
	if spec.Operation == v1alpha1.OperationShell {
		return progressing(v1alpha1.ReasonRunning, "Run %s holds a shell: %s", name, spec.Cause.Message)
	}
	return progressing(v1alpha1.ReasonRunning, "Run %s is under way: %s", name, spec.Cause.Message)
}

func runIsDue(w Snapshot) (Decision, bool) {
	if !isDue(w) {
		return Decision{}, false
	}
	return startDeploy(w, operation(w), causeOf(w))
}

// isDue reports that a Run of the inputs is due. They are not applied, and either no Run tried them, or the last one
// could only plan them, or the state that it lost was restored, or they were applied before a Run of which nothing is
// known any more.
func isDue(w Snapshot) bool {
	if appliedInputs(w) == w.Digest {
		return false
	}
	last := w.lastDeployRun()
	return last == nil || w.missingRunMayHaveDeployed() || last.Spec.InputsDigest != w.Digest ||
		last.Spec.Operation != operation(w) ||
		last.Status.Phase == v1alpha1.PhaseSuperseded || appliedButLost(w, last) ||
		(isStranded(last) && stateWasRestored(w, last))
}

// appliedButLost reports that a Run applied the inputs, and that they are not applied any more for an unknown reason: a
// later Run was deleted by hand. A destroy is a known reason.
func appliedButLost(w Snapshot, r *v1alpha1.Run) bool {
	return r.Status.Phase == v1alpha1.PhaseSucceeded &&
		r.Spec.Operation == v1alpha1.OperationApply && w.LastMutatingRun() == r && destroyedBy(w) == ""
}

// operation is the operation of a Run for a change.
func operation(w Snapshot) v1alpha1.Operation {
	if w.Stack.Spec.Apply == v1alpha1.ApplyNever {
		return v1alpha1.OperationPlan
	}
	return v1alpha1.OperationApply
}

func startDeploy(w Snapshot, operation v1alpha1.Operation, c v1alpha1.Cause) (Decision, bool) {
	return startRun(w, v1alpha1.RunSpec{Operation: operation, Cause: c, InputsDigest: w.Digest, Revision: w.Revision})
}

// How long texts in a Run may be. Users choose the names in them without a limit, and the API server rejects a Run that
// is too long: it would be created again and again, without a word in the status.
const (
	longestCause    = 1000
	longestRevision = 300
)

func startRun(w Snapshot, spec v1alpha1.RunSpec) (Decision, bool) {
	spec.Stack.Name = w.Stack.Name
	if spec.Operation != v1alpha1.OperationDestroy { // its code is that of the last apply
		spec.Source = w.Source
	}
	setApprovalRules(w, &spec)
	setContributors(w, &spec)
	spec.Cause.Message, spec.Revision = runinfo.Clip(spec.Cause.Message, longestCause), runinfo.Clip(spec.Revision,
		longestRevision)
	name := nextRunName(w)
	d, ok := inProgress(name, spec)
	if w.Reserved.Run == name && w.Reserved.Rejection != "" {
		d.Message = w.Reserved.Rejection
	}
	d.Start, d.Name = &spec, name
	return d, ok
}

func changesAreOnlyShown(w Snapshot) (Decision, bool) {
	last := w.LastMutatingRun()
	if last == nil || last.Spec.Operation != v1alpha1.OperationPlan || last.Spec.InputsDigest != w.Digest ||
		last.Status.Plan == nil || !last.Status.Plan.Changes {
		return Decision{}, false
	}
	return stalled(v1alpha1.ReasonChangesPending, "Run %s: %s; not applied, since spec.apply is Never: cairn diff %s "+
		"shows them", last.Name, runinfo.Summary(last.Status.Plan), w.Stack.Name)
}

func isReady(w Snapshot) (Decision, bool) {
	d := Decision{Ready: metav1.ConditionTrue, Reason: v1alpha1.ReasonApplied, Message: "no resources"}
	switch n := resources(w); {
	case n < 0: // its engine encrypts the state
		d.Message = "Up to date"
	case n == 1:
		d.Message = "Up to date (1 resource)"
	case n > 1:
		d.Message = fmt.Sprintf("Up to date (%d resources)", n)
	}
	if w.Hold != nil {
		d.Message += fmt.Sprintf("; %s is applied, and stays %s", w.Hold.Text(), w.Hold.Until())
	}
	d.Message += runinfo.IgnoredDrift(driftStatus(w)) + lastCheckFailed(w)
	d.NextDriftCheck = nextDriftCheck(w)
	d.RequeueAfter = until(w, d.NextDriftCheck)
	return d, true
}

func resources(w Snapshot) v1alpha1.ResourceCount {
	if w.State == nil {
		return 0
	}
	return w.State.Status.Resources
}

// countResources words a number of resources, which is not known of a state that its engine encrypts.
func countResources(n v1alpha1.ResourceCount) string {
	if n < 0 {
		return "resources"
	}
	return fmt.Sprintf("%d resources", n)
}

// messageOf is what a Run reports about itself, as a part of a sentence.
func messageOf(r *v1alpha1.Run) string { return strings.TrimSuffix(runCondition(r).Message, ".") }

func runCondition(r *v1alpha1.Run) metav1.Condition {
	for _, c := range r.Status.Conditions {
		if c.Type == v1alpha1.ConditionSucceeded {
			return c
		}
	}
	return metav1.Condition{}
}
