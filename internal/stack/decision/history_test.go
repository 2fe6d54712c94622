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
	"cairn.dev/cairn/internal/run/runinfo"
)

// asTold requires that the same is decided whether a world has the Runs that went well, or only what the Stack's status has of them, once
// it has told their ends.
func asTold(t *testing.T, w Snapshot) {
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
		t.Errorf("from its history it decides otherwise (-Runs, +history):\n%s", diff)
	}
	if diff := cmp.Diff(Status(w, want), Status(short, got)); diff != "" {
		t.Errorf("from its history its status is another one (-Runs, +history):\n%s", diff)
	}
}

func TestWhatWasToldStays(t *testing.T) {
	outputs := func(r *v1alpha1.Run) {
		r.Status.Outputs = map[string]apiextensionsv1.JSON{"id": {Raw: []byte(`"vpc-1"`)}}
		r.Status.Image = &v1alpha1.BuiltImage{Key: "sha256:key", Digest: "sha256:image"}
	}
	w := world(had("net-1", "Succeeded", "sha256:now", began, outputs))
	asTold(t, w)
	w.Stack.Status = Status(w, Decide(w))
	w.Runs = RunsInHistory(w.Stack)
	if s := Status(w, Decide(w)); string(s.Outputs["id"].Raw) != `"vpc-1"` || s.AppliedImage == nil || s.Image == nil {
		t.Errorf("of outputs and images there are %v, %v, %v", s.Outputs, s.AppliedImage, s.Image)
	}

	lost := func(r *v1alpha1.Run) {
		r.Status.Plan.Untracked = []v1alpha1.UntrackedResource{{Address: "a", Reason: "no ID"}}
	}
	shell := func(r *v1alpha1.Run) { r.Spec.Operation, r.Status.Plan = v1alpha1.OperationShell, nil }
	asTold(t, world(applied("sha256:now"), had("net-1", "Succeeded", "sha256:now", began), had("net-2", "Succeeded", "sha256:now", plans, byHand, lost), had("net-3", "Succeeded", "sha256:now", shell)))
}

func TestOfOldRunsTheHistoryHasLittle(t *testing.T) {
	w := world(applied("sha256:now"), had("net-1", "Succeeded", "sha256:old", because("it was new")), had("net-2", "Failed", "sha256:now"), had("net-3", "Succeeded", "sha256:now", because("a retry"), began, outputsStepIs("Failed")))
	w.Runs[0].UID, w.Runs[2].UID = "one", "three"
	w.Runs[2].Status.Plan.Resources = []v1alpha1.ResourceChange{{Address: "a", Action: "create"}}
	want := []v1alpha1.PastRun{
		{Name: "net-1", UID: "one", Operation: "Apply", Cause: v1alpha1.Cause{Type: "Spec"}, FinishedAt: w.Runs[0].Status.FinishedAt},
		{
			Name: "net-3", UID: "three", Operation: "Apply", Cause: v1alpha1.Cause{Type: "Spec", Message: "a retry"}, FinishedAt: w.Runs[2].Status.FinishedAt, Applied: true,
			Details: &v1alpha1.PastDetails{InputsDigest: "sha256:now", Plan: &v1alpha1.Plan{Changes: true, Add: 1}, Steps: []v1alpha1.Step{{Name: "outputs", State: "Failed", Message: "too large"}}},
		},
	}
	if diff := cmp.Diff(want, nextHistory(w)); diff != "" {
		t.Error(diff)
	}
	w.Stack.Spec.RunHistoryLimit = ptr(int32(1))
	if diff := cmp.Diff(want[1:], nextHistory(w)); diff != "" {
		t.Error("what is deleted is forgotten:", diff)
	}
}

