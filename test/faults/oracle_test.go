package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/faults/proxy"
)

func runIn(phase v1alpha1.RunPhase, attempts ...int32) *v1alpha1.Run {
	r := &v1alpha1.Run{}
	r.UID, r.Name, r.Status.Phase = types.UID("1"), "net-1", phase
	for _, n := range attempts {
		r.Status.Attempts = append(r.Status.Attempts, v1alpha1.Attempt{Number: n})
	}
	return r
}

func stateAt(version, serial int64, lineage, by, lockedBy string) *v1alpha1.State {
	s := &v1alpha1.State{}
	s.UID, s.Name = types.UID("2"), "net"
	s.Status = v1alpha1.StateStatus{Version: version, Serial: serial, Lineage: lineage, UpdatedBy: by}
	if lockedBy != "" {
		s.Status.Lock = &v1alpha1.Lock{Run: lockedBy}
	}
	return s
}

// followed is a State whose state is in the engine's own backend.
func followed(s *v1alpha1.State) *v1alpha1.State {
	s.Status.Backend = &v1alpha1.StateBackend{}
	return s
}

func TestWitnessReportsViolations(t *testing.T) {
	const planning, applying, done, failed = v1alpha1.PhasePlanning, v1alpha1.PhaseApplying, v1alpha1.PhaseSucceeded,
		v1alpha1.PhaseFailed
	for name, tt := range map[string]struct {
		runs     []*v1alpha1.Run
		states   []*v1alpha1.State
		relisted bool
		want     string
	}{
		"a Run that goes on": {runs: []*v1alpha1.Run{runIn(""), runIn(planning, 1),
			runIn(applying, 1, 2), runIn(done, 1, 2)}},
		"a Run that is tried again": {runs: []*v1alpha1.Run{runIn(applying, 1, 2),
			runIn(planning, 1, 2, 3)}},
		"a phase that goes back": {runs: []*v1alpha1.Run{runIn(applying, 1), runIn(planning, 1)},
			want: "I10"},
		"an end that was none": {runs: []*v1alpha1.Run{runIn(done, 1), runIn(failed, 1)},
			want: "I10"},
		"an end that goes on": {runs: []*v1alpha1.Run{runIn(done, 1), runIn(planning, 1, 2)},
			want: "I10"},
		"attempts that are deleted": {runs: []*v1alpha1.Run{runIn(applying, 1, 2), runIn(applying, 1)},
			want: "I10"},
		"a state that goes on": {states: []*v1alpha1.State{stateAt(0, 0, "", "", "net-1"),
			stateAt(1, 1, "a", "net-1", "net-1"), stateAt(2, 4, "a", "net-1", "")}},
		"a version that is left out": {states: []*v1alpha1.State{stateAt(1, 1, "a", "net-1", "net-1"),
			stateAt(3, 2, "a", "net-1", "net-1")}, want: "I2"},
		"another lineage": {states: []*v1alpha1.State{stateAt(1, 1, "a", "net-1", "net-1"),
			stateAt(2, 2, "b", "net-1", "net-1")}, want: "I2"},
		"a serial that does not follow": {states: []*v1alpha1.State{stateAt(1, 5, "a", "net-1", "net-1"),
			stateAt(2, 5, "a", "net-1", "net-1")}, want: "I1"},
		"a write without a lock": {states: []*v1alpha1.State{stateAt(1, 1, "a", "net-1", ""),
			stateAt(2, 2, "a", "net-1", "")}, want: "I1"},
		"a write by another than holds the lock": {states: []*v1alpha1.State{stateAt(1, 1, "a", "net-1", "net-2"),
			stateAt(2, 2, "a", "net-1", "net-2")}, want: "I1"},
		"a version that a user pushed": {states: []*v1alpha1.State{stateAt(0, 0, "", "", ""),
			stateAt(1, 1, "a", "", "")}},
		"a user's version under a Run's lock": {states: []*v1alpha1.State{stateAt(1, 1, "a", "net-1", "net-1"),
			stateAt(2, 2, "a", "", "net-1")}, want: "I1"},
		"a version that is followed": {states: []*v1alpha1.State{stateAt(0, 0, "", "", ""),
			followed(stateAt(1, 1, "a", "net-1", ""))}},
		"a lock that was not seen": {states: []*v1alpha1.State{stateAt(1, 1, "a", "net-1", ""),
			stateAt(3, 3, "a", "net-2", "net-2")}, relisted: true},
		"a version that is gone meanwhile": {states: []*v1alpha1.State{stateAt(2, 2, "a", "net-1", ""),
			stateAt(1, 3, "a", "net-1", "")}, relisted: true, want: "I2"},
		"another lineage meanwhile": {states: []*v1alpha1.State{stateAt(1, 1, "a", "net-1", ""),
			stateAt(3, 3, "b", "net-1", "")}, relisted: true, want: "I2"},
		"an older serial meanwhile": {states: []*v1alpha1.State{stateAt(1, 5, "a", "net-1", ""),
			stateAt(3, 5, "a", "net-1", "")}, relisted: true, want: "I1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &witness{}
			w.begin()
			for _, r := range tt.runs {
				w.run(r, false)
			}
			for i, s := range tt.states {
				w.state(s, tt.relisted && i > 0)
			}
			if err := w.end(); (err != nil) != (tt.want != "") ||
				(err != nil && !strings.HasPrefix(err.Error(), tt.want)) {
				t.Errorf("it says %v", err)
			}
			if w.begin(); w.end() != nil {
				t.Error("begin does not reset it")
			}
		})
	}
}

