package stack

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/run/runinfo"
)

// No two Runs have the same name in the life of their Stack, whatever is deleted (docs/decisions/0041). A number is written into status.lastRun
// under an optimistic lock, which only goes up, and the process that wrote it alone creates the Run, with one request:
//
//	status.lastRun: net-7 ──► create Run net-7 ──► created, or nobody can tell: the next Run is net-8
//	                               │
//	                               └──► rejected by the API server: this process tries net-7 again
//
// A number whose process ended before the request is not used.

// nextRun is the name of the next Run: the one that this process reserved and could not create yet, or else the one above every number
// ever used.
func nextRun(w World) string {
	used, last := highestCreated(w), w.Stack.Status.LastRun
	if w.Reserved == last && runinfo.Number(last) > used {
		return w.Reserved
	}
	return runinfo.Name(w.Stack.Name, max(used, runinfo.Number(last))+1)
}

// highestCreated is the highest number of a Run that is known to have been created.
func highestCreated(w World) int {
	n := max(w.Taken, runinfo.Number(w.Left.Run))
	if last := w.last(); last != nil {
		n = max(n, runinfo.Number(last.Name))
	}
	for _, name := range runsKnownTo(w.State) {
		n = max(n, runinfo.Number(name))
	}
	return n
}

// runsKnownTo names the Runs that a State tells apart by name. One that outlived its Stack must not meet them again.
func runsKnownTo(st *v1alpha1.State) []string {
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

// Reserved has the names of Runs that this process wrote into the status of a Stack and did not create yet. It is not kept over a restart.
type Reserved struct {
	mu    sync.Mutex
	names map[client.ObjectKey]reservation
}

type reservation struct {
	stack types.UID
	run   string
}

// NewReserved has no names yet.
func NewReserved() *Reserved { return &Reserved{names: map[client.ObjectKey]reservation{}} }

func (r *Reserved) of(stack *v1alpha1.Stack) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.names[client.ObjectKeyFromObject(stack)]; n.stack == stack.UID {
		return n.run
	}
	return ""
}

func (r *Reserved) add(stack *v1alpha1.Stack, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.names[client.ObjectKeyFromObject(stack)] = reservation{stack.UID, name}
}

func (r *Reserved) remove(key client.ObjectKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.names, key)
}
