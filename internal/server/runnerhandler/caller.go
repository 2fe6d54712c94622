package runnerhandler

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/auth"
	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/state/decision"
)

// Runs finds the Run that a pod works for: the one that names its UID in an attempt; nil when none does. It may ask a
// cache: before a request is rejected, the server reads past it.
type Runs interface {
	ByPod(ctx context.Context, pod types.NamespacedName, uid types.UID) (*v1alpha1.Run, error)
}

// Caller is who a request is from and what it is about. Everything that a request touches is derived from it.
type Caller struct {
	Pod auth.Pod
	// Attempt that the request is sent for.
	Attempt int32
	// RunName and Stack that the pod works for.
	RunName, Stack string
	// Run is nil when it was deleted under the pod, which holds the state's lock still.
	Run *v1alpha1.Run
}

// Key names the State and the Stack.
func (c Caller) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: c.Pod.Namespace, Name: c.Stack}
}

// run names the Run.
func (c Caller) run() types.NamespacedName {
	return types.NamespacedName{Namespace: c.Pod.Namespace, Name: c.RunName}
}

// Holder is the caller as the state's rules see it.
func (c Caller) Holder() decision.Holder {
	return decision.Holder{Run: c.RunName, Attempt: c.Attempt, PodUID: c.Pod.UID}
}

// requirement is what a caller has to be for a request.
type requirement func(Caller) error

// current: the attempt that the Run is at, and that works for the engine. One that builds an image runs an untrusted
// Dockerfile, and gets nothing of the Stack's: neither its state nor its plans.
func current(c Caller) error {
	if err := currentOrBuild(c); err != nil {
		return err
	}
	if a, _ := decision.CurrentAttempt(c.Run, c.Holder()); a.Phase == v1alpha1.AttemptBuild {
		return httpapi.Errorf(http.StatusForbidden, "attempt %d of Run %s builds an image, and gets nothing else",
			c.Attempt, c.RunName)
	}
	return nil
}

// currentOrBuild: the attempt that the Run is at, whatever it does.
func currentOrBuild(c Caller) error {
	if c.Run == nil {
		return httpapi.Errorf(http.StatusForbidden, "Run %s is gone", c.RunName)
	}
	if _, no := decision.CurrentAttempt(c.Run, c.Holder()); no != nil {
		return no
	}
	return nil
}

// named: an attempt of the Run, even if it is over.
func named(c Caller) error {
	if c.Run == nil {
		return httpapi.Errorf(http.StatusForbidden, "Run %s is gone", c.RunName)
	}
	if _, no := decision.NamedAttempt(c.Run, c.Holder()); no != nil {
		return no
	}
	return nil
}

// logging: an attempt of the Run whose log has not ended.
func logging(c Caller) error {
	if c.Run == nil {
		return httpapi.Errorf(http.StatusForbidden, "Run %s is gone", c.RunName)
	}
	if _, no := decision.LogAttempt(c.Run, c.Holder(), time.Now()); no != nil {
		return no
	}
	return nil
}

// orHolder lets the holder of the state's lock pass too when its Run is gone: no other process can have the lock, and
// to lose its data would be worse. The rest is for the state's own rules.
func orHolder(s requirement) requirement {
	return func(c Caller) error {
		if c.Run == nil {
			return nil
		}
		return s(c)
	}
}

// owns requires an attempt that is no pull request's: the code of one must change nothing that the Stack, its State or
// its next apply depends on, whatever gets hold of the credentials of its pod.
func owns(meets requirement) requirement {
	return func(c Caller) error {
		if c.Run != nil && c.Run.Spec.PullRequest != nil {
			return httpapi.Errorf(http.StatusForbidden,
				"Run %s plans a pull request, and writes nothing about Stack %s", c.RunName, c.Stack)
		}
		return meets(c)
	}
}

// hasStack requires an attempt whose Stack exists. One that plans a Stack which a pull request adds must get nothing of
// an object that has its name: an earlier Stack may have left it, or a later one may have created it.
func hasStack(meets requirement) requirement {
	return func(c Caller) error {
		if runinfo.PlansNewStack(c.Run) {
			return httpapi.Errorf(http.StatusForbidden, "Run %s plans a Stack that does not exist, and reads nothing "+
				"of Stack %s", c.RunName, c.Stack)
		}
		return meets(c)
	}
}

