package server

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// maxPolls is how many requests for an order a pod may have open: one, and some that it lost track of.
const maxPolls = 4

// polls counts the requests that are held open, so that no pod holds more than a runner ever needs.
type polls struct {
	mu   sync.Mutex
	open map[types.UID]int
}

func (p *polls) begin(pod types.UID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open[pod] >= maxPolls {
		return false
	}
	if p.open == nil {
		p.open = map[types.UID]int{}
	}
	p.open[pod]++
	return true
}

func (p *polls) end(pod types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open[pod]--; p.open[pod] == 0 {
		delete(p.open, pod)
	}
}
