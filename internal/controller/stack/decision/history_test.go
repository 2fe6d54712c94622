package decision

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// expectSameWithHistory requires that the decision and the status are the same with all succeeded Runs and with only
// the history of the status.
func expectSameWithHistory(t *testing.T, w Snapshot) {
	t.Helper()
	w.Stack = w.Stack.DeepCopy()
	gone := RunsToPrune(w)
	w.Stack.Status = Status(w, Decide(w))
	runs := slices.DeleteFunc(slices.Clone(w.Runs), func(r v1alpha1.Run) bool {
		return slices.ContainsFunc(gone, func(g v1alpha1.Run) bool { return g.Name == r.Name })
	})
	short := w
	w.Runs, short.Runs = runs, RunsInHistory(w.Stack)
	for _, r := range runs {
		if r.Status.Phase != v1alpha1.PhaseSucceeded {
			short.Runs = append(short.Runs, r)
		}
	}
	slices.SortFunc(short.Runs, func(a, b v1alpha1.Run) int { return runinfo.Number(a.Name) - runinfo.Number(b.Name) })
	want, got := Decide(w), Decide(short)
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable()); diff != "" {
		t.Errorf("the decision from the history differs (-Runs, +history):\n%s", diff)
	}
	if diff := cmp.Diff(Status(w, want), Status(short, got)); diff != "" {
		t.Errorf("the status from the history differs (-Runs, +history):\n%s", diff)
	}
}

func TestStatusIsDerivedFromTheHistory(t *testing.T) {
	outputs := func(r *v1alpha1.Run) {
		r.Status.Outputs = map[string]apiextensionsv1.JSON{"id": {Raw: []byte(`"vpc-1"`)}}
		r.Status.Image = &v1alpha1.BuiltImage{Key: "sha256:key", Digest: "sha256:image"}
	}
	w := newSnapshot(withRun("net-1", "Succeeded", "sha256:now", applyStarted, outputs))
	expectSameWithHistory(t, w)
	w.Stack.Status = Status(w, Decide(w))
	w.Runs = RunsInHistory(w.Stack)
	if s := Status(w, Decide(w)); string(s.Outputs["id"].Raw) != `"vpc-1"` || s.AppliedImage == nil || s.Image == nil {
		t.Errorf("outputs and images are %v, %v, %v", s.Outputs, s.AppliedImage, s.Image)
	}

	lost := func(r *v1alpha1.Run) {
		r.Status.Plan.Untracked = []v1alpha1.UntrackedResource{{Address: "a", Reason: "no ID"}}
	}
	shell := func(r *v1alpha1.Run) { r.Spec.Operation, r.Status.Plan = v1alpha1.OperationShell, nil }
	expectSameWithHistory(t, newSnapshot(applied("sha256:now"),
		withRun("net-1", "Succeeded", "sha256:now", applyStarted),
		withRun("net-2", "Succeeded", "sha256:now", planOperation, requestedByAlice, lost),
		withRun("net-3", "Succeeded", "sha256:now", shell)))
}

func TestHistoryHasDetailsOnlyOfTheNewestRun(t *testing.T) {
	w := newSnapshot(applied("sha256:now"), withRun("net-1", "Succeeded", "sha256:old", because("it was new")),
		withRun("net-2", "Failed", "sha256:now"), withRun("net-3", "Succeeded", "sha256:now", because("a retry"),
			applyStarted, outputsStepIs("Failed")))
	w.Runs[0].UID, w.Runs[2].UID = "one", "three"
	w.Runs[2].Status.Plan.Resources = []v1alpha1.ResourceChange{{Address: "a", Action: "create"}}
	want := []v1alpha1.PastRun{
		{Name: "net-1", UID: "one", Operation: "Apply", Cause: v1alpha1.Cause{Type: "Spec"},
			FinishedAt: w.Runs[0].Status.FinishedAt},
		{
			Name: "net-3", UID: "three", Operation: "Apply", Cause: v1alpha1.Cause{Type: "Spec", Message: "a retry"},
			FinishedAt: w.Runs[2].Status.FinishedAt, Applied: true,
			Details: &v1alpha1.PastDetails{InputsDigest: "sha256:now", Plan: &v1alpha1.Plan{Changes: true, Add: 1},
				Steps: []v1alpha1.Step{{Name: "outputs", State: "Failed", Message: "too large"}}},
		},
	}
	if diff := cmp.Diff(want, nextHistory(w)); diff != "" {
		t.Error(diff)
	}
	w.Stack.Spec.RunHistoryLimit = ptr(int32(1))
	if diff := cmp.Diff(want[1:], nextHistory(w)); diff != "" {
		t.Error("fields of deleted Runs are lost:", diff)
	}
}

