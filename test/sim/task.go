package sim

import (
	"iter"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// A library would log how the model ends what is under way.
func init() { utilruntime.PanicHandlers = nil }

// A task is something under way that can be left for a while, or for ever, wherever it reaches out of its process: a
// reconcile, or a runner. It is a coroutine, never at work beside another one.
type task struct {
	name  string
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
	over  bool
}

// stopped unwinds a task whose process has ended.
type stopped struct{}

// begin makes a task. It does nothing yet.
func (w *world) begin(name string, do func()) *task {
	t := &task{name: name}
	t.next, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		w.shield(do)
	})
	w.tasks = append(w.tasks, t)
	return t
}

// shield ends what it does when its process ends.
func (w *world) shield(do func()) {
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
	w.task = t
	_, more := t.next()
	w.task, t.over = nil, !more
}

// kill ends a task where it is.
func (w *world) kill(t *task) {
	if t != nil && !t.over {
		t.over = true
		t.stop()
	}
}

// pause leaves the task that is under way, if there is one.
func (w *world) pause() {
	if t := w.task; t != nil {
		if !t.yield(struct{}{}) {
			panic(stopped{})
		}
	}
}
