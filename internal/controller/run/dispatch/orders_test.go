package dispatch

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"cairn.dev/cairn/internal/controller/run/runtest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/run/decision"
	"cairn.dev/cairn/internal/runnerapi"
)

func TestOutputsAreWrittenWhereTheyAreRead(t *testing.T) {
	for name, tt := range map[string]struct {
		snapshot decision.Snapshot
		want     bool
	}{
		"an apply":                             {snapshot(planned), true},
		"a plan":                               {snapshot(planned, planOnly), false},
		"a destroy of a Stack that is deleted": {snapshot(planned, destroy, deleting), false},
		"a destroy of a Stack that stays":      {snapshot(planned, destroy), true},
	} {
		if got := orderOf(tt.snapshot.Run, tt.snapshot.Stack, inputs.Document{}).Outputs; got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

func TestCommandIsForItsOperation(t *testing.T) {
	doc := inputs.Document{Commands: inputs.Commands{Apply: "mine", Destroy: "end"}}
	for _, tt := range []struct {
		snapshot decision.Snapshot
		want     string
	}{
		{snapshot(planned), "mine"}, {snapshot(planned, planOnly), "mine"}, {snapshot(planned, destroy), "end"},
		{snapshot(planned, func(w *decision.Snapshot) { w.Run.Spec.Operation = v1alpha1.OperationShell }), ""},
		{snapshot(planned, func(w *decision.Snapshot) {
			w.Run.Spec.PlanOptions = &v1alpha1.PlanOptions{RefreshOnly: true}
		}), ""},
	} {
		if got := orderOf(tt.snapshot.Run, tt.snapshot.Stack, doc).Command; got != tt.want {
			t.Errorf("%s: %q", tt.snapshot.Run.Spec.Operation, got)
		}
	}
}

func TestCauseBeginsWithItsType(t *testing.T) {
	for want, cause := range map[string]v1alpha1.Cause{
		"Drift":                         {Type: v1alpha1.CauseDrift},
		"Commit: 1f3c Widen the subnet": {Type: v1alpha1.CauseCommit, Message: "1f3c Widen the subnet", By: "alice"},
	} {
		if got := causeOf(&v1alpha1.Run{Spec: v1alpha1.RunSpec{Cause: cause}}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestInterruptOf(t *testing.T) {
	const mine = types.UID("uid-1")
	canceled := func(w *decision.Snapshot) { w.Run.Spec.Cancel, w.Run.Spec.CanceledBy = true, "bob" }
	for name, tt := range map[string]struct {
		snapshot decision.Snapshot
		attempt  int32
		reason   string
		over     bool
	}{
		"an attempt goes on": {snapshot: snapshot(planning), attempt: 1},
		"one of a Run that is canceled": {snapshot: snapshot(planning, canceled), attempt: 1,
			reason: "canceled by bob"},
		"an apply too": {snapshot: snapshot(applying, canceled), attempt: 2,
			reason: "canceled by bob"},
		"one that is not known yet":        {snapshot: snapshot(canceled), attempt: 1},
		"one that is newer than this view": {snapshot: snapshot(planning, canceled), attempt: 2},
		"one that has reported":            {snapshot: snapshot(planned, canceled), attempt: 1, over: true},
		"one that another followed":        {snapshot: snapshot(applying, canceled), attempt: 1, over: true},
		"one that was given to another pod": {snapshot: snapshot(planning, canceled, func(w *decision.Snapshot) {
			w.Run.Status.Attempts[0].PodUID = "uid-2"
		}), attempt: 1, over: true},
		"one of a Run that is finished meanwhile": {snapshot: snapshot(applying, finished, canceled), attempt: 2,
			over: true},
	} {
		t.Run(name, func(t *testing.T) {
			if reason, over := interruptOf(tt.snapshot.Run, mine, tt.attempt); reason != tt.reason || over != tt.over {
				t.Errorf("got %q, over %v; want %q, %v", reason, over, tt.reason, tt.over)
			}
		})
	}
}

// manyHooks are as many and as long as a Stack can have.
func manyHooks() inputs.Document {
	doc := runtest.Everything
	doc.Hooks = nil
	for range 50 {
		doc.Hooks = append(doc.Hooks, inputs.Hook{Step: "plan", When: v1alpha1.HookBefore,
			Script: strings.Repeat("x", 64<<10)})
	}
	return doc
}

// An order shares the text of its hooks with the document, which is cached for all Runs of the same inputs.
func TestOrderDoesNotCopyItsHooks(t *testing.T) {
	w := podSnapshot()
	planned(&w)
	none, many := runtest.Everything, manyHooks()
	none.Hooks = nil
	cost := func(doc inputs.Document) float64 {
		return testing.AllocsPerRun(100, func() { _ = orderOf(w.Run, w.Stack, doc) })
	}
	// a copy is one for each; with the race detector a pool loses one in four
	if without, with := cost(none), cost(many); with > without+10 {
		t.Errorf("%v allocations with 50 hooks, %v without", with, without)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 {
		_ = orderOf(w.Run, w.Stack, many)
	}
	runtime.ReadMemStats(&after)
	if bytes := (after.TotalAlloc - before.TotalAlloc) / 100; bytes > 16<<10 { // of three megabytes
		t.Errorf("%d bytes for an order", bytes)
	}
}

func BenchmarkOrderOf(b *testing.B) {
	w := podSnapshot()
	planned(&w)
	for name, doc := range map[string]inputs.Document{"without hooks": {Source: "sha256:code"},
		"with 2 hooks": runtest.Everything, "with 50 hooks of 64 KiB": manyHooks()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var order runnerapi.Order
			for b.Loop() {
				order = orderOf(w.Run, w.Stack, doc)
			}
			_ = order
		})
	}
}

func TestPlanIsAppliedWithItsEngine(t *testing.T) {
	doc := inputs.Document{Engine: v1alpha1.Engine{Version: "~> 1.12"}}
	made := func(w *decision.Snapshot) { w.Run.Status.Plan.EngineVersion = "1.12.3" }
	for _, tt := range []struct {
		name     string
		snapshot decision.Snapshot
		want     string
	}{
		{"a plan is made with what the Stack asks for", snapshot(planning), "~> 1.12"},
		{"its apply, with what made it", snapshot(applying, made), "= 1.12.3"},
		{"and where that is not known, with what the Stack asks for", snapshot(applying), "~> 1.12"},
	} {
		if got := orderOf(tt.snapshot.Run, tt.snapshot.Stack, doc).EngineVersion; got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestPlanIsAppliedWithTheEngineThatTerragruntRan(t *testing.T) {
	asked := []runnerapi.WrappedEngine{{Name: "OpenTofu", Version: "~> 1.9"}, {Name: "Terraform"}}
	doc := inputs.Document{Wrapped: []v1alpha1.WrappedEngine{{Name: "OpenTofu", Version: "~> 1.9"},
		{Name: "Terraform"}}}
	made := func(w *decision.Snapshot) {
		w.Run.Status.Plan = planOf(&runnerapi.Plan{Wrapped: &runnerapi.WrappedEngine{Name: "Terraform",
			Version: "1.5.7"}})
	}
	for _, tt := range []struct {
		name     string
		snapshot decision.Snapshot
		want     []runnerapi.WrappedEngine
	}{
		{"a plan is made with what the Stack asks for", snapshot(planning), asked},
		{"its apply, with what made it", snapshot(applying, made),
			[]runnerapi.WrappedEngine{{Name: "Terraform", Version: "= 1.5.7"}}},
		{"and where that is not known, with what the Stack asks for", snapshot(applying), asked},
	} {
		if diff := cmp.Diff(tt.want, orderOf(tt.snapshot.Run, tt.snapshot.Stack, doc).Wrapped); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestNextKind(t *testing.T) {
	const pod = types.UID("uid-1")
	tests := map[string]struct {
		snapshot decision.Snapshot
		after    int32
		want     string
		until    time.Time
	}{
		"a new pod plans": {snapshot: snapshot(planning), want: "Plan"},
		"a pod that has planned waits for the decision": {snapshot: snapshot(planning), after: 1, want: "Wait"},
		"a pod that has planned waits": {snapshot: snapshot(planned, waits), after: 1, want: "Wait",
			until: now.Add(30 * time.Second)},
		"a pod that was idle long enough exits": {snapshot: snapshot(planned, waits, func(w *decision.Snapshot) {
			w.Now = w.Now.Add(30 * time.Second)
		}), after: 1, want: "Exit"},
		"a pod that is idle is given the apply": {snapshot: snapshot(applying), after: 1, want: "Apply"},
		"a pod that has applied leaves when it is said so": {snapshot: snapshot(applying, finished), after: 2,
			want: "Exit"},
		"a pod that knows more than this view waits": {snapshot: snapshot(planning), after: 2, want: "Wait"},
		"a pod that failed leaves": {snapshot: snapshot(planning, func(w *decision.Snapshot) {
			runtest.Failed(v1alpha1.FailureTransient)(w.Run)
		}), after: 1, want: "Exit"},
		"a pod of another attempt leaves": {snapshot: snapshot(planning, func(w *decision.Snapshot) {
			w.Run.Status.Attempts[0].PodUID = "uid-2"
		}), want: "Exit"},
		"a pod of a Stack that is gone leaves": {snapshot: snapshot(planning, func(w *decision.Snapshot) {
			w.Stack = nil
		}), want: "Exit"},
		"a pod of a superseded Run leaves": {snapshot: snapshot(planned, func(w *decision.Snapshot) {
			w.Run.Status.Phase = v1alpha1.PhaseSuperseded
		}), after: 1, want: "Exit"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			kind, until := NextKind(tt.snapshot.Run, tt.snapshot.Stack, pod, tt.after, tt.snapshot.Now)
			if string(kind) != tt.want || !until.Equal(tt.until) {
				t.Errorf("got %s until %s, want %s until %s", kind, until, tt.want, tt.until)
			}
		})
	}
}

func TestOrderOf(t *testing.T) {
	for name, operation := range map[string]v1alpha1.Operation{"order-apply": v1alpha1.OperationApply,
		"order-destroy": v1alpha1.OperationDestroy} {
		t.Run(name, func(t *testing.T) {
			w := podSnapshot()
			planned(&w)
			w.Run.Spec.Operation = operation
			deleting(&w)
			runtest.Golden(t, name, orderOf(w.Run, w.Stack, runtest.Everything))
		})
	}
}

func TestBuildOrder(t *testing.T) {
	w := podSnapshot()
	building(&w)
	w.Run.Status.Image.Key = "sha256:0123456789abcdef0123"
	runtest.Golden(t, "order-build", buildOrder(w.Run, w.Stack, runtest.ToBuild()))
}

func TestBuildIsOrderedOnce(t *testing.T) {
	w := snapshot(building)
	if kind, _ := NextKind(w.Run, w.Stack, "uid-1", 0, now); kind != runnerapi.OrderBuild {
		t.Errorf("a pod that builds gets order %s", kind)
	}
	w = snapshot(building, finished)
	if kind, _ := NextKind(w.Run, w.Stack, "uid-1", 1, now); kind != runnerapi.OrderExit {
		t.Errorf("a pod that has built gets order %s", kind)
	}
}

func TestOrderOfAShell(t *testing.T) {
	w := snapshot(inShell)
	if kind, _ := NextKind(w.Run, w.Stack, "uid-1", 0, now); kind != runnerapi.OrderShell {
		t.Errorf("the pod gets order %s", kind)
	}
	w = snapshot(inShell, finished)
	if kind, _ := NextKind(w.Run, w.Stack, "uid-1", 1, now); kind != runnerapi.OrderExit {
		t.Errorf("afterwards it gets order %s", kind)
	}
}
