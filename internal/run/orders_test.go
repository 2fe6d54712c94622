package run

import (
	"runtime"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/inputs"
	"cairn.dev/cairn/internal/runnerapi"
)

func TestOutputsAreWrittenWhereTheyAreReadFrom(t *testing.T) {
	for name, tt := range map[string]struct {
		world World
		want  bool
	}{
		"an apply":                             {world(planned), true},
		"a plan":                               {world(planned, planOnly), false},
		"a destroy of a Stack that is deleted": {world(planned, destroy, deleting), false},
		"a destroy of a Stack that stays":      {world(planned, destroy), true},
	} {
		if got := orderOf(tt.world.Run, tt.world.Stack, inputs.Document{}).Outputs; got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

func TestACommandIsForItsOperation(t *testing.T) {
	doc := inputs.Document{Commands: inputs.Commands{Apply: "mine", Destroy: "end"}}
	for _, tt := range []struct {
		world World
		want  string
	}{
		{world(planned), "mine"}, {world(planned, planOnly), "mine"}, {world(planned, destroy), "end"},
		{world(planned, func(w *World) { w.Run.Spec.Operation = v1alpha1.OperationShell }), ""},
	} {
		if got := orderOf(tt.world.Run, tt.world.Stack, doc).Command; got != tt.want {
			t.Errorf("%s: %q", tt.world.Run.Spec.Operation, got)
		}
	}
}

func TestACauseBeginsWithItsType(t *testing.T) {
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
	canceled := func(w *World) { w.Run.Spec.Cancel, w.Run.Spec.CanceledBy = true, "bob" }
	for name, tt := range map[string]struct {
		world   World
		attempt int32
		reason  string
		over    bool
	}{
		"an attempt goes on":                      {world: world(planning), attempt: 1},
		"one of a Run that is canceled":           {world: world(planning, canceled), attempt: 1, reason: "canceled by bob"},
		"an apply too":                            {world: world(applying, canceled), attempt: 2, reason: "canceled by bob"},
		"one that is not known yet":               {world: world(canceled), attempt: 1},
		"one that is newer than this view":        {world: world(planning, canceled), attempt: 2},
		"one that has reported":                   {world: world(planned, canceled), attempt: 1, over: true},
		"one that another followed":               {world: world(applying, canceled), attempt: 1, over: true},
		"one that was given to another pod":       {world: world(planning, canceled, func(w *World) { w.Run.Status.Attempts[0].PodUID = "uid-2" }), attempt: 1, over: true},
		"one of a Run that is finished meanwhile": {world: world(applyEnded, canceled), attempt: 2, over: true},
	} {
		t.Run(name, func(t *testing.T) {
			if reason, over := interruptOf(tt.world.Run, mine, tt.attempt); reason != tt.reason || over != tt.over {
				t.Errorf("got %q, over %v; want %q, %v", reason, over, tt.reason, tt.over)
			}
		})
	}
}

// manyHooks are as many and as long as a Stack can have.
func manyHooks() inputs.Document {
	doc := everything
	doc.Hooks = nil
	for range 50 {
		doc.Hooks = append(doc.Hooks, inputs.Hook{Step: "plan", When: v1alpha1.HookBefore, Script: strings.Repeat("x", 64<<10)})
	}
	return doc
}

// An order shares the text of its hooks with the document, which is at hand for all Runs of the same inputs.
func TestAnOrderDoesNotCopyItsHooks(t *testing.T) {
	w := podWorld()
	planned(&w)
	none, many := everything, manyHooks()
	none.Hooks = nil
	cost := func(doc inputs.Document) float64 {
		return testing.AllocsPerRun(100, func() { _ = orderOf(w.Run, w.Stack, doc) })
	}
	if without, with := cost(none), cost(many); with > without+10 { // a copy is one for each; with the race detector a pool loses one in four
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
	w := podWorld()
	planned(&w)
	for name, doc := range map[string]inputs.Document{"without hooks": {Source: "sha256:code"}, "with 2 hooks": everything, "with 50 hooks of 64 KiB": manyHooks()} {
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
