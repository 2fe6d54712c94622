package dispatch

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/run/decision"
	"cairn.dev/cairn/internal/controller/run/diagnosis"
	"cairn.dev/cairn/internal/controller/run/index"
	"cairn.dev/cairn/internal/controller/run/telemetry"
	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/runnerapi"
	statedecision "cairn.dev/cairn/internal/state/decision"
)

// ErrNotCurrent answers a report on an attempt that is over or was never this pod's.
var ErrNotCurrent error = &runnerapi.Error{Code: http.StatusForbidden,
	Message: "the Run does not name this pod and attempt as its current one"}

// Reports writes what runners report into their Runs. A last report is decided on where it arrives, with the same rules
// as everywhere, so that the report and what follows from it are one write and the runner's next order is there at
// once.
type Reports struct {
	Client client.Client
	// Live reads past the cache.
	Live client.Reader
	// Runs remembers the Runs that a report finishes, for the last requests of their pods; nil for nothing.
	Runs *RunsByPod
	// Policies returns the policy result of a plan.
	Policies PolicyEvaluation
	// Recorder records what was written; nil for none.
	Recorder *telemetry.Recorder
	// Clock; time.Now when nil.
	Clock func() time.Time
	// Retry is the backoff after a conflict; the default of client-go when zero.
	Retry wait.Backoff
}

// Report takes what an attempt of the Run has done so far. Where the cache of this server does not have the Run, or the
// attempt, another server sent the order: the API server is asked.
func (r Reports) Report(ctx context.Context, run types.NamespacedName, podUID types.UID, attempt int32,
	report runnerapi.Report) error {
	at, err := r.cached(ctx, run, podUID, attempt)
	if err != nil {
		return err
	}
	return retry.RetryOnConflict(r.backoff(), func() error {
		if at == nil {
			at = &v1alpha1.Run{}
			if err := r.Live.Get(ctx, run, at); apierrors.IsNotFound(err) {
				return ErrNotCurrent
			} else if err != nil {
				return err
			}
		}
		last := at
		at = nil // after a conflict the cache is known to be old
		return r.write(ctx, last, podUID, attempt, report)
	})
}

// cached is the Run as the cache has it, if that is at this attempt; else nil. A cache has less of a finished Run,
// which must not be written.
func (r Reports) cached(ctx context.Context, key types.NamespacedName, podUID types.UID, attempt int32) (*v1alpha1.Run,
	error) {
	run := &v1alpha1.Run{}
	if err := r.Client.Get(ctx, key, run); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if a := runinfo.Active(run, podUID); a == nil || a.Number != attempt || run.Status.Phase.Finished() {
		return nil, nil
	}
	return run, nil
}

func (r Reports) write(ctx context.Context, run *v1alpha1.Run, podUID types.UID, attempt int32,
	report runnerapi.Report) error {
	a := runinfo.Active(run, podUID)
	if a == nil || a.Number != attempt {
		if alreadyReported(run, podUID, attempt, report) {
			return nil
		}
		return ErrNotCurrent
	}
	before := run.DeepCopy()
	applyReport(&run.Status, report, r.now())
	if plan := run.Status.Plan; plan != nil {
		plan.Partial = runinfo.Partial(run) // also of a plan that Cairn cannot read
	}
	if report.Done != nil {
		rejectUnrequestedCancel(run)
		r.explainInterrupt(ctx, run)
		if err := r.applyPolicies(ctx, run, report.Done); err != nil {
			return err
		}
		if err := r.checkOwner(ctx, run); err != nil {
			return err
		}
		stack, err := index.StackOf(ctx, r.Client, r.Live, run)
		if err != nil {
			return err
		}
		if err := r.settle(ctx, run, stack); err != nil {
			return err
		}
	}
	if equality.Semantic.DeepEqual(before.Status, run.Status) {
		return nil
	}
	// Before the write, since a waiting request of the pod may be woken by the write's event before this one returns.
	// The cache has the Run until then, and precedes what is remembered.
	r.Runs.remember(run, podUID)
	err := r.Recorder.WriteStatus(ctx, r.Client, before, run)
	if err != nil {
		r.Runs.forget(podUID)
	}
	return err
}

