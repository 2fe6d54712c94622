package process

import (
	"slices"
	"testing"
)

// The engine interrupts its own child processes.
func TestChildProcessesOfAnEngineAreNotInterrupted(t *testing.T) {
	t.Parallel()
	all := []Process{
		// a script, an engine, what that started
		{10, "sh", 1}, {11, "tofu", 10}, {12, "terraform-provi", 11}, {13, "sh", 11}, {14, "sleep", 13},
		{20, "terragrunt", 1}, {21, "tofu", 20}, {22, "sleep", 21}, // whose script has ended
		{30, "sleep", 10},
	}
	var got []int
	for _, d := range outsideEngines(all) {
		got = append(got, d.PID)
	}
	if !slices.Equal(got, []int{10, 11, 20, 30}) {
		t.Error(got)
	}
}
