package git

import (
	"slices"
	"time"
)

// restTime is how long a reader that nobody uses is kept: there may be a thousand mirrors, most of which are read when a
// push comes.
const restTime = time.Minute

// rest lets a reader that is idle end in a while. The caller holds mu.
func (r *readers) rest(p *reader) {
	r.timers.Add(1)
	p.bored = time.AfterFunc(restTime, func() {
		defer r.timers.Done()
		r.mu.Lock()
		at := slices.Index(r.idle, p)
		if at >= 0 {
			r.idle = slices.Delete(r.idle, at, at+1)
		}
		r.mu.Unlock()
		if at >= 0 { // else somebody took it just now
			p.end()
		}
	})
}

// wake takes back what rest said. The caller holds mu.
func (r *readers) wake(p *reader) {
	if p.bored.Stop() {
		r.timers.Done()
	}
}