// What the API server gives back is what was written, or it would be written again for ever.
func TestTheHistoryIsReadAsItIsWritten(t *testing.T) {
	nothing := func(r *v1alpha1.Run) { r.Spec.InputsDigest, r.Status.Plan, r.Status.Attempts = "", nil, nil }
	w := world(had("net-1", "Succeeded", "sha256:old"), had("net-2", "Succeeded", "sha256:now", outputsStepIs("Failed")), had("net-3", "Succeeded", "", nothing))
	var read []v1alpha1.PastRun
	written := nextHistory(w)
	data, err := json.Marshal(written)
	if err == nil {
		err = json.Unmarshal(data, &read)
	}
	if err != nil || !equality.Semantic.DeepEqual(written, read) {
		t.Errorf("%v: of %s there is %s", err, data, cmp.Diff(written, read))
	}
	if written[0].Details != nil || written[1].Details == nil {
		t.Errorf("got %s", data)
	}
}

// Whoever deletes a Run that did not go well by hand has the one before it decided on, which the history has to know.
func TestTheHistoryKnowsWhatIsDecidedOnOnceARunIsDeletedByHand(t *testing.T) {
	lost := func(r *v1alpha1.Run) {
		r.Status.Plan.Untracked = []v1alpha1.UntrackedResource{{Address: "a", Reason: "no ID"}}
	}
	for name, w := range map[string]Snapshot{
		"its inputs":           world(applied("sha256:old"), had("net-1", "Succeeded", "sha256:old", began, because("alice")), had("net-2", "Failed", "sha256:now")),
		"how outputs went":     world(applied("sha256:now"), had("net-1", "Succeeded", "sha256:now", outputsStepIs("Failed")), had("net-2", "Failed", "sha256:now")),
		"what it left out":     world(applied("sha256:now"), had("net-1", "Succeeded", "sha256:now", plans, byHand, lost), had("net-2", "Failed", "sha256:now")),
		"what it has shown":    world(never, applied("sha256:old"), had("net-1", "Succeeded", "sha256:now", plans), had("net-2", "Failed", "sha256:now", plans)),
		"a plan that was made": world(never, applied("sha256:now"), had("net-1", "Succeeded", "sha256:now", plans, noChanges), had("net-2", "Failed", "sha256:now", plans)),
	} {
		t.Run(name, func(t *testing.T) {
			was := w.Runs[0]
			w.Stack.Status = Status(w, Decide(w))
			if len(w.Stack.Status.History) != 1 {
				t.Fatalf("the history is %v", w.Stack.Status.History)
			}
			whole, short := w, w
			whole.Runs, short.Runs = []v1alpha1.Run{was}, RunsInHistory(w.Stack)
			if whole.LatestRun().Spec.InputsDigest != short.LatestRun().Spec.InputsDigest { // by which the next one's cause is told, and whose doing it is
				t.Errorf("its inputs were %q, and the history says %q", whole.LatestRun().Spec.InputsDigest, short.LatestRun().Spec.InputsDigest)
			}
			want, got := Decide(whole), Decide(short)
			if diff := cmp.Diff(want, got, cmpopts.EquateComparable()); diff != "" {
				t.Errorf("from its history it decides otherwise (-Runs, +history):\n%s", diff)
			}
			if diff := cmp.Diff(Status(whole, want), Status(short, got)); diff != "" {
				t.Errorf("from its history its status is another one (-Runs, +history):\n%s", diff)
			}
			// And a drift check goes on.
			short.Stack = short.Stack.DeepCopy()
			short.Stack.Status.LastRun, short.Stack.Status.CurrentRun = "net-3", "net-3"
			had("net-3", "Planning", "sha256:now", plans, func(r *v1alpha1.Run) {
				r.Spec.Cause.Type, r.Status.Plan, r.Status.FinishedAt = v1alpha1.CauseDrift, nil, nil
			})(&short)
			Decide(short)
		})
	}
}

