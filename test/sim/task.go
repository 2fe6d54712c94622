package sim

import (
	"iter"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Libraries would log how the model ends tasks in progress, and, once a process is 30 seconds old, a stack trace since
// no logger is set for controllers.
func init() {
	utilruntime.PanicHandlers = nil
	ctrl.SetLogger(logr.Discard())
}

// A task is work that can be interrupted for some time, or for ever, wherever it uses another process: a
// reconciliation, or a runner. It runs on a thread, never concurrently with another one.
type task struct {
	name   string
	do     func()
	thread *thread
	over   bool
	// began is the step at which its current request reached the server.
	began int
	// killed: it ends at its current point.
	killed bool
}

// thread is a coroutine that runs one task after the other, so that its stack is reused.
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

// begin creates a task, without running it.
func (sim *simulation) begin(name string, do func()) *task {
	t := &task{name: name, do: do}
	sim.tasks = append(sim.tasks, t)
	return t
}

// shield ends a function when its process ends.
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

// resume runs a task until its next interruption.
func (sim *simulation) resume(t *task) {
	if t.thread == nil {
		t.thread = sim.shared.thread()
		t.thread.task = t
	}
	was := sim.task
	sim.task = t
	t.thread.next()
	sim.task = was
	if t.over {
		sim.shared.idle = append(sim.shared.idle, t.thread)
		t.thread, t.do = nil, nil
	}
}

// thread returns an idle one.
func (s *shared) thread() *thread {
	if n := len(s.idle); n > 0 {
		t := s.idle[n-1]
		s.idle = s.idle[:n-1]
		return t
	}
	return newThread()
}

// end ends all threads.
func (s *shared) end() {
	for _, t := range s.idle {
		t.stop()
	}
	s.idle = nil
}

// kill ends a task at its current point.
func (sim *simulation) kill(t *task) {
	if t == nil || t.over {
		return
	}
	t.killed = true
	if t.thread == nil { // it did not start
		t.over = true
		return
	}
	sim.resume(t)
}

// pause interrupts the current task, if there is one.
func (sim *simulation) pause() {
	t := sim.task
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