// TestHistoryRoundTrip checks that the API server returns the history as it was written, or it would be written again
// without end.
func TestHistoryRoundTrip(t *testing.T) {
	nothing := func(r *v1alpha1.Run) { r.Spec.InputsDigest, r.Status.Plan, r.Status.Attempts = "", nil, nil }
	w := newSnapshot(withRun("net-1", "Succeeded", "sha256:old"),
		withRun("net-2", "Succeeded", "sha256:now", outputsStepIs("Failed")),
		withRun("net-3", "Succeeded", "", nothing))
	var read []v1alpha1.PastRun
	written := nextHistory(w)
	data, err := json.Marshal(written)
	if err == nil {
		err = json.Unmarshal(data, &read)
	}
	if err != nil || !equality.Semantic.DeepEqual(written, read) {
		t.Errorf("%v: %s is read with %s", err, data, cmp.Diff(written, read))
	}
	if written[0].Details != nil || written[1].Details == nil {
		t.Errorf("got %s", data)
	}
}

// TestHistoryAfterAUserDeletesARun checks that the decision uses the Run before one that a user deleted, so the history
// needs its details.
func TestHistoryAfterAUserDeletesARun(t *testing.T) {
	lost := func(r *v1alpha1.Run) {
		r.Status.Plan.Untracked = []v1alpha1.UntrackedResource{{Address: "a", Reason: "no ID"}}
	}
	for name, w := range map[string]Snapshot{
		"inputs": newSnapshot(applied("sha256:old"),
			withRun("net-1", "Succeeded", "sha256:old", applyStarted, because("alice")),
			withRun("net-2", "Failed", "sha256:now")),
		"the outputs step": newSnapshot(applied("sha256:now"),
			withRun("net-1", "Succeeded", "sha256:now", outputsStepIs("Failed")),
			withRun("net-2", "Failed", "sha256:now")),
		"resources that were not imported": newSnapshot(applied("sha256:now"),
			withRun("net-1", "Succeeded", "sha256:now", planOperation, requestedByAlice, lost),
			withRun("net-2", "Failed", "sha256:now")),
		"planned changes": newSnapshot(never, applied("sha256:old"),
			withRun("net-1", "Succeeded", "sha256:now", planOperation),
			withRun("net-2", "Failed", "sha256:now", planOperation)),
		"a plan without changes": newSnapshot(never, applied("sha256:now"),
			withRun("net-1", "Succeeded", "sha256:now", planOperation, noChanges),
			withRun("net-2", "Failed", "sha256:now", planOperation)),
	} {
		t.Run(name, func(t *testing.T) {
			was := w.Runs[0]
			w.Stack.Status = Status(w, Decide(w))
			if len(w.Stack.Status.History) != 1 {
				t.Fatalf("the history is %v", w.Stack.Status.History)
			}
			whole, short := w, w
			whole.Runs, short.Runs = []v1alpha1.Run{was}, RunsInHistory(w.Stack)
			// the cause of the next Run, and its user, depend on it
			if whole.LatestRun().Spec.InputsDigest != short.LatestRun().Spec.InputsDigest {
				t.Errorf("the inputs were %q, and those of the history are %q", whole.LatestRun().Spec.InputsDigest,
					short.LatestRun().Spec.InputsDigest)
			}
			want, got := Decide(whole), Decide(short)
			if diff := cmp.Diff(want, got, cmpopts.EquateComparable()); diff != "" {
				t.Errorf("the decision from the history differs (-Runs, +history):\n%s", diff)
			}
			if diff := cmp.Diff(Status(whole, want), Status(short, got)); diff != "" {
				t.Errorf("the status from the history differs (-Runs, +history):\n%s", diff)
			}
			// Drift checks continue.
			short.Stack = short.Stack.DeepCopy()
			short.Stack.Status.LastRun, short.Stack.Status.CurrentRun = "net-3", "net-3"
			withRun("net-3", "Planning", "sha256:now", planOperation, func(r *v1alpha1.Run) {
				r.Spec.Cause.Type, r.Status.Plan, r.Status.FinishedAt = v1alpha1.CauseDrift, nil, nil
			})(&short)
			Decide(short)
		})
	}
}

// TestHistoryAfterChangesOfTheApplyPolicy checks that the result of the last apply is kept while spec.apply is Never
// for a time.
func TestHistoryAfterChangesOfTheApplyPolicy(t *testing.T) {
	w := newSnapshot(applied("sha256:now"), withRun("net-1", "Succeeded", "sha256:now", outputsStepIs("Failed")),
		withRun("net-2", "Succeeded", "sha256:now", planOperation, requestedByAlice))
	for _, apply := range []v1alpha1.ApplyPolicy{v1alpha1.ApplyManual, v1alpha1.ApplyNever, v1alpha1.ApplyManual} {
		w.Stack.Spec.Apply = apply
		w.Stack.Status = Status(w, Decide(w))
		w.Runs = RunsInHistory(w.Stack)
	}
	if d := Decide(w); d.Reason != "OutputsFailed" {
		t.Errorf("got %s (%s)", d.Reason, d.Message)
	}
}

