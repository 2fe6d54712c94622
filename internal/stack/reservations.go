package stack

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
)

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