// sender authenticates the pod that sends a request.
type sender func(*http.Request) (auth.Pod, error)

// caller authenticates and authorizes the sender of a request. It reads the cache first; before it rejects it reads
// past it, for a cache that is a moment behind must not fail an attempt that has just begun. That a request is not from
// the runner of its pod is reported also where the attempt is not allowed to send it.
func (s *API) caller(r *http.Request, from sender, meets requirement) (Caller, error) {
	pod, err := s.pod(r, from)
	if err != nil {
		return Caller{}, err
	}
	number, err := strconv.ParseInt(r.Header.Get(runnerapi.AttemptHeader), 10, 32)
	if err != nil || number < 1 {
		return Caller{}, httpapi.Errorf(http.StatusBadRequest, "header %s has to be the number of an attempt",
			runnerapi.AttemptHeader)
	}
	c := Caller{Pod: pod, Attempt: int32(number)}
	run, err := s.Runs.ByPod(r.Context(), pod.Key(), pod.UID)
	if err != nil {
		return Caller{}, fmt.Errorf("find the Run of pod %s: %w", pod.Key(), err)
	}
	if run != nil {
		c = c.of(run)
		if err := s.checkSession(r, c); err != nil {
			return Caller{}, err
		}
		if meets(c) == nil {
			return c, nil
		}
	}
	if c, err = s.readLive(r.Context(), c); err != nil {
		return Caller{}, err
	}
	if err := meets(c); err != nil {
		return c, err
	}
	return c, s.checkSession(r, c)
}

// pod authenticates the pod that sends a request. One of a namespace that is not served can have no Run here.
func (s *API) pod(r *http.Request, from sender) (auth.Pod, error) {
	pod, err := from(r)
	if err == nil && !s.Namespaces.Includes(pod.Namespace) {
		return auth.Pod{}, httpapi.Errorf(http.StatusForbidden, "this installation does not serve namespace %s",
			pod.Namespace)
	}
	return pod, err
}

func (c Caller) of(run *v1alpha1.Run) Caller {
	c.Run, c.RunName, c.Stack = run, run.Name, run.Spec.Stack.Name
	return c
}

// readLive reads the caller's Run past the cache: under the name that the cache had, or that of the pod's owner. Then
// the Run has to name the pod: who owns it proves nothing. Without a Run there may still be a lock.
func (s *API) readLive(ctx context.Context, c Caller) (Caller, error) {
	name := c.RunName
	if name == "" {
		var err error
		if name, err = s.ownerOf(ctx, c.Pod); err != nil {
			return c, err
		}
	}
	if name != "" {
		run := &v1alpha1.Run{}
		err := s.Live.Get(ctx, types.NamespacedName{Namespace: c.Pod.Namespace, Name: name}, run)
		if err == nil {
			return c.of(run), nil
		}
		if !apierrors.IsNotFound(err) {
			return c, fmt.Errorf("read Run %s/%s: %w", c.Pod.Namespace, name, err)
		}
	}
	// the pod's object, which names the Run, may be gone as well
	held, err := s.State.HeldBy(ctx, c.Pod.Namespace, c.Pod.UID)
	if err != nil {
		return c, err
	}
	switch {
	case held != nil && held.Status.Lock.Attempt == c.Attempt:
	case name == "":
		return c, httpapi.Errorf(http.StatusForbidden, "no Run names pod %s", c.Pod.Name)
	default:
		return c, httpapi.Errorf(http.StatusForbidden, "Run %s is gone, and pod %s does not hold the state's lock",
			name, c.Pod.Name)
	}
	c.Run, c.RunName, c.Stack = nil, held.Status.Lock.Run, held.Name
	return c, nil
}

// ownerOf is the name of the Run that a pod claims to belong to.
func (s *API) ownerOf(ctx context.Context, p auth.Pod) (string, error) {
	pod := &metav1.PartialObjectMetadata{}
	pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	err := s.Live.Get(ctx, types.NamespacedName{Namespace: p.Namespace, Name: p.Name}, pod)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("read pod %s/%s: %w", p.Namespace, p.Name, err)
	}
	owner := metav1.GetControllerOf(pod)
	if err != nil || pod.UID != p.UID || owner == nil || owner.Kind != "Run" {
		return "", nil
	}
	return owner.Name, nil
}
