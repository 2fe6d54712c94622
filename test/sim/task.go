package sim

import (
	"iter"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Libraries would log how the model ends what is under way, and, once a process is 30 seconds old, a stack trace that says that nobody chose where
// controllers log to.
func init() {
	utilruntime.PanicHandlers = nil
	ctrl.SetLogger(logr.Discard())
}

// A task is something under way that can be left for a while, or for ever, wherever it reaches out of its process: a
// reconcile, or a runner. It runs on a thread, never beside another one.
type task struct {
	name   string
	do     func()
	thread *thread
	over   bool
	// began is the step at which the request that it makes reached the server.
	began int
	// killed: it is to end where it is.
	killed bool
}

// thread is a coroutine that lives through one task after the other: what they need of a stack is there already.
type thread struct {
	task  *task
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
}

// stopped unwinds a task whose process has ended.
type stopped struct{}

func newThread() *thread {
	t := &thread{}
	t.next, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		for more := true; more; more = yield(struct{}{}) {
			shield(t.task.do)
			t.task.over = true
		}
	})
	return t
}

// begin makes a task. It does nothing yet.
func (w *world) begin(name string, do func()) *task {
	t := &task{name: name, do: do}
	w.tasks = append(w.tasks, t)
	return t
}

// shield ends what it does when its process ends.
func shield(do func()) {
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(stopped); !ok {
				panic(p)
			}
		}
	}()
	do()
}

// resume lets a task go on until it reaches out again.
func (w *world) resume(t *task) {
	if t.thread == nil {
		t.thread = w.shared.thread()
		t.thread.task = t
	}
	was := w.task
	w.task = t
	t.thread.next()
	w.task = was
	if t.over {
		w.shared.idle = append(w.shared.idle, t.thread)
		t.thread, t.do = nil, nil
	}
}

// thread gives one that has nothing to do.
func (s *shared) thread() *thread {
	if n := len(s.idle); n > 0 {
		t := s.idle[n-1]
		s.idle = s.idle[:n-1]
		return t
	}
	return newThread()
}

// end lets go of all threads.
func (s *shared) end() {
	for _, t := range s.idle {
		t.stop()
	}
	s.idle = nil
}

// kill ends a task where it is.
func (w *world) kill(t *task) {
	if t == nil || t.over {
		return
	}
	t.killed = true
	if t.thread == nil { // it did not begin
		t.over = true
		return
	}
	w.resume(t)
}

// pause leaves the task that is under way, if there is one.
func (w *world) pause() {
	t := w.task
	if t == nil {
		return
	}
	if !t.killed {
		t.thread.yield(struct{}{})
	}
	if t.killed {
		panic(stopped{})
	}
}
