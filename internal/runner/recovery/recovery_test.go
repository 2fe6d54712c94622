package recovery

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runnerapi"
)

func TestReasonHasNoIDs(t *testing.T) {
	r := &Recovery{Options: Options{Journal: []engine.Done{{ID: "vpc-1"}, {ID: "vpc-23"}, {ID: "1"}, {}}}}
	if got := r.withoutIDs("read vpc-23: not like vpc-1, on line 1"); got != "read …: not like …, on line 1" {
		t.Error(got)
	}
}

// fakeEngine rejects some imports, each so often.
type fakeEngine struct {
	rejects map[string]int
	message string
	plans   []string
}

func (e *fakeEngine) Import(context.Context, engine.Missing, []byte) (imported []byte, rejected, err error) {
	return nil, nil, errors.New("not to be called")
}

func (e *fakeEngine) Plan(_ context.Context, imports []engine.Missing, _ []byte) error {
	with, failed := "", false
	for _, m := range imports {
		with += m.Address
		if e.rejects[m.Address] > 0 {
			e.rejects[m.Address]--
			failed = true
		}
	}
	e.plans = append(e.plans, with)
	if failed {
		return errors.New(e.message)
	}
	return nil
}

// plan plans with imports.
func plan(t *testing.T, rejects map[string]int, message string, addresses ...string) (r *Recovery, plans []string) {
	t.Helper()
	e := &fakeEngine{rejects: rejects, message: message}
	r = &Recovery{Options: Options{Engine: e, Log: io.Discard, Clean: func(text string) string { return text }}}
	for _, address := range addresses {
		r.imports = append(r.imports, engine.Missing{Address: address, ID: "id-" + address})
	}
	if err := r.Plan(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r, e.plans
}

// A transient error leaves no orphan: each import is retried once before it is left out.
func TestTransientImportErrorIsRetried(t *testing.T) {
	const always = 1000
	for name, tt := range map[string]struct {
		against   map[string]int
		says      string
		addresses []string
		orphans   []string
		plans     string
	}{
		"of the only one": {map[string]int{"a": 1}, "timeout", []string{"a"}, nil, "a  a"},
		"of one of two": {map[string]int{"a": 2}, "timeout", []string{"a", "b"}, nil,
			"ab  a a b ab"},
		"of all together": {map[string]int{"a": 1, "b": 2}, "timeout", []string{"a", "b"}, nil,
			"ab  a b b ab"},
		"one that does not pass": {map[string]int{"a": always}, "timeout", []string{"a"}, []string{"a"},
			"a  a "},
		"of two one does not pass": {map[string]int{"a": always}, "timeout", []string{"a", "b"},
			[]string{"a"}, "ab  a a b"},
		"what is gone is not tried": {map[string]int{"a": always},
			"Cannot import non-existent remote object", []string{"a"}, nil, "a "},
		"what is not declared is not imported": {map[string]int{"a": always}, "Import block target does not exist",
			[]string{"a"}, []string{"a"}, "a "},
		"when both do not pass each": {map[string]int{"a": always, "b": always}, "timeout", []string{"a", "b"},
			[]string{"a", "b"}, "ab  a a b b "},
	} {
		t.Run(name, func(t *testing.T) {
			r, plans := plan(t, tt.against, tt.says, tt.addresses...)
			var orphans []string
			for _, o := range r.orphans {
				orphans = append(orphans, o.Address)
			}
			if got := strings.Join(plans, " "); !slices.Equal(orphans, tt.orphans) || got != tt.plans {
				t.Errorf("left out %v, plans %q, want %v, %q", orphans, got, tt.orphans, tt.plans)
			}
			if len(r.planned)+len(orphans) != len(tt.addresses) && !strings.Contains(tt.says, "Cannot") {
				t.Errorf("planned with %v", r.planned)
			}
		})
	}
}

func TestJournalIsSettled(t *testing.T) {
	one := []engine.Missing{{Address: "a"}}
	for name, tt := range map[string]struct {
		r       Recovery
		changes bool
		want    bool
	}{
		"nothing is missing":                      {Recovery{}, true, true},
		"nothing is missing, and nothing changes": {Recovery{}, false, true},
		"it is imported":                          {Recovery{missing: 1, planned: one}, true, false},
		"it is imported, and nothing changes":     {Recovery{missing: 1, planned: one}, false, false},
		"it is in the copy that is planned on": {Recovery{missing: 1, copied: []engine.Missing{{}}},
			true, false},
		"it could not be taken in": {
			Recovery{missing: 1, orphans: []runnerapi.UntrackedResource{{}}}, false, false},
		"it is gone, and an apply follows":                  {Recovery{missing: 1, imports: one}, true, false},
		"it is gone, and no apply follows, as in a destroy": {Recovery{missing: 1, imports: one}, false, true},
		"it is in the copy, and the plan took no notice of that": {Recovery{missing: 1, copied: []engine.Missing{{}}},
			false, false},
	} {
		if got := tt.r.Settled(tt.changes); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// They are limited in number and in bytes.
func TestImportsOfAPlanAreLimited(t *testing.T) {
	for name, tt := range map[string]struct{ missing, idBytes, want int }{
		"none":           {0, 0, 0},
		"as many as may": {maxImports, 10, maxImports},
		"too many":       {maxImports + 1, 10, maxImports},
		"too large":      {200, 10 << 10, 102},
	} {
		missing := slices.Repeat([]engine.Missing{{Address: "a.b", ID: strings.Repeat("x", tt.idBytes)}}, tt.missing)
		if got := importable(missing); got != tt.want {
			t.Errorf("%s: %d", name, got)
		}
	}
}

// The bisection ends after a limited number of plans. Resources that it did not check are left out and reported.
func TestBisectionEnds(t *testing.T) {
	against := map[string]int{}
	var addresses []string
	for i := range 200 {
		addresses = append(addresses, fmt.Sprintf("a.b%03d", i))
		against[addresses[i]] = 1000
	}
	r, plans := plan(t, against, "timeout", addresses...)
	if len(r.orphans) != len(addresses) || len(plans) > maxPlans+3 { // with all, without any, and the last
		t.Errorf("%d left out after %d plans", len(r.orphans), len(plans))
	}
	if last := r.orphans[len(r.orphans)-1]; last.Address != "a.b199" ||
		!strings.Contains(last.Reason, "100 plans did not show") {
		t.Errorf("%+v", last)
	}
}
