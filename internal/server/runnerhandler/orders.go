package runnerhandler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/artifact"
	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/state/decision"
)

// maxWait is how long a request for an order is held. It is shorter than what proxies on the way cut off.
const maxWait = 30 * time.Second

// order sends a pod its next order. It needs no attempt: the order names one, and a pod may ask before its Run names
// it.
func (s *API) order(w http.ResponseWriter, r *http.Request) (Caller, error) {
	pod, err := s.pod(r, s.Pods.Authenticate)
	c := Caller{Pod: pod}
	if err != nil {
		return c, err
	}
	after, wait, err := askedFor(r)
	if err != nil {
		return c, err
	}
	if !s.polls.begin(pod.UID) {
		return c, httpapi.Errorf(http.StatusTooManyRequests, "pod %s waits for an order already", pod.Name)
	}
	defer s.polls.end(pod.UID)
	if c, err = s.bind(r, c); err != nil {
		return c, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	defer context.AfterFunc(s.Stopping, cancel)()
	order, err := s.Orders.Next(ctx, pod.Key(), pod.UID, after)
	if err != nil && ctx.Err() != nil && r.Context().Err() == nil {
		order, err = runnerapi.Order{Kind: runnerapi.OrderWait}, nil
	}
	if err != nil {
		return c, err
	}
	if c.Run == nil && order.Kind != runnerapi.OrderWait { // no Run named the pod when the request began
		if c, err = s.bind(r, c); err != nil {
			return c, err
		}
	}
	c.RunName, c.Stack, c.Attempt = order.Run, order.Stack, order.Attempt
	order.Providers = s.Providers != nil
	// A build has nothing to do with the state.
	if order.Kind == runnerapi.OrderPlan || order.Kind == runnerapi.OrderApply || order.Kind == runnerapi.OrderShell {
		if order, err = s.prepareState(r.Context(), c, order); err != nil {
			return c, err
		}
	}
	return c, httpapi.WriteJSON(w, http.StatusOK, order)
}

// bind checks the session of the pod that requests an order, as soon as a Run names the pod. A runner starts no program
// of a user before it has an order.
func (s *API) bind(r *http.Request, c Caller) (Caller, error) {
	run, err := s.Runs.ByPod(r.Context(), c.Pod.Key(), c.Pod.UID)
	if err != nil {
		return c, fmt.Errorf("find the Run of pod %s: %w", c.Pod.Key(), err)
	}
	if run == nil {
		return c, nil
	}
	c = c.of(run)
	return c, s.checkSession(r, c)
}

// askedFor reads the query: the attempt that is done, and how long to wait.
func askedFor(r *http.Request) (after int32, wait time.Duration, err error) {
	q := r.URL.Query()
	if text := q.Get("after"); text != "" {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < 0 {
			return 0, 0, httpapi.Errorf(http.StatusBadRequest, "after=%.40q is not the number of an attempt", text)
		}
		after = int32(n)
	}
	wait = maxWait
	if text := q.Get("wait"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return 0, 0, httpapi.Errorf(http.StatusBadRequest, "wait=%.40q is not a duration", text)
		}
		wait = min(d, maxWait)
	}
	return after, wait, nil
}

// prepareState is the first step of each attempt that works with the state: a rescued state, or a backup that is newer,
// becomes the current version. When that fails permanently, the attempt fails, so that its Run has the reason: a runner
// that gets no order could not.
func (s *API) prepareState(ctx context.Context, c Caller, order runnerapi.Order) (runnerapi.Order, error) {
	if runinfo.PlansNewStack(c.Run) {
		return order, nil
	}
	key := types.NamespacedName{Namespace: c.Pod.Namespace, Name: order.Stack}
	var err error
	if order.Kind == runnerapi.OrderPlan && order.Backend == nil { // another server may write what that backend has
		err = s.State.BeginPlan(ctx, key, c.Holder())
	} else {
		err = s.State.Promote(ctx, key)
	}
	var refused *decision.Rejection
	if err == nil || !errors.As(err, &refused) {
		return order, err
	}
	failure := &runnerapi.Failure{Class: runnerapi.FailureConfigurationError, Message: refused.Message}
	if refused.Reason == decision.Locked {
		failure.Class = runnerapi.FailureTransient
	}
	report := Clamp(runnerapi.Report{Done: &runnerapi.Done{Failure: failure}})
	s.Log.Warn("no order: the state could not be corrected", "namespace", c.Pod.Namespace, "stack", order.Stack,
		"run", order.Run,
		"attempt", order.Attempt, "reason", refused.Message)
	err = s.progress.finish(ctx, c, report)
	return runnerapi.Order{Kind: runnerapi.OrderWait}, err
}

