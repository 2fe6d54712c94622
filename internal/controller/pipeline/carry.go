package pipeline

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/pipeline/decision"
	"cairn.dev/cairn/internal/lifecycle/approval"
	"cairn.dev/cairn/internal/lifecycle/promotion"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

const (
	// mostPast is how many applies of a Stack are searched for that of a release.
	mostPast = 5
	// readAgain is when what could not be read is read again.
	readAgain = time.Minute
	// longestRefusal is the maximum length of why an approval does not count, in bytes.
	longestRefusal = 200
)

// gatherCarried adds the approvals of the stage before that count for plans that wait, and why others do not. What
// cannot be read carries nothing, and keeps no promotion back.
func (r *Reconciler) gatherCarried(ctx context.Context, w *decision.Snapshot, members map[string][]origin) error {
	p := w.Pipeline
	for i := 1; i < len(p.Spec.Stages); i++ {
		spec, stage := &p.Spec.Stages[i], p.Stage(p.Spec.Stages[i].Name)
		if spec.CarryApproval != v1alpha1.CarrySameShape || stage == nil || stage.Release == "" {
			continue
		}
		for _, of := range members[spec.Name] {
			run, err := r.waiting(ctx, of.stack)
			if err != nil {
				return err
			}
			if run == nil {
				continue
			}
			facts, err := r.sameShape(ctx, p, i, of.stack, run, members)
			refusal := facts.Refusal()
			if err != nil {
				ctrl.LoggerFrom(ctx).Error(err, "cannot read what an approval depends on", "run", run.Name)
				refusal, w.ReadAgain = "Cairn cannot read the plans or the inputs", readAgain
			}
			if refusal == "" {
				w.Carried = append(w.Carried, decision.Carried{Run: run, Approval: v1alpha1.CarriedApproval{
					PlanDigest: run.Status.Plan.Digest, By: facts.By(), At: metav1.Time{Time: w.Now},
					Stage: &v1alpha1.CarriedFromStage{
						Pipeline: p.Name, Name: p.Spec.Stages[i-1].Name, Run: facts.Approved.Name,
						Release: stage.Release,
					},
				}})
				continue
			}
			k := slices.IndexFunc(w.Stages[spec.Name], func(s decision.Stack) bool { return s.Name == of.stack.Name })
			w.Stages[spec.Name][k].NotCarried = runinfo.Clip(refusal, longestRefusal)
		}
	}
	return nil
}

// waiting returns the Run of a Stack whose plan requires an approval, and has none; nil if there is none.
func (r *Reconciler) waiting(ctx context.Context, stack *v1alpha1.Stack) (*v1alpha1.Run, error) {
	if stack.Status.CurrentRun == "" {
		return nil, nil
	}
	run := &v1alpha1.Run{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: stack.Namespace, Name: stack.Status.CurrentRun}, run)
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if run.Spec.Stack.Name != stack.Name || !approval.Pending(run) || run.Status.Approval == nil {
		return nil, nil
	}
	if a := approval.Given(run); a != nil && a.PlanDigest == run.Status.Plan.Digest {
		return nil, nil
	}
	return run, nil
}

// sameShape returns what is known of the plan of a Run and that of the stage before.
func (r *Reconciler) sameShape(
	ctx context.Context, p *v1alpha1.Pipeline, i int, stack *v1alpha1.Stack, run *v1alpha1.Run,
	members map[string][]origin,
) (approval.SameShape, error) {
	stage, before := p.Stage(p.Spec.Stages[i].Name), p.Spec.Stages[i-1].Name
	facts := approval.SameShape{
		Run: run, PreventSelfApproval: stack.Spec.PreventSelfApproval, Held: stage.Hold != nil,
		OfRelease: hasRelease(stack, p, stage) && stack.Status.InputsDigest == run.Spec.InputsDigest,
	}
	if release, _ := p.Release(stage.Release); release != nil {
		in := release.In(before)
		facts.Completed = in != nil && in.CompletedAt != nil
	}
	if !facts.OfRelease || !facts.Completed {
		return facts, nil
	}
	var err error
	if facts.OnlyCode, err = r.onlyCode(ctx, stack.Status.AppliedInputsDigest, run.Spec.InputsDigest); err != nil {
		return facts, err
	}
	var other *v1alpha1.Stack
	other, facts.Unknown = promotion.Corresponding(p, i, stack, stacksOf(members[before]),
		stacksOf(members[stage.Name]))
	if other == nil {
		return facts, nil
	}
	facts.ApprovedPrevents = other.Spec.PreventSelfApproval
	from := slices.IndexFunc(members[before], func(o origin) bool { return o.stack.Name == other.Name })
	facts.Approved, err = r.applied(ctx, members[before][from], stage.Release)
	return facts, err
}

