// Package dispatch is between the server and the runners: orders and interrupts to them, reports from them.
package dispatch

import (
	"context"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/broadcast"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/run/decision"
	"cairn.dev/cairn/internal/controller/run/index"
	"cairn.dev/cairn/internal/controller/run/podspec"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/runnerapi"
)

// Orders are the next orders of waiting runners. All exported fields are required.
type Orders struct {
	// Runs are those of the pods.
	Runs *RunsByPod
	// Client reads Stacks from a cache.
	Client client.Reader
	// Live reads without a cache.
	Live client.Reader
	// Inputs has the documents of Runs.
	Inputs *inputs.Store
	// Policy reports whether there are policies to evaluate for the plan of a Run.
	Policy func(context.Context, *v1alpha1.Run) (bool, error)
	// Patience and Recipient are passed on to runners.
	Patience  time.Duration
	Recipient func() string

	changes broadcast.Broadcaster[types.UID] // by pod
}

// Changed wakes the runners that wait on a Run. It is called for each event on a Run.
func (o *Orders) Changed(run *v1alpha1.Run) {
	for _, a := range run.Status.Attempts {
		o.changes.Notify(a.PodUID)
	}
}

// Next is the pod's next order after the attempt that it has completed last; Wait when there is none by the time ctx is
// done.
func (o *Orders) Next(
	ctx context.Context, pod types.NamespacedName, uid types.UID, after int32,
) (runnerapi.Order, error) {
	changed, cancel := o.changes.Subscribe(uid) // before the first read, so that no change is missed
	defer cancel()
	for {
		order, until, err := o.current(ctx, pod, uid, after)
		if err != nil || order.Kind != runnerapi.OrderWait {
			return order, err
		}
		var timer <-chan time.Time
		if !until.IsZero() {
			timer = time.After(time.Until(until))
		}
		select {
		case <-ctx.Done():
			return order, nil
		case <-changed:
		case <-timer:
		}
	}
}

// current is the pod's order now. until is when a Wait is over.
func (o *Orders) current(
	ctx context.Context, pod types.NamespacedName, uid types.UID, after int32,
) (order runnerapi.Order, until time.Time, err error) {
	run, err := o.Runs.ByPod(ctx, pod, uid)
	if err != nil {
		return order, until, err
	}
	if run == nil { // the pod exists, but no attempt names it yet
		return runnerapi.Order{Kind: runnerapi.OrderWait}, until, nil
	}
	stack, err := index.StackOf(ctx, o.Client, o.Live, run)
	if err != nil {
		return order, until, err
	}
	kind, until := NextKind(run, stack, uid, after, time.Now())
	if kind == runnerapi.OrderWait || kind == runnerapi.OrderExit {
		return runnerapi.Order{Kind: kind}, until, nil
	}
	doc, err := o.Inputs.Get(ctx, run.Spec.InputsDigest)
	if err != nil {
		return order, until, err
	}
	order = orderOf(run, stack, doc)
	if kind == runnerapi.OrderBuild {
		order = buildOrder(run, stack, doc)
	}
	order.Kind, order.Patience, order.Recipient = kind, o.Patience, o.Recipient()
	if kind == runnerapi.OrderPlan {
		order.Policy, err = o.Policy(ctx, run)
	}
	return order, until, err
}

// NextKind decides the next order of a pod that has completed the attempt after; until is when a Wait is over.
func NextKind(run *v1alpha1.Run, stack *v1alpha1.Stack, pod types.UID, after int32,
	now time.Time) (kind runnerapi.OrderKind, until time.Time) {
	a := runinfo.Current(&run.Status)
	switch {
	case a == nil || a.Number < after: // an old view of the Run
		return runnerapi.OrderWait, time.Time{}
	case stack == nil || a.PodUID != pod || run.Status.Phase.Finished():
		return runnerapi.OrderExit, time.Time{}
	case a.FinishedAt == nil && a.Number == after: // the view is from before the last report
		return runnerapi.OrderWait, time.Time{}
	case a.FinishedAt == nil && a.Phase == v1alpha1.AttemptApply:
		return runnerapi.OrderApply, time.Time{}
	case a.FinishedAt == nil && a.Phase == v1alpha1.AttemptBuild:
		return runnerapi.OrderBuild, time.Time{}
	case a.FinishedAt == nil && a.Phase == v1alpha1.AttemptShell:
		return runnerapi.OrderShell, time.Time{}
	case a.FinishedAt == nil:
		return runnerapi.OrderPlan, time.Time{}
	case a.Failure != nil || a.Phase != v1alpha1.AttemptPlan || !now.Before(decision.IdleUntil(stack, a)):
		return runnerapi.OrderExit, time.Time{}
	}
	return runnerapi.OrderWait, decision.IdleUntil(stack, a)
}