// checkOwner records in a plan whether an apply would take the State over. It reads past the cache, and after the plan:
// the plan may have adopted the state of a backend, and a user may have pushed one since the Run was created.
func (r Reports) checkOwner(ctx context.Context, run *v1alpha1.Run) error {
	a, plan := runinfo.Current(&run.Status), run.Status.Plan
	planned := a.Phase == v1alpha1.AttemptPlan && a.Failure == nil
	if !planned || !plan.Changes || run.Spec.Operation == v1alpha1.OperationPlan {
		return nil
	}
	state := &v1alpha1.State{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: run.Spec.Stack.Name}, state)
	plan.TakesOverState = state.Status.TakenOverBy(statedecision.StackOf(run))
	return client.IgnoreNotFound(err)
}

// settle decides what follows from the last report of an attempt. The pod exists: it is asking. Only the operator
// creates a new one. For that the status names the image that planned, so the pod is read where a plan does not
// continue in it at once.
func (r Reports) settle(ctx context.Context, run *v1alpha1.Run, stack *v1alpha1.Stack) error {
	w := decision.Snapshot{Now: r.now(), Run: run, Stack: stack, Pod: decision.Pod{State: decision.PodRunning}}
	if stack != nil {
		var err error
		if w.StackPolicies, err = index.StackPoliciesOf(ctx, r.Client, r.Live, stack); err != nil {
			return err
		}
	}
	run.Status, _ = decision.Settle(w)
	if !decision.LacksImage(&run.Status) {
		return nil
	}
	a, pod := runinfo.Current(&run.Status), &corev1.Pod{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: a.Pod}, pod)
	switch {
	case apierrors.IsNotFound(err), err == nil && pod.UID != a.PodUID:
		return ErrNotCurrent
	case err != nil:
		return err
	}
	w.Pod.Image = diagnosis.Image(pod)
	run.Status, _ = decision.Settle(w)
	return nil
}

// rejectUnrequestedCancel changes Canceled to a Transient failure unless spec.cancel is set: a runner cannot cancel its
// own Run.
func rejectUnrequestedCancel(run *v1alpha1.Run) {
	if a := runinfo.Current(&run.Status); a.Failure != nil &&
		a.Failure.Class == v1alpha1.FailureCanceled && !run.Spec.Cancel {
		a.Failure.Class = v1alpha1.FailureTransient
	}
}

// explainInterrupt adds to the failure of an interrupted runner why its pod has to end, where the pod has a reason.
func (r Reports) explainInterrupt(ctx context.Context, run *v1alpha1.Run) {
	a := runinfo.Current(&run.Status)
	if a.Failure == nil || a.Failure.Reason != v1alpha1.FailureInterrupted {
		return
	}
	pod := &corev1.Pod{}
	if err := r.Live.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: a.Pod}, pod); err != nil ||
		pod.UID != a.PodUID {
		return // that it was interrupted is true all the same
	}
	a.Failure = decision.Interrupted(a, diagnosis.WhyTerminating(pod))
}

// alreadyReported reports whether this last report was written before: its answer was lost on the way.
func alreadyReported(run *v1alpha1.Run, podUID types.UID, attempt int32, report runnerapi.Report) bool {
	for _, a := range run.Status.Attempts {
		if a.Number == attempt && a.PodUID == podUID && a.FinishedAt != nil {
			return report.Done != nil && (a.Failure == nil || a.Failure.Class != v1alpha1.FailurePodLost)
		}
	}
	return false
}

func (r Reports) backoff() wait.Backoff {
	if r.Retry.Steps == 0 {
		return retry.DefaultBackoff
	}
	return r.Retry
}

func (r Reports) now() time.Time {
	if r.Clock != nil {
		return r.Clock()
	}
	return time.Now()
}