func stacksOf(members []origin) (stacks []*v1alpha1.Stack) {
	for _, m := range members {
		stacks = append(stacks, m.stack)
	}
	return stacks
}

// onlyCode reports whether inputs differ from those that are applied in the code only. Without applied ones that is not
// known.
func (r *Reconciler) onlyCode(ctx context.Context, applied, now string) (bool, error) {
	if applied == "" {
		return false, nil
	}
	before, err := r.Inputs.Get(ctx, applied)
	if err != nil {
		return false, err
	}
	after, err := r.Inputs.Get(ctx, now)
	return err == nil && sameExceptCode(before, after), err
}

func sameExceptCode(a, b inputs.Document) bool {
	without := func(d inputs.Document) inputs.Document {
		d.Source = ""
		if d.Build != nil {
			build := *d.Build
			build.Source, d.Build = "", &build
		}
		return d
	}
	return reflect.DeepEqual(without(a), without(b))
}

// applied returns the newest Run that applied the code of a release to a Stack since commits changed; nil if none is
// known.
func (r *Reconciler) applied(ctx context.Context, of origin, release string) (*v1alpha1.Run, error) {
	read := 0
	for _, past := range slices.Backward(of.stack.Status.History) {
		if past.Operation != v1alpha1.OperationApply || !past.Applied || past.Cause.Type != v1alpha1.CauseCommit {
			continue
		}
		if read++; read > mostPast {
			return nil, nil
		}
		run, err := r.past.get(ctx, r.Live, of.stack.Namespace, past)
		if err != nil {
			return nil, err
		}
		if run == nil {
			continue
		}
		if same, err := of.same(ctx, runinfo.CommitOf(run.Spec.Revision), release); same || err != nil {
			return run, err
		}
	}
	return nil, nil
}

// pastRuns are Runs that succeeded, by UID: they never change.
type pastRuns struct {
	sync.Mutex
	known map[types.UID]*v1alpha1.Run
}

// mostKnown is how many Runs are kept in memory.
const mostKnown = 500

// get returns a Run that succeeded; nil if it is deleted.
func (c *pastRuns) get(
	ctx context.Context, live client.Reader, namespace string, past v1alpha1.PastRun,
) (*v1alpha1.Run, error) {
	c.Lock()
	defer c.Unlock()
	if run := c.known[past.UID]; run != nil {
		return run, nil
	}
	run := &v1alpha1.Run{}
	err := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: past.Name}, run)
	if err != nil || run.UID != past.UID {
		return nil, client.IgnoreNotFound(err)
	}
	if len(c.known) >= mostKnown || c.known == nil {
		c.known = map[types.UID]*v1alpha1.Run{}
	}
	run.ManagedFields, run.Status.Attempts = nil, nil
	c.known[past.UID] = run
	return run, nil
}

// carry writes approvals to the Runs for which they count, as long as these are as they were read.
func (r *Reconciler) carry(ctx context.Context, all []decision.Carried) error {
	for _, c := range all {
		run := c.Run.DeepCopy()
		run.Status.CarriedApproval = &c.Approval
		change := client.MergeFromWithOptions(c.Run, client.MergeFromWithOptimisticLock{})
		if err := r.Client.Status().Patch(ctx, run, change); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("write the approval of Run %s/%s: %w", run.Namespace, run.Name, err)
		}
	}
	return nil
}