// orderOf is the order for the Run's current attempt, without its kind and the settings of the installation.
func orderOf(run *v1alpha1.Run, stack *v1alpha1.Stack, doc inputs.Document) runnerapi.Order {
	order := runnerapi.Order{
		Attempt:   runinfo.Current(&run.Status).Number,
		Namespace: run.Namespace, Stack: stack.Name, Run: run.Name,
		Destroy:       runinfo.PlansDestroy(run),
		Source:        doc.Source,
		Folder:        doc.Folder,
		Path:          doc.Path,
		Workspace:     doc.Workspace,
		Engine:        string(doc.Engine.Name),
		EngineVersion: doc.Engine.Version,
		Wrapped:       wrappedOf(doc),
		Outputs:       writesOutputs(run, stack),
		Timeout:       stack.Spec.Timeout.Duration,
		Operation:     string(run.Spec.Operation),
		Revision:      run.Spec.Revision,
		Cause:         causeOf(run),
		Hooks:         hooksOf(doc),
		Command:       commandOf(run, doc),
		PlanOptions:   (*runnerapi.PlanOptions)(run.Spec.PlanOptions),
	}
	if source := stack.Spec.Source.Git; source != nil {
		order.Partial, order.Triggers = true, source.Triggers
	}
	podspec.VolumesOf(run, doc).AddTo(&order)
	if plan := run.Status.Plan; plan != nil {
		order.PlanDigest = plan.Digest
		if runinfo.IsApply(*runinfo.Current(&run.Status)) && plan.EngineVersion != "" {
			order.EngineVersion = "= " + plan.EngineVersion
		}
		if wrapped := plan.Wrapped; runinfo.IsApply(*runinfo.Current(&run.Status)) && wrapped != nil {
			order.Wrapped = []runnerapi.WrappedEngine{{Name: string(wrapped.Name), Version: "= " + wrapped.Version}}
		}
	}
	return order
}

// writesOutputs reports whether outputs are written after the Run: also after a destroy that a user asked for, which
// leaves none, so that old outputs are not read any longer. With a Stack that is deleted its objects go anyway.
func writesOutputs(run *v1alpha1.Run, stack *v1alpha1.Stack) bool {
	switch run.Spec.Operation {
	case v1alpha1.OperationApply:
		return true
	case v1alpha1.OperationDestroy:
		return stack.DeletionTimestamp == nil
	default:
		return false
	}
}

// causeOf words why there is a Run. It begins with the cause's type, which scripts can check.
func causeOf(run *v1alpha1.Run) string {
	c := run.Spec.Cause
	if c.Message == "" {
		return string(c.Type)
	}
	return string(c.Type) + ": " + c.Message
}

// commandOf is the script that applies the Run's plan, as it was pinned; empty where the engine does.
func commandOf(run *v1alpha1.Run, doc inputs.Document) string {
	switch {
	case run.Spec.Operation == v1alpha1.OperationDestroy:
		return doc.Commands.Destroy
	case run.Spec.Operation == v1alpha1.OperationShell, run.Spec.PlanOptions.IsRefreshOnly():
		// a script could change resources
		return ""
	}
	return doc.Commands.Apply
}

// wrappedOf are the engines that Terragrunt may run, as they were pinned.
func wrappedOf(doc inputs.Document) []runnerapi.WrappedEngine {
	var all []runnerapi.WrappedEngine
	for _, w := range doc.Wrapped {
		all = append(all, runnerapi.WrappedEngine{Name: string(w.Name), Version: w.Version})
	}
	return all
}

// hooksOf are the hooks as they were pinned. Their text is shared, not copied.
func hooksOf(doc inputs.Document) []runnerapi.Hook {
	if len(doc.Hooks) == 0 {
		return nil
	}
	hooks := make([]runnerapi.Hook, len(doc.Hooks))
	for i, h := range doc.Hooks {
		hooks[i] = runnerapi.Hook{Step: string(h.Step), When: string(h.When), Script: h.Script,
			Continue: h.OnFailure == v1alpha1.HookContinue}
	}
	return hooks
}

// buildOrder is the order for a build, without its kind and the settings of the installation.
func buildOrder(run *v1alpha1.Run, stack *v1alpha1.Stack, doc inputs.Document) runnerapi.Order {
	order := runnerapi.Order{
		Attempt:   runinfo.Current(&run.Status).Number,
		Namespace: run.Namespace, Stack: stack.Name, Run: run.Name,
		Operation: string(run.Spec.Operation),
		Timeout:   stack.Spec.Timeout.Duration,
	}
	if doc.Build == nil || run.Status.Image == nil {
		return order
	}
	spec := doc.Build.Spec
	order.Source = doc.Build.Source
	order.Build = &runnerapi.Build{
		Builder: string(spec.Builder), Image: spec.Image, Tag: imageTag(run.Status.Image.Key),
		Dockerfile: spec.Dockerfile, Context: spec.Context,
		Target: spec.Target, Cache: spec.Cache, Insecure: spec.Insecure,
	}
	for _, arg := range spec.Args {
		order.Build.Args = append(order.Build.Args, arg.Name+"="+arg.Value)
	}
	if spec.PushSecret != nil {
		order.Build.PushDir, order.Build.PushSecret = podspec.DirPush, spec.PushSecret.Name
	}
	return order
}

// imageTag keeps an image in its registry: many of them delete what has no tag.
func imageTag(key string) string {
	hex := strings.TrimPrefix(key, "sha256:")
	return "cairn-" + hex[:min(len(hex), 16)]
}