// To let nothing be applied for a while, and then again, makes nobody forget how the last apply went.
func TestTheHistoryKnowsWhatIsDecidedOnOnceApplyIsAnother(t *testing.T) {
	w := world(applied("sha256:now"), had("net-1", "Succeeded", "sha256:now", outputsStepIs("Failed")), had("net-2", "Succeeded", "sha256:now", plans, byHand))
	for _, apply := range []v1alpha1.ApplyPolicy{v1alpha1.ApplyManual, v1alpha1.ApplyNever, v1alpha1.ApplyManual} {
		w.Stack.Spec.Apply = apply
		w.Stack.Status = Status(w, Decide(w))
		w.Runs = RunsInHistory(w.Stack)
	}
	if d := Decide(w); d.Reason != "OutputsFailed" {
		t.Errorf("it is %s (%s)", d.Reason, d.Message)
	}
}

// An apply that failed in the middle leaves things as nobody declared them, also once somebody has deleted its Run by hand and only looked
// since: that what is declared was applied before it tells nothing.
func TestWhatAnApplyLeftHalfDoneIsNotForgottenWithItsRun(t *testing.T) {
	looked := func(phase v1alpha1.RunPhase) func(*Snapshot) {
		return had("net-3", phase, "sha256:now", plans, byHand, func(r *v1alpha1.Run) { r.Status.Plan.Changes = false })
	}
	for name, w := range map[string]Snapshot{
		"after the look": world(had("net-1", "Succeeded", "sha256:now", began), lastRun("net-3"), looked("Succeeded")),
		"meanwhile":      world(had("net-1", "Succeeded", "sha256:now", began), named("net-3"), looked("Planning")),
	} {
		w.Stack.Status.History = nextHistory(w)
		if d := Decide(w); d.Ready == metav1.ConditionTrue {
			t.Errorf("%s it is %s: %s", name, d.Reason, d.Message)
		} else if name == "after the look" && (d.Start == nil || d.Start.Operation != v1alpha1.OperationApply) {
			t.Errorf("nothing is applied: %+v", d)
		}
	}
}

// A destroy is no such thing: nothing is due after it, and who asks for an apply is who caused it.
func TestNothingIsDueForADestroy(t *testing.T) {
	by := func(name string) func(*Snapshot) {
		return func(w *Snapshot) { w.Stack.Status.DestroyedByRun = name }
	}
	for name, w := range map[string]Snapshot{
		"that went well":                     world(had("net-1", "Succeeded", "sha256:now", began), had("net-2", "Succeeded", "sha256:now", destroys, byHand), lastRun("net-2")),
		"that went well and is gone":         world(had("net-1", "Succeeded", "sha256:now", began), lastRun("net-2"), had("net-3", "Succeeded", "sha256:now", plans, byHand), by("net-2"), lastRun("net-3")),
		"that came to a part of what it was": world(had("net-1", "Succeeded", "sha256:now", began), had("net-2", "Failed", "sha256:now", destroys, byHand, began), lastRun("net-2")),
	} {
		if isDue(w) {
			t.Errorf("there is, for one %s", name)
		}
	}
}

// An apply that somebody deleted in the middle may have changed anything: that what is declared now was applied before it tells nothing.
func TestWhatADeletedApplyDidIsNotKnown(t *testing.T) {
	for _, operation := range []v1alpha1.Operation{v1alpha1.OperationApply, v1alpha1.OperationDestroy} {
		w := world(state(3), applied("sha256:now"), had("net-1", "Succeeded", "sha256:now"), namedFor("net-2", operation, "Spec"))
		d := Decide(w)
		if d.Start == nil || d.Start.Operation != v1alpha1.OperationApply || d.Name != "net-3" {
			t.Errorf("%s: got %+v", operation, d)
		}
		if s := Status(w, d); s.AppliedInputsDigest != "" {
			t.Errorf("%s: the status says that %s is applied", operation, s.AppliedInputsDigest)
		}
		w.Reserved.Run = "net-2" // this one was never created
		if d := Decide(w); d.Reason != "Applied" {
			t.Errorf("%s: got %+v", operation, d)
		}
	}
}