// applyReport writes a report to the status of the current attempt.
func applyReport(s *v1alpha1.RunStatus, report runnerapi.Report, now time.Time) {
	a := runinfo.Current(s)
	a.Steps = a.Steps[:0:0]
	for _, st := range report.Steps {
		a.Steps = append(a.Steps, v1alpha1.Step{
			Name: st.Name, State: v1alpha1.StepState(st.State), ExitCode: st.ExitCode, Message: st.Message,
			StartedAt: microTime(st.StartedAt), FinishedAt: microTime(st.FinishedAt),
		})
	}
	done := report.Done
	if done == nil {
		return
	}
	a.FinishedAt = &metav1.MicroTime{Time: now}
	if runinfo.IsApply(*a) && done.Failure != nil {
		a.Changed = done.Changed
	}
	decision.CloseSteps(a, now)
	if done.Outputs != nil && a.Phase != v1alpha1.AttemptShell && a.Phase != v1alpha1.AttemptBuild {
		s.Outputs = make(map[string]apiextensionsv1.JSON, len(done.Outputs))
		for name, value := range done.Outputs {
			s.Outputs[name] = apiextensionsv1.JSON{Raw: json.RawMessage(value)}
		}
	}
	switch {
	case done.Failure != nil:
		a.Failure = &v1alpha1.Failure{
			Class: v1alpha1.FailureClass(done.Failure.Class), Reason: v1alpha1.FailureReason(done.Failure.Reason),
			Message: done.Failure.Message,
		}
		if a.Phase == v1alpha1.AttemptPlan && isPolicy(a.Failure) && done.Plan != nil { // it can still be read
			s.Plan = planOf(done.Plan)
		}
	case a.Phase == v1alpha1.AttemptBuild && (s.Image == nil || !isDigest(done.Image)):
		a.Failure = &v1alpha1.Failure{Class: v1alpha1.FailureTransient,
			Message: "the runner reported neither an image nor a failure"}
	case a.Phase == v1alpha1.AttemptBuild:
		s.Image.Digest = done.Image
	case a.Phase == v1alpha1.AttemptPlan && done.Plan == nil:
		a.Failure = &v1alpha1.Failure{Class: v1alpha1.FailureTransient,
			Message: "the runner reported neither a plan nor a failure"}
	case a.Phase == v1alpha1.AttemptPlan:
		s.Plan = planOf(done.Plan)
	}
}

// isDigest reports whether a text names an image's content.
func isDigest(s string) bool {
	sum, ok := strings.CutPrefix(s, "sha256:")
	raw, err := hex.DecodeString(sum)
	return ok && err == nil && len(raw) == 32 && strings.ToLower(s) == s
}

func planOf(p *runnerapi.Plan) *v1alpha1.Plan {
	plan := &v1alpha1.Plan{
		Digest: p.Digest, Changes: p.Changes,
		Add: p.Add, Change: p.Change, Destroy: p.Destroy, Replace: p.Replace, Import: p.Import, Forget: p.Forget,
		Invoke: p.Invoke, Refresh: p.Refresh, EngineVersion: p.EngineVersion, Script: p.Script,
		Unverified: p.Unverified, Partial: p.Partial,
		StateOnly: p.StateOnly, Fingerprint: p.Fingerprint, Shape: p.Shape,
	}
	plan.Wrapped = ranBy(p.Wrapped)
	for _, c := range p.Resources {
		plan.Resources = append(plan.Resources, v1alpha1.ResourceChange(c))
	}
	plan.MoreOutputs = p.MoreOutputs
	for _, o := range p.Outputs {
		plan.Outputs = append(plan.Outputs, v1alpha1.OutputChange(o))
	}
	for _, d := range p.Differences {
		plan.Differences = append(plan.Differences, v1alpha1.Difference(d))
	}
	for _, o := range p.Untracked {
		plan.Untracked = append(plan.Untracked, v1alpha1.UntrackedResource(o))
	}
	return plan
}

// maxVersionLength is how many characters a version may have in a Run's status.
const maxVersionLength = 100

// ranBy is the engine that Terragrunt ran; nil when the runner reports none that the status takes.
func ranBy(w *runnerapi.WrappedEngine) *v1alpha1.WrappedEngine {
	if w == nil || w.Version == "" || len(w.Version) > maxVersionLength {
		return nil
	}
	if _, ok := engine.Wrapped(w.Name); !ok {
		return nil
	}
	return &v1alpha1.WrappedEngine{Name: v1alpha1.EngineName(w.Name), Version: w.Version}
}

func microTime(t *time.Time) *metav1.MicroTime {
	if t == nil {
		return nil
	}
	return &metav1.MicroTime{Time: *t}
}
