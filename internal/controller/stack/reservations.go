package stack

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stack/decision"
)

// Reserved has the names of Runs that this process wrote into the status of a Stack and did not create yet. It is lost
// with the process.
type Reserved struct {
	mu   sync.Mutex
	runs map[client.ObjectKey]reservation
}

type reservation struct {
	stack types.UID
	decision.Reservation
}

// NewReserved returns an empty set.
func NewReserved() *Reserved { return &Reserved{runs: map[client.ObjectKey]reservation{}} }

func (r *Reserved) of(stack *v1alpha1.Stack) decision.Reservation {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.runs[client.ObjectKeyFromObject(stack)]; n.stack == stack.UID {
		return n.Reservation
	}
	return decision.Reservation{}
}

func (r *Reserved) set(stack *v1alpha1.Stack, run decision.Reservation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs[client.ObjectKeyFromObject(stack)] = reservation{stack.UID, run}
}

func (r *Reserved) remove(key client.ObjectKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.runs, key)
}
