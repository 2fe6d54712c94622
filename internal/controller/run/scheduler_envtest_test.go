//go:build envtest

package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/run/podspec"
	"cairn.dev/cairn/internal/controller/run/scheduler"
	"cairn.dev/cairn/test/apiserver"
)

// setLimits replaces the scheduler by one with these limits.
func (r *testEnv) setLimits(l scheduler.Limits) {
	r.Scheduler = scheduler.New(scheduler.NewQueue(l, time.Now), r.Env.Client)
}

// withStack returns the same environment with another Stack and its first Run, whose code is from a Repository if one
// is named.
func (r *testEnv) withStack(name, repository string) *testEnv {
	r.Helper()
	other := *r
	other.stack = r.stack.DeepCopy()
	other.stack.ObjectMeta = metav1.ObjectMeta{Name: name}
	if repository != "" {
		other.stack.Spec.Source = v1alpha1.Source{
			Git: &v1alpha1.GitSource{Repository: v1alpha1.RepositoryRef{Name: repository}}}
	}
	status := other.stack.Status
	r.Make(other.stack)
	other.stack.Status = status
	other.stack.Status.LastRun = name + "-1"
	apiserver.Must(r.T, r.Env.Client.Status().Update(r.Context(), other.stack))
	r.Seen(other.stack)
	other.run = &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{
		Name: name + "-1",
		OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(other.stack, v1alpha1.GroupVersion.WithKind("Stack"))},
	}, Spec: *r.run.Spec.DeepCopy()}
	other.run.Spec.Stack.Name = name
	r.Make(other.run)
	return &other
}

// updateStatus changes the status of the Run in the API server.
func (r *testEnv) updateStatus(change func(*v1alpha1.RunStatus)) {
	r.Helper()
	r.Seen(r.run)
	change(&r.run.Status)
	apiserver.Must(r.T, r.Env.Client.Status().Update(r.Context(), r.run))
	r.Seen(r.run)
}

func succeeds(s *v1alpha1.RunStatus) {
	s.Phase, s.FinishedAt = v1alpha1.PhaseSucceeded, &metav1.Time{Time: time.Now()}
}

// expectWaits wants a Run that waits for a place, and says so.
func (r *testEnv) expectWaits(message string) {
	r.Helper()
	r.expectAttempts()
	c := r.run.Status.Conditions
	if r.run.Status.Phase != v1alpha1.PhaseQueued || len(c) == 0 || c[0].Reason != v1alpha1.ReasonQueued ||
		c[0].Message != message {
		r.Errorf("%s is %q %v, want Queued: %s", r.run.Name, r.run.Status.Phase, c, message)
	}
}

// expectWoken wants that these Runs are woken, and no others.
func (r *testEnv) expectWoken(want ...*testEnv) {
	r.Helper()
	for _, next := range want {
		select {
		case e := <-r.Scheduler.Wake():
			if e.Object != client.ObjectKeyFromObject(next.run) {
				r.Errorf("%s is woken, not %s", e.Object, next.run.Name)
			}
		case <-time.After(time.Minute):
			r.Errorf("%s is never woken", next.run.Name)
		}
	}
	select {
	case e := <-r.Scheduler.Wake():
		r.Errorf("%s is woken too", e.Object)
	default:
	}
}

func TestRunWaitsForAPlace(t *testing.T) {
	r := newTestEnv(t)
	r.setLimits(scheduler.Limits{Namespace: 1})
	next, last := r.withStack("web", ""), r.withStack("zoo", "")
	r.reconcile()
	r.expectAttempts("Plan")
	next.reconcile()
	last.reconcile()
	next.expectWaits("concurrency limit of namespace " + r.Namespace + " reached (1 of 1); next")
	last.expectWaits("concurrency limit of namespace " + r.Namespace + " reached (1 of 1); among the next 5")
	r.expectWoken()

	written := next.run.ResourceVersion
	if next.reconcile().ResourceVersion != written {
		t.Error("a pass of a Run that waits as before wrote it")
	}
	result, err := next.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(next.run)})
	apiserver.Must(t, err)
	if result.RequeueAfter <= 0 || result.RequeueAfter > 5*time.Minute {
		t.Errorf("its place in the line is looked at again in %s", result.RequeueAfter)
	}

	r.reconcile()
	r.updateStatus(succeeds)
	r.reconcile()
	r.expectWoken(next)
	last.reconcile()
	last.expectAttempts()
	next.reconcile()
	next.expectAttempts("Plan")

	// One that is deleted leaves its place too.
	apiserver.Must(t, r.Env.Client.Delete(t.Context(), next.run))
	r.Gone(next.run)
	_, err = next.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(next.run)})
	apiserver.Must(t, err)
	r.expectWoken(last)
}