// TestPlanOfAUserIsNotRepeatedOnceApplyIsNever checks that the history keeps the inputs of a plan that a user
// requested, although it is read-only and neither the last Run nor the last plan. Once spec.apply is Never, such a plan
// is the result.
func TestPlanOfAUserIsNotRepeatedOnceApplyIsNever(t *testing.T) {
	w := newSnapshot(withRun("net-1", "Succeeded", "sha256:before", applyStarted),
		withRun("net-2", "Succeeded", "sha256:now", planOperation, requestedByAlice),
		withRun("net-3", "Succeeded", "sha256:before", driftCheck), lastRun("net-3"))
	w.Stack.Status.History = nextHistory(w)
	w.Runs = RunsInHistory(w.Stack)
	never(&w)
	if d := Decide(w); d.Start != nil {
		t.Errorf("got %s, which starts %+v", d.Reason, d.Start)
	}
}

// TestPartialApplyIsRememberedAfterItsRunIsDeleted checks an apply that failed in the middle, whose Run a user deleted
// before a plan without changes. That the inputs were applied earlier does not set Ready.
func TestPartialApplyIsRememberedAfterItsRunIsDeleted(t *testing.T) {
	checked := func(phase v1alpha1.RunPhase) func(*Snapshot) {
		return withRun("net-3", phase, "sha256:now", planOperation, requestedByAlice, func(r *v1alpha1.Run) {
			r.Status.Plan.Changes = false
		})
	}
	for name, w := range map[string]Snapshot{
		"after the plan": newSnapshot(withRun("net-1", "Succeeded", "sha256:now", applyStarted), lastRun("net-3"),
			checked("Succeeded")),
		"during the plan": newSnapshot(withRun("net-1", "Succeeded", "sha256:now", applyStarted),
			withCurrentRun("net-3"), checked("Planning")),
	} {
		w.Stack.Status.History = nextHistory(w)
		if d := Decide(w); d.Ready == metav1.ConditionTrue {
			t.Errorf("%s: the reason is %s: %s", name, d.Reason, d.Message)
		} else if name == "after the plan" && (d.Start == nil || d.Start.Operation != v1alpha1.OperationApply) {
			t.Errorf("nothing is applied: %+v", d)
		}
	}
}

// TestRecordedPlanAppliesNothingOnceApplyIsNever checks a partial apply whose Run a user deleted, and a later plan
// without changes. Once spec.apply is Never that plan is no longer read-only, but the status has recorded it as one.
func TestRecordedPlanAppliesNothingOnceApplyIsNever(t *testing.T) {
	w := newSnapshot(withRun("net-1", "Succeeded", "sha256:now", applyStarted), lastRun("net-3"),
		withRun("net-3", "Succeeded", "sha256:now", planOperation, requestedByAlice, func(r *v1alpha1.Run) {
			r.Status.Plan.Changes = false
		}))
	w.Stack.Status.History = nextHistory(w)
	never(&w)
	if got := appliedInputs(w); got != "" {
		t.Errorf("the applied inputs are %s", got)
	}
}

// TestDestroyLeavesNothingDue checks that no apply is due after a destroy, so the user who requests one causes it.
func TestDestroyLeavesNothingDue(t *testing.T) {
	by := func(name string) func(*Snapshot) {
		return func(w *Snapshot) { w.Stack.Status.DestroyedByRun = name }
	}
	for name, w := range map[string]Snapshot{
		"succeeded": newSnapshot(withRun("net-1", "Succeeded", "sha256:now", applyStarted),
			withRun("net-2", "Succeeded", "sha256:now", destroyOperation, requestedByAlice), lastRun("net-2")),
		"succeeded and deleted": newSnapshot(withRun("net-1", "Succeeded", "sha256:now", applyStarted),
			lastRun("net-2"), withRun("net-3", "Succeeded", "sha256:now", planOperation, requestedByAlice), by("net-2"),
			lastRun("net-3")),
		"failed in the middle": newSnapshot(withRun("net-1", "Succeeded", "sha256:now", applyStarted),
			withRun("net-2", "Failed", "sha256:now", destroyOperation, requestedByAlice, applyStarted),
			lastRun("net-2")),
	} {
		if isDue(w) {
			t.Errorf("an apply is due after a destroy that %s", name)
		}
	}
}

// TestDeletedApplyInvalidatesAppliedInputs checks that the applied inputs are unknown after a user deleted the Run of
// an apply under way.
func TestDeletedApplyInvalidatesAppliedInputs(t *testing.T) {
	for _, operation := range []v1alpha1.Operation{v1alpha1.OperationApply, v1alpha1.OperationDestroy} {
		w := newSnapshot(state(3), applied("sha256:now"), withRun("net-1", "Succeeded", "sha256:now"),
			reservedFor("net-2", operation, "Spec"))
		d := Decide(w)
		if d.Start == nil || d.Start.Operation != v1alpha1.OperationApply || d.Name != "net-3" {
			t.Errorf("%s: got %+v", operation, d)
		}
		if s := Status(w, d); s.AppliedInputsDigest != "" {
			t.Errorf("%s: the applied inputs of the status are %s", operation, s.AppliedInputsDigest)
		}
		w.Reserved.Run = "net-2" // this Run was never created
		if d := Decide(w); d.Reason != "Applied" {
			t.Errorf("%s: got %+v", operation, d)
		}
	}
}
