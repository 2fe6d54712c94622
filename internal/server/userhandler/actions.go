package userhandler

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/action"
	"cairn.dev/cairn/internal/approval"
	"cairn.dev/cairn/internal/listing"
	"cairn.dev/cairn/internal/server/auth"
	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/userapi"
)

// object is the path of one of a kind.
func object(resource string) string { return "/api/v1/namespaces/{namespace}/" + resource + "/{name}" }

// addActions adds what users do to objects, what they may do, and the events of objects.
func (s *API) addActions(mux router) {
	write := func(resource, name, verb string, h func(http.ResponseWriter, *http.Request, ask) error) {
		mux.Handle("POST "+object(resource)+"/"+name, s.answerAudited(httpapi.ShortTimeout, auth.Right{Verb: verb, Resource: resource}, h))
	}
	write("runs", action.Approve, "approve", s.approveRun)
	write("runs", action.Reject, "reject", s.rejectRun)
	write("runs", action.Cancel, "cancel", s.cancelRun)
	for _, operation := range []v1alpha1.Operation{v1alpha1.OperationPlan, v1alpha1.OperationApply, v1alpha1.OperationDestroy} {
		name := strings.ToLower(string(operation))
		write("stacks", name, name, func(w http.ResponseWriter, r *http.Request, a ask) error {
			return s.requestRun(w, r, a, func(*v1alpha1.Stack) (v1alpha1.Operation, error) { return operation, nil })
		})
	}
	write("stacks", action.Retry, "patch", func(w http.ResponseWriter, r *http.Request, a ask) error {
		return s.requestRun(w, r, a, s.again)
	})
	for name, suspend := range map[string]bool{action.Suspend: true, action.Resume: false} {
		write("stacks", name, "update", func(w http.ResponseWriter, r *http.Request, a ask) error {
			return s.suspendStack(w, r, a, suspend)
		})
	}
	write("repositories", action.Fetch, "patch", s.fetchRepository)
	for _, resource := range []string{"stacks", "runs", "repositories", "states"} {
		may := auth.Right{Verb: "get", Resource: resource}
		mux.Handle("GET "+object(resource)+"/access", s.handleUser(httpapi.ShortTimeout, may, func(w http.ResponseWriter, r *http.Request, a ask) error {
			return s.showAccess(w, r, a, resource)
		}))
		mux.Handle("GET "+object(resource)+"/events", s.handleUser(httpapi.ShortTimeout, may, func(w http.ResponseWriter, r *http.Request, a ask) error {
			return s.showEvents(w, r, a, resource)
		}))
	}
}

// read gets an object as it is now.
func (s *API) read(ctx context.Context, a ask, kind string, o client.Object) error {
	err := s.Live.Get(ctx, a.NamespacedName, o)
	if apierrors.IsNotFound(err) {
		return httpapi.Errorf(http.StatusNotFound, "there is no %s %s in namespace %s", kind, a.Name, a.Namespace)
	}
	o.SetManagedFields(nil)
	return err
}

// waiting returns a Run whose plan waits for an approval. A digest, if there is one, is of the plan that was read.
func (s *API) waiting(ctx context.Context, a ask, digest string) (*v1alpha1.Run, error) {
	o := &v1alpha1.Run{}
	if err := s.read(ctx, a, "Run", o); err != nil {
		return nil, err
	}
	switch {
	case !approval.Pending(o):
		return nil, httpapi.Errorf(http.StatusConflict, "no plan waits for an approval: Run %s is %s", o.Name, cmp.Or(string(o.Status.Phase), "not begun"))
	case digest != "" && o.Status.Plan.Digest != digest:
		return nil, httpapi.Errorf(http.StatusConflict, "Run %s has another plan now than the one that you read: read it again", o.Name)
	}
	return o, nil
}

func (s *API) approveRun(w http.ResponseWriter, r *http.Request, a ask) error {
	var sent userapi.Approval
	if err := s.sentJSON(w, r, &sent); err != nil {
		return err
	}
	if sent.PlanDigest == "" {
		return httpapi.Errorf(http.StatusBadRequest, "an approval is of one plan: set planDigest to that of the plan that you read")
	}
	o, err := s.waiting(r.Context(), a, sent.PlanDigest)
	if err != nil {
		return err
	}
	a.noted("action", action.Approve, "planDigest", sent.PlanDigest)
	return s.done(w, r, a, o, action.ApproveRun(sent.PlanDigest, a.GetName()))
}

func (s *API) rejectRun(w http.ResponseWriter, r *http.Request, a ask) error {
	var sent userapi.Rejection
	if err := s.sentJSON(w, r, &sent); err != nil {
		return err
	}
	o, err := s.waiting(r.Context(), a, sent.PlanDigest)
	if err != nil {
		return err
	}
	a.noted("action", action.Reject, "planDigest", o.Status.Plan.Digest)
	return s.done(w, r, a, o, action.RejectRun(o.Status.Plan.Digest, a.GetName(), sent.Message))
}

func (s *API) cancelRun(w http.ResponseWriter, r *http.Request, a ask) error {
	o := &v1alpha1.Run{}
	if err := s.read(r.Context(), a, "Run", o); err != nil {
		return err
	}
	a.noted("action", action.Cancel)
	if err := action.CheckCancel(o); err != nil {
		return err
	}
	if o.Spec.Cancel {
		return showDone(w, o)
	}
	return s.done(w, r, a, o, action.CancelRun(a.GetName()))
}

