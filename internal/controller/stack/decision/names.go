package decision

import (
	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// No two Runs have the same name in the life of their Stack, whatever is deleted (docs/contributing/decisions/0041). A
// number is written into status.lastRun under an optimistic lock, which only goes up, and the process that wrote it
// alone creates the Run, with one request:
//
//	status.lastRun: net-7 ──► create Run net-7 ──► created, or unknown: the next Run is net-8
//	                               │
//	                               └──► rejected by the API server: this process tries net-7 again
//
// A number whose process ended before the request is not used.

// nextRunName is the name of the next Run: the one that this process reserved and could not create yet, or else the one
// above every number ever used.
func nextRunName(w Snapshot) string {
	used, last := highestCreatedNumber(w), w.Stack.Status.LastRun
	if w.Reserved.Run == last && runinfo.Number(last) > used {
		return w.Reserved.Run
	}
	return runinfo.Name(w.Stack.Name, max(used, runinfo.Number(last))+1)
}

// highestCreatedNumber is the highest number of a Run that is known to have been created.
func highestCreatedNumber(w Snapshot) int {
	n := max(w.HighestTaken, runinfo.Number(w.Leftover.Run), highestNumber(w))
	for _, name := range runsInState(w.State) {
		n = max(n, runinfo.Number(name))
	}
	return n
}

// highestNumber is the highest number of the Stack's Runs; 0 when there is none.
func highestNumber(w Snapshot) int {
	if len(w.Runs) == 0 {
		return 0
	}
	return runinfo.Number(w.Runs[len(w.Runs)-1].Name)
}

// runsInState names the Runs that a State refers to by name. A State that outlived its Stack must not meet the same
// names again.
func runsInState(st *v1alpha1.State) []string {
	if st == nil {
		return nil
	}
	names := []string{st.Status.UpdatedBy}
	if lock := st.Status.Lock; lock != nil {
		names = append(names, lock.Run)
	}
	if rescued := st.Status.Rescued; rescued != nil {
		names = append(names, rescued.Run)
	}
	return names
}
