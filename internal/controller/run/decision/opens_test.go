package decision

import (
	"testing"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
)

// The status has when the window opens, as long as the Run waits for that.
func TestStatusHasWhenTheWindowOpens(t *testing.T) {
	w := snapshot(planned, closed(v1alpha1.OperationApply))
	s, _ := Settle(w)
	if s.WindowOpensAt == nil || !s.WindowOpensAt.Time.Equal(now.Truncate(time.Hour).Add(time.Hour)) {
		t.Errorf("the window opens at %v", s.WindowOpensAt)
	}
	w.Run.Status, w.Stack.Spec.Windows = s, nil
	if s, d := Settle(w); s.WindowOpensAt != nil && d.Begin == "" {
		t.Errorf("the window is open, and opens at %v", s.WindowOpensAt)
	}
	w.Run.Spec.Cancel = true
	if s, _ := Settle(w); s.WindowOpensAt != nil {
		t.Errorf("a canceled Run waits for a window at %v", s.WindowOpensAt)
	}
}