// requestRun requests a Run of a Stack; a function sets what it does.
func (s *API) requestRun(w http.ResponseWriter, r *http.Request, a ask, what func(*v1alpha1.Stack) (v1alpha1.Operation, error)) error {
	o := &v1alpha1.Stack{}
	if err := s.read(r.Context(), a, "Stack", o); err != nil {
		return err
	}
	operation, err := what(o)
	if err != nil {
		return err
	}
	a.noted("action", strings.ToLower(string(operation)))
	if err := s.Authorizer.Authorize(r.Context(), a.User, auth.Right{Verb: action.VerbOf(o, operation), Resource: "stacks"}.On(a.NamespacedName)); err != nil { // of a retry it is known only now
		return err
	}
	if o.Spec.Suspend && o.DeletionTimestamp == nil {
		return httpapi.Errorf(http.StatusConflict, "Stack %s is suspended, so no Run starts: resume it first", o.Name)
	}
	return s.done(w, r, a, o, action.RequestRun(operation, action.Now(s.Now()), a.GetName()))
}

// again is what a retry of a Stack does.
func (s *API) again(o *v1alpha1.Stack) (v1alpha1.Operation, error) {
	if err := s.filled(); err != nil {
		return "", err
	}
	var runs []v1alpha1.Run
	for _, r := range s.Catalog.Runs.All(func(namespace string) bool { return namespace == o.Namespace }) {
		if r.Spec.Stack.Name == o.Name {
			runs = append(runs, *r)
		}
	}
	return action.Again(o, runs)
}

func (s *API) suspendStack(w http.ResponseWriter, r *http.Request, a ask, suspend bool) error {
	o := &v1alpha1.Stack{}
	if err := s.read(r.Context(), a, "Stack", o); err != nil {
		return err
	}
	a.noted("action", map[bool]string{true: action.Suspend, false: action.Resume}[suspend])
	return s.done(w, r, a, o, action.SuspendStack(o, suspend, a.GetName()))
}

func (s *API) fetchRepository(w http.ResponseWriter, r *http.Request, a ask) error {
	o := &v1alpha1.Repository{}
	o.Namespace, o.Name = a.Namespace, a.Name
	a.noted("action", action.Fetch)
	return s.done(w, r, a, o, action.FetchRepository(action.Now(s.Now())))
}

// done writes what a user does, and responds with the resulting object.
func (s *API) done(w http.ResponseWriter, r *http.Request, a ask, o client.Object, patch client.Patch) error {
	if err := s.writeAs(r.Context(), a.User, o, patch); err != nil {
		return err
	}
	return showDone(w, o)
}

func showDone(w http.ResponseWriter, o client.Object) error {
	switch o := o.(type) {
	case *v1alpha1.Run:
		return httpapi.WriteJSON(w, http.StatusOK, userapi.Detail[userapi.Run, *v1alpha1.Run]{Row: listing.Runs.Row(o), Object: o})
	case *v1alpha1.Stack:
		return httpapi.WriteJSON(w, http.StatusOK, userapi.Detail[userapi.Stack, *v1alpha1.Stack]{Row: listing.Stacks.Row(o), Object: o})
	case *v1alpha1.Repository:
		return httpapi.WriteJSON(w, http.StatusOK, userapi.Detail[userapi.Repository, *v1alpha1.Repository]{Row: listing.Repositories.Row(o), Object: o})
	}
	return errors.New("this kind has no actions")
}

// showAccess responds with what a user may do with an object by roles, whether or not it has an effect now.
func (s *API) showAccess(w http.ResponseWriter, r *http.Request, a ask, resource string) error {
	actions := map[string][]string{}
	for name, verbs := range action.Verbs(resource) {
		actions[name] = slices.Clone(verbs)
	}
	if resource == "stacks" {
		if err := s.verbsOf(r.Context(), a, actions); err != nil {
			return err
		}
	}
	var mu sync.Mutex
	may := map[string]bool{}
	group, ctx := errgroup.WithContext(r.Context())
	group.SetLimit(auth.AskTogether)
	for _, verb := range distinct(actions) {
		group.Go(func() error {
			allowed, err := s.allowed(ctx, a, resource, verb)
			mu.Lock()
			defer mu.Unlock()
			may[verb] = allowed
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	answer := userapi.Access{Actions: map[string]bool{}}
	for name, verbs := range actions {
		answer.Actions[name] = !slices.ContainsFunc(verbs, func(verb string) bool { return !may[verb] })
	}
	return httpapi.WriteJSON(w, http.StatusOK, answer)
}

// verbsOf puts in what depends on the Stack: what a retry does, and that it is being deleted.
func (s *API) verbsOf(ctx context.Context, a ask, actions map[string][]string) error {
	o := &v1alpha1.Stack{}
	if err := s.read(ctx, a, "Stack", o); err != nil {
		return err
	}
	operation, err := s.again(o)
	var no action.Impossible
	switch {
	case errors.As(err, &no):
		operation = v1alpha1.OperationApply
	case err != nil:
		return err
	}
	actions[action.Retry] = []string{"patch", action.VerbOf(o, operation)}
	if o.DeletionTimestamp != nil {
		actions[action.Plan] = append(actions[action.Plan], action.Destroy)
		actions[action.Apply] = append(actions[action.Apply], action.Destroy)
	}
	return nil
}

func distinct(actions map[string][]string) []string {
	var all []string
	for _, verbs := range actions {
		all = append(all, verbs...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// allowed returns whether a user may do something with an object.
func (s *API) allowed(ctx context.Context, a ask, resource, verb string) (bool, error) {
	err := s.Authorizer.Authorize(ctx, a.User, auth.Right{Verb: verb, Resource: resource}.On(a.NamespacedName))
	var no *httpapi.Error
	if errors.As(err, &no) && no.Code == http.StatusForbidden {
		return false, nil
	}
	return err == nil, err
}
