package kubelet

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Why the containers of a pod are ended.
var (
	errDeleted  = errors.New("the pod was deleted")
	errGone     = errors.New("the pod is gone from the API")
	errDeadline = errors.New("the pod was active longer than its deadline")
	errShutdown = errors.New("the kubelet is shutting down")
)

// pod is a pod of this node, from the time it is seen until it is gone from the API. See the chart in doc.go.
type pod struct {
	k       *Kubelet
	obj     *corev1.Pod // as it was when first seen, with its node
	dir     podDir
	log     logr.Logger
	inputs  *inputs
	reports mailbox

	// term is done when the containers are to end, kill when they have no more time to. term's cause says why.
	term    context.Context
	end     context.CancelCauseFunc
	kill    context.Context
	killNow context.CancelFunc

	deleted, gone chan struct{} // closed by delete and vanish

	mu          sync.Mutex
	killer      *time.Timer // calls killNow, at killAt
	killAt      time.Time
	observed    observed
	interrupted bool                     // some container was signaled to end
	writing     map[string]chan struct{} // closed when nothing writes to that container's log any more
	warned      map[string]string        // the last event of each reason
	running     map[string]*inside       // the containers that can be exec'd into
}

func newPod(ctx context.Context, k *Kubelet, obj *corev1.Pod, dir podDir) *pod {
	p := &pod{
		k: k, obj: obj.DeepCopy(), dir: dir,
		log:     k.o.Log.WithValues("pod", obj.Namespace+"/"+obj.Name),
		inputs:  newInputs(),
		reports: make(mailbox, 1),
		warned:  map[string]string{},
		deleted: make(chan struct{}), gone: make(chan struct{}),
		writing: map[string]chan struct{}{},
		running: map[string]*inside{},
		observed: observed{
			since: metav1.Now(),
			init:  make([]corev1.ContainerState, len(obj.Spec.InitContainers)),
			main:  make([]corev1.ContainerState, len(obj.Spec.Containers)),
		},
	}
	if obj.Status.StartTime != nil {
		p.observed.since = *obj.Status.StartTime
	}
	p.obj.Spec.NodeName = k.o.NodeName
	p.kill, p.killNow = context.WithCancel(context.WithoutCancel(ctx))
	p.term, p.end = context.WithCancelCause(p.kill)
	return p
}

// run does all that is done to a pod, and returns when there is nothing more to do. It returns false when the pod is
// not this node's.
func (p *pod) run(ctx context.Context, do action) (mine bool) {
	defer p.release()
	if do != keep {
		if mine := p.live(ctx, do); !mine {
			return false
		}
	}
	// It has ended. What remains is to wait for its deletion. As with a real kubelet its logs stay until then, and its
	// volumes do not, unless a process of an earlier kubelet may still use them.
	if do != lose {
		if err := p.dir.unmount(); err != nil {
			p.log.Error(err, "Remove the volumes of the pod")
		}
	}
	select {
	case <-p.deleted:
		p.remove(ctx)
	case <-p.gone:
	case <-p.k.draining:
		return true
	}
	select {
	case <-p.gone: // at last: finalizers may take their time
		if err := os.RemoveAll(string(p.dir)); err != nil {
			p.log.Error(err, "Remove the folder of the pod")
		}
	case <-p.k.draining:
	}
	return true
}

// live takes a pod from where it is to its end, and returns when that is written.
func (p *pod) live(ctx context.Context, do action) (mine bool) {
	writing, giveUp := context.WithCancel(ctx)
	defer giveUp()
	written := make(chan struct{})
	go func() {
		defer close(written)
		p.write(writing)
	}()

	mine = true
	switch do {
	case bind:
		if mine = p.bind(); mine {
			p.work(ctx)
		}
	case start:
		p.work(ctx)
	case lose:
		p.lose()
	}
	if mine {
		p.finish()
	}
	close(p.reports)

	select {
	case <-written:
		return mine
	case <-p.k.draining:
	}
	const patience = 5 * time.Second // for an API server that may be gone already
	select {
	case <-written:
	case <-time.After(patience):
		giveUp()
		<-written
	}
	return mine
}

// work runs the pod's containers until all have ended, in one way or another.
func (p *pod) work(ctx context.Context) {
	if no := refuse(&p.obj.Spec); no != nil {
		p.warn(ctx, no.reason, no.message)
		p.fail(no)
		return
	}
	if seconds := p.obj.Spec.ActiveDeadlineSeconds; seconds != nil {
		left := time.Until(p.observed.since.Add(time.Duration(*seconds) * time.Second))
		defer time.AfterFunc(left, func() { p.stop(errDeadline, p.grace()) }).Stop()
	}
	renew, ok := p.mount(ctx)
	if !ok {
		return
	}
	// Tokens are renewed while anything runs, also while it is ending: it may still have data to save.
	renewing, stop := context.WithCancel(ctx)
	var background sync.WaitGroup
	defer background.Wait()
	defer stop()
	background.Go(func() { p.renewTokens(renewing, renew) })

	for i := range p.obj.Spec.InitContainers {
		state := &p.observed.init[i]
		// most have ended before a client reads the status
		p.runContainer(ctx, &p.obj.Spec.InitContainers[i], state, lazy)
		if p.term.Err() != nil || !succeeded(*state) {
			return
		}
	}
	var all sync.WaitGroup
	for i := range p.obj.Spec.Containers {
		all.Go(func() { p.runContainer(ctx, &p.obj.Spec.Containers[i], &p.observed.main[i], urgent) })
	}
	all.Wait()
}

// finish reports how the pod ended. One that was not started before the kubelet shut down has not: it waits for the
// next.
func (p *pod) finish() {
	why := context.Cause(p.term)
	if errors.Is(why, errGone) || errors.Is(why, errShutdown) && !p.dir.started() {
		return
	}
	p.cutShort(why)
	p.report(urgent)
}

// stop signals the containers to end, and kills them after the grace period. The first cause counts, and the
// shortest time.
func (p *pod) stop(why error, grace time.Duration) {
	p.end(why)
	if grace <= 0 {
		p.killNow()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := time.Now().Add(grace)
	if p.killer != nil {
		if p.killAt.Before(at) {
			return
		}
		p.killer.Stop()
	}
	p.killer, p.killAt = time.AfterFunc(grace, p.killNow), at
}

// delete handles a deletion of the pod, perhaps a second one with a shorter grace period. The lock of the kubelet is
// held.
func (p *pod) delete(obj *corev1.Pod) {
	var grace time.Duration
	if s := obj.DeletionGracePeriodSeconds; s != nil {
		grace = time.Duration(*s) * time.Second
	}
	p.stop(errDeleted, grace)
	select {
	case <-p.deleted:
	default:
		close(p.deleted)
	}
}

// vanish takes in that the pod is gone from the API: whatever still runs must end now. It is called once.
func (p *pod) vanish() {
	p.stop(errGone, 0)
	close(p.gone)
}

// grace is what the pod asks for.
func (p *pod) grace() time.Duration {
	if s := p.obj.Spec.TerminationGracePeriodSeconds; s != nil {
		return time.Duration(*s) * time.Second
	}
	return corev1.DefaultTerminationGracePeriodSeconds * time.Second
}

// release gives back what newPod took.
func (p *pod) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killer != nil {
		p.killer.Stop()
	}
	p.end(nil)
	p.killNow()
}