// Between its plan and its apply a Run has no pod, and so no place.
func TestRunThatAwaitsApprovalHasNoPlace(t *testing.T) {
	r := newTestEnv(t)
	r.setLimits(scheduler.Limits{Namespace: 1})
	next := r.withStack("web", "")
	r.reconcile()
	next.reconcile()
	r.updateStatus(func(s *v1alpha1.RunStatus) {
		s.Phase, s.Plan = v1alpha1.PhaseAwaitingApproval, &v1alpha1.Plan{Digest: "sha256:plan", Changes: true}
		s.Attempts[0].FinishedAt = &metav1.MicroTime{Time: time.Now()}
	})
	r.stack.Spec.Apply = v1alpha1.ApplyManual
	apiserver.Must(t, r.Env.Client.Update(t.Context(), r.stack))
	r.Seen(r.stack)
	r.reconcile()
	r.expectWoken(next)
}

// A Run that ran before the process started is still counted.
func TestRestartCountsRunningRuns(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	next := r.withStack("web", "")
	next.setLimits(scheduler.Limits{Namespace: 1})
	next.reconcile()
	next.expectWaits("concurrency limit of namespace " + r.Namespace + " reached (1 of 1); next")
	if n := len(r.pods()); n != 1 {
		t.Errorf("there are %d pods", n)
	}
}

// A process that does not know which Runs are running grants no place, and lists them later.
func TestNoPlaceIsGrantedBeforeRunningRunsAreListed(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	next := r.withStack("web", "")
	reader := &unreliableCache{Reader: r.Env.Client, err: errors.New("not now")}
	next.Scheduler = scheduler.New(scheduler.NewQueue(scheduler.Limits{Namespace: 1}, time.Now), reader)
	if _, err := next.Reconcile(t.Context(),
		ctrl.Request{NamespacedName: client.ObjectKeyFromObject(next.run)}); !errors.Is(err, reader.err) {
		t.Errorf("got %v", err)
	}
	reader.err = nil
	next.reconcile()
	next.expectWaits("concurrency limit of namespace " + r.Namespace + " reached (1 of 1); next")
}

// A Run that ends while the running Runs are listed does not keep its place.
func TestRunThatEndsDuringTheStartReleasesItsPlace(t *testing.T) {
	r := newTestEnv(t)
	r.reconcile()
	next := r.withStack("web", "")
	reader, left := &unreliableCache{Reader: r.Env.Client}, make(chan struct{})
	next.Scheduler = scheduler.New(scheduler.NewQueue(scheduler.Limits{Namespace: 1}, time.Now), reader)
	reader.listed = func() {
		go func() {
			next.Scheduler.Remove(t.Context(), client.ObjectKeyFromObject(r.run))
			close(left)
		}()
		select { // it has to wait, so this takes its time
		case <-left:
		case <-time.After(50 * time.Millisecond):
		}
	}
	next.reconcile()
	<-left
	next.reconcile()
	next.expectAttempts("Plan")
}

// unreliableCache is a cache that may fail to list, and that says when it has listed.
type unreliableCache struct {
	client.Reader
	err    error
	listed func()
}

func (u *unreliableCache) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if u.err != nil {
		return u.err
	}
	err := u.Reader.List(ctx, list, opts...)
	if u.listed != nil {
		u.listed()
	}
	return err
}

func TestLimitsHoldOverPassesAtTheSameTime(t *testing.T) {
	r := newTestEnv(t)
	r.setLimits(scheduler.Limits{Namespace: 3, Repository: func(key string) int {
		return map[string]int{r.Namespace + "/infra": 1}[key]
	}})
	all := []*testEnv{r}
	for i := range 5 {
		all = append(all, r.withStack(fmt.Sprintf("inline%d", i), ""), r.withStack(fmt.Sprintf("infra%d", i), "infra"))
	}
	var passes sync.WaitGroup
	for _, one := range all {
		for range 3 {
			passes.Go(func() {
				if _, err := one.Reconcile(t.Context(),
					ctrl.Request{NamespacedName: client.ObjectKeyFromObject(one.run)}); err != nil {
					t.Error(err)
				}
			})
		}
	}
	passes.Wait()
	infra := 0
	for _, pod := range r.pods() {
		if strings.HasPrefix(pod.Name, "infra") {
			infra++
		}
	}
	if n := len(r.pods()); n != 3 || infra > 1 {
		t.Errorf("there are %d pods, %d of them of the Repository", n, infra)
	}
	for _, one := range all {
		r.Seen(one.run)
		if c := one.run.Status.Conditions; len(one.run.Status.Attempts) == 0 &&
			!strings.HasPrefix(c[0].Message, "concurrency limit ") {
			t.Errorf("%s says %v", one.run.Name, c)
		}
	}
}

// A pod that the API server rejects keeps no place from those that it accepts.
func TestRejectedPodReleasesItsPlace(t *testing.T) {
	r := newTestEnv(t)
	r.setLimits(scheduler.Limits{Namespace: 1})
	next := r.withStack("web", "")
	foreign := podspec.BuildPod(r.run, r.stack, inputs.Document{}, v1alpha1.AttemptPlan, 1, settings)
	foreign.OwnerReferences = nil
	apiserver.Must(t, r.Env.Client.Create(t.Context(), foreign))
	r.reconcile()
	if c := r.run.Status.Conditions; len(c) == 0 || c[0].Reason != v1alpha1.ReasonPodCreateFailed {
		t.Fatalf("got %v", c)
	}
	next.reconcile()
	next.expectAttempts("Plan")
}
