package decision

import (
	"slices"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/run/runinfo"
)

// However often a Run tries again, it does not forget that it began to apply.
func TestThatAnApplyBeganIsKept(t *testing.T) {
	w := snapshot(applying, failed(v1alpha1.FailureTransient))
	s := w.Run.Status
	applies := 0
	for range 3 * maxAttempts {
		before := slices.Clone(s.Attempts)
		s = Begin(s, Decision{Begin: v1alpha1.AttemptPlan}, 1, "pod", "uid", now)
		if !runinfo.Began(&v1alpha1.Run{Status: s}) {
			t.Fatalf("forgotten after attempt %d", runinfo.Current(&s).Number)
		}
		for i := range before[1:] {
			if before[i].Number >= before[i+1].Number {
				t.Fatal("the attempts that were there are changed")
			}
		}
	}
	for i, a := range s.Attempts {
		if runinfo.IsApply(a) {
			applies++
		}
		if i > 0 && a.Number <= s.Attempts[i-1].Number {
			t.Errorf("attempt %d comes after %d", a.Number, s.Attempts[i-1].Number)
		}
	}
	if len(s.Attempts) != maxAttempts || applies != 1 || s.Attempts[0].Number != 2 || runinfo.Current(&s).Number != 2+3*maxAttempts {
		t.Errorf("%d attempts with %d applies, from %d to %d", len(s.Attempts), applies, s.Attempts[0].Number, runinfo.Current(&s).Number)
	}
	s = Begin(s, Decision{Begin: v1alpha1.AttemptApply}, 1, "pod", "uid", now)
	if s.Attempts[0].Number == 2 {
		t.Error("an older apply is kept beside a newer one")
	}
}