func TestVersionOfRestoredStateMayComeBack(t *testing.T) {
	for _, deleted := range []bool{true, false} {
		w := &witness{}
		w.begin()
		known := stateAt(3, 3, "a", "net-1", "net-1")
		known.Status.SHA256 = "sha256:1"
		w.state(known, false)
		if deleted {
			w.forgetVersions()
		}
		back := stateAt(1, 3, "a", "net-1", "")
		back.UID, back.Status.SHA256 = types.UID("3"), "sha256:1"
		empty := back.DeepCopy()
		empty.Status = v1alpha1.StateStatus{}
		w.state(empty, false)
		w.state(back, false)
		if err := w.end(); (err == nil) != deleted {
			t.Errorf("deleted %t: it says %v", deleted, err)
		}
	}
}

func TestDifferentEndingIsViolation(t *testing.T) {
	s := stories[0]
	good := outcome{Endings: []ending{{Stack: "Applied", Runs: []string{"net-1 Apply Spec Succeeded"}}},
		Writes: make([]proxy.Write, 10)}
	b := baseline{s.name: good}
	for name, tt := range map[string]struct {
		change func(*outcome)
		want   string
	}{
		"the same":         {func(*outcome) {}, ""},
		"some more writes": {func(t *outcome) { t.Writes = make([]proxy.Write, 40) }, ""},
		"too many writes":  {func(t *outcome) { t.Writes = make([]proxy.Write, 41) }, "I9"},
		"another Run": {func(t *outcome) {
			t.Endings = []ending{{Stack: "Applied", Runs: []string{"net-1", "net-2"}}}
		}, "net-2"},
		"a step less": {func(t *outcome) { t.Endings = nil }, "Applied"},
	} {
		t.Run(name, func(t *testing.T) {
			it := good
			tt.change(&it)
			if err := b.same(s, it); (err != nil) != (tt.want != "") ||
				(err != nil && !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("it says %v", err)
			}
		})
	}
}

func TestSecretInFileIsDetected(t *testing.T) {
	c := &cluster{dir: t.TempDir()}
	put := func(text string, path ...string) {
		t.Helper()
		file := filepath.Join(append([]string{c.dir}, path...)...)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("nothing", "f1", "operator.log")
	put("it is "+canary, "controlplane", "etcd", "data")
	put("it is "+canary, "etcd-before", "data")
	put("it is "+canary, "node", "pods", "1", "fs", "variables")
	if err := c.secrets(); err != nil {
		t.Error(err)
	}
	put("it is "+canary, "f1", "bucket", "logs")
	if err := c.secrets(); err == nil || !strings.Contains(err.Error(), "bucket/logs") {
		t.Errorf("it says %v", err)
	}
}

func TestViolationFailsRun(t *testing.T) {
	for _, err := range []error{nil, errors.New("made: I3: made more than once")} {
		r := &report{out: io.Discard}
		r.line(suite{name: "s"}, point{name: "p", fault: "f"}, nil, true, err, 0)
		if got := r.sum(0); (got != nil) != (err != nil) {
			t.Errorf("in the end it says %v", got)
		}
	}
}

// The flag -only selects points by their names.
func TestPointsHaveUniqueNames(t *testing.T) {
	b := baseline{}
	for _, s := range stories {
		b[s.name] = outcome{
			Fetches: 2,
			Writes: []proxy.Write{{Actor: "operator", Verb: "create", Resource: "pods", Ordinal: 1},
				{Actor: "server", Verb: "patch", Resource: "runs/status", Ordinal: 1}},
			Events: []proxy.Event{{Actor: "operator", Resource: "runs", Ordinal: 1},
				{Actor: "server", Resource: "runs", Ordinal: 1}},
		}
	}
	seen := map[string]bool{}
	for _, s := range suites {
		points := s.points(b)
		if len(points) == 0 {
			t.Errorf("suite %s has no points", s.name)
		}
		for _, p := range points {
			if p.fault == "" || seen[s.name+p.name] {
				t.Errorf("point %q of suite %s, fault %q: it was there before, or has no fault", p.name,
					s.name, p.fault)
			}
			seen[s.name+p.name] = true
		}
	}
}
