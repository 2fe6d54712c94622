package runner

import (
	"fmt"
	"sync"
	"time"

	"cairn.dev/cairn/internal/store"
)

// unreachablePatience is how long a runner has the store try a place again that does not answer. It is named from the first try on.
const unreachablePatience = time.Minute

// unreachable is a place, from which the store downloads, that does not answer.
type unreachable struct{ store.Download }

func (u *unreachable) Error() string { return u.Unreachable }

// following gives what is told of one download: it says how far that is, and gives it up once the place has not answered for a while.
func (a *attempt) following() func(store.Download) error {
	var away time.Time
	patience := min(unreachablePatience, a.order.Patience)
	return func(d store.Download) error {
		a.progress.say(d.String())
		if d.Unreachable == "" {
			away = time.Time{}
			return nil
		}
		if away.IsZero() {
			away = time.Now()
		}
		if time.Since(away)+store.UnreachablePause > patience {
			return &unreachable{d}
		}
		return nil
	}
}

// sayer writes how far downloads are into the attempt's log and the message of its step, when that is news. It is safe for concurrent
// use: an engine may ask for several providers at once.
type sayer struct {
	a    *attempt
	mu   sync.Mutex
	last string
}

func (s *sayer) say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text = s.a.clean(text); text == s.last {
		return
	}
	s.last = text
	fmt.Fprintln(s.a.text, text)
	s.a.report.say(text)
}