// interrupt is held while the caller's attempt is to continue, and answered at once when it is to stop.
func (s *API) interrupt(w http.ResponseWriter, r *http.Request, c Caller) error {
	if !s.polls.begin(c.Pod.UID) {
		return httpapi.Errorf(http.StatusTooManyRequests, "pod %s waits for an interrupt already", c.Pod.Name)
	}
	defer s.polls.end(c.Pod.UID)
	ctx, cancel := context.WithTimeout(r.Context(), maxWait)
	defer cancel()
	defer context.AfterFunc(s.Stopping, cancel)()
	said, err := s.Orders.Interrupt(ctx, c.Pod.Key(), c.Pod.UID, c.Attempt)
	if err != nil && (ctx.Err() == nil || r.Context().Err() != nil) {
		return err
	}
	if err != nil || said.Reason == "" {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return httpapi.WriteJSON(w, http.StatusOK, said)
}

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

// Orders blocks until there is an order for a pod that has done all up to the attempt after, or until ctx is done: then
// the order is Wait. Interrupt blocks until an attempt is to stop, or is over, or until ctx is done: then it has no
// reason.
type Orders interface {
	Next(ctx context.Context, pod types.NamespacedName, uid types.UID, after int32) (runnerapi.Order, error)
	Interrupt(ctx context.Context, pod types.NamespacedName, uid types.UID, attempt int32) (runnerapi.Interrupt, error)
}

// largestReport is more than any report that is not cut has.
const largestReport = 4 << 20

// report takes what an attempt has done so far. One on the way is answered at once; the last one when it is durable.
func (s *API) report(w http.ResponseWriter, r *http.Request, c Caller) error {
	var raw runnerapi.Report
	if err := s.jsonBody(w, r, c.Pod.Namespace, largestReport, &raw); err != nil {
		return err
	}
	report := Clamp(raw)
	if report.Done == nil {
		if err := currentOrBuild(c); err != nil {
			return err
		}
		s.progress.add(c, report)
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if err := s.mayFinish(r, c, report.Done); err != nil {
		return err
	}
	ended, err := s.endsJournal(r, c, report.Done)
	if err != nil {
		return err
	}
	if err := s.progress.finish(r.Context(), c, report); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	if ended {
		_ = http.NewResponseController(w).Flush() // what follows is not for the runner to wait for
		s.State.CollectJournal(r.Context(), c.Key())
	}
	return nil
}

// mayFinish rejects the last report of an attempt that was given up, and a plan that could not be applied; what a plan
// does is taken from its plan file. An attempt is finished otherwise has reported before: the answer to that was lost.
func (s *API) mayFinish(r *http.Request, c Caller, done *runnerapi.Done) error {
	attempt, refused := decision.NamedAttempt(c.Run, c.Holder())
	if refused != nil {
		return refused
	}
	if f := attempt.Failure; attempt.FinishedAt != nil && f != nil && f.Class == v1alpha1.FailurePodLost {
		return httpapi.Errorf(http.StatusForbidden, "attempt %d of Run %s was given up: %s", c.Attempt,
			c.RunName, f.Message)
	}
	if done.Plan == nil {
		return nil
	}
	if !httpapi.IsDigest(done.Plan.Digest) {
		return httpapi.Errorf(http.StatusBadRequest, "%.80q is not the digest of a plan", done.Plan.Digest)
	}
	kept, err := s.Bucket.Exists(r.Context(), artifact.PlanFolder(c.Run)+"/"+done.Plan.Digest)
	switch {
	case err != nil:
		return err
	case !kept:
		return httpapi.Errorf(http.StatusConflict, "the plan %s is not kept: PUT it first", done.Plan.Digest)
	case !done.Plan.Changes: // it is never applied
		return nil
	}
	return s.describePlan(r.Context(), c, done.Plan)
}
