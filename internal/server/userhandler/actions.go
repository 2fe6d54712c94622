package userhandler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/action"
	"cairn.dev/cairn/internal/lifecycle/approval"
	"cairn.dev/cairn/internal/lifecycle/kinds"
	"cairn.dev/cairn/internal/lifecycle/promotion"
	"cairn.dev/cairn/internal/server/auth"
	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/userapi"
)

// object is the path of one of a kind.
func object(resource string) string { return "/api/v1/namespaces/{namespace}/" + resource + "/{name}" }

// addActions adds what users do to objects.
func (s *API) addActions(mux router) {
	write := func(resource, name, verb string, h handler) {
		may := auth.Right{Verb: verb, Resource: resource}
		mux.Handle("POST "+object(resource)+"/"+name, s.answerAudited(httpapi.ShortTimeout, may, h))
	}
	write("runs", action.Approve, "approve", s.approveRun)
	write("runs", action.Reject, "reject", s.rejectRun)
	write("runs", action.Cancel, "cancel", s.cancelRun)
	for name, operation := range map[string]v1alpha1.Operation{
		action.Plan: v1alpha1.OperationPlan, action.Apply: v1alpha1.OperationApply,
		action.Destroy: v1alpha1.OperationDestroy,
	} {
		write("stacks", name, name, s.requestRun(func(*http.Request, *v1alpha1.Stack) (v1alpha1.Operation, error) {
			return operation, nil
		}))
	}
	write("stacks", action.Retry, "patch", s.requestRun(s.retry))
	write("stacks", action.Suspend, "update", s.suspendStack(action.Suspend))
	write("stacks", action.Resume, "update", s.suspendStack(action.Resume))
	write("driftpauses", action.Resume, "resume", s.resumeDrift)
	write("pipelines", action.Promote, "promote", s.promoteRelease)
	write("repositories", action.Fetch, "patch", s.fetchRepository)
}

// read gets an object as it is now.
func (s *API) read(ctx context.Context, a ask, kind string, o client.Object) error {
	err := s.Live.Get(ctx, a.NamespacedName, o)
	o.SetManagedFields(nil)
	switch {
	case apierrors.IsNotFound(err):
		return httpapi.Errorf(http.StatusNotFound, "there is no %s %s in namespace %s", kind, a.Name, a.Namespace)
	case err != nil:
		return fmt.Errorf("read %s %s: %w", kind, a.NamespacedName, err)
	}
	return nil
}

func (s *API) readRun(ctx context.Context, a ask) (*v1alpha1.Run, error) {
	o := &v1alpha1.Run{}
	return o, s.read(ctx, a, "Run", o)
}

func (s *API) readStack(ctx context.Context, a ask) (*v1alpha1.Stack, error) {
	o := &v1alpha1.Stack{}
	return o, s.read(ctx, a, "Stack", o)
}

// waiting returns a Run whose plan waits for an approval, and is the one with this digest, which the user read.
func (s *API) waiting(ctx context.Context, a ask, digest string) (*v1alpha1.Run, error) {
	if digest == "" {
		return nil, httpapi.Errorf(http.StatusBadRequest,
			"an approval or rejection is of one plan: set planDigest to that of the plan that you read")
	}
	o, err := s.readRun(ctx, a)
	switch {
	case err != nil:
		return nil, err
	case !approval.Pending(o):
		return nil, httpapi.Errorf(http.StatusConflict, "no plan waits for an approval: Run %s is %s",
			o.Name, cmp.Or(string(o.Status.Phase), "not begun"))
	case o.Status.Plan.Digest != digest:
		return nil, httpapi.Errorf(http.StatusConflict,
			"Run %s has another plan now than the one that you read: read it again", o.Name)
	}
	return o, nil
}

func (s *API) approveRun(w http.ResponseWriter, r *http.Request, a ask) error {
	var sent userapi.Approval
	if err := s.sentJSON(w, r, &sent); err != nil {
		return err
	}
	o, err := s.waiting(r.Context(), a, sent.PlanDigest)
	if err != nil {
		return err
	}
	a.noted("action", action.Approve, "planDigest", sent.PlanDigest)
	if err := action.CheckApproval(o, a.GetName()); err != nil {
		return err
	}
	return s.done(w, r, a, kinds.Runs, o, action.ApproveRun(sent.PlanDigest, a.GetName()))
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
	a.noted("action", action.Reject, "planDigest", sent.PlanDigest)
	return s.done(w, r, a, kinds.Runs, o, action.RejectRun(sent.PlanDigest, a.GetName(), sent.Message))
}

func (s *API) cancelRun(w http.ResponseWriter, r *http.Request, a ask) error {
	o, err := s.readRun(r.Context(), a)
	if err != nil {
		return err
	}
	a.noted("action", action.Cancel)
	if err := action.CheckCancel(o); err != nil {
		return err
	}
	if o.Spec.Cancel {
		return httpapi.WriteJSON(w, http.StatusOK, kinds.Runs.Detail(o))
	}
	return s.done(w, r, a, kinds.Runs, o, action.CancelRun(a.GetName()))
}

// requestRun requests a Run of a Stack; a function sets what it does.
func (s *API) requestRun(what func(*http.Request, *v1alpha1.Stack) (v1alpha1.Operation, error)) handler {
	return func(w http.ResponseWriter, r *http.Request, a ask) error {
		o, err := s.readStack(r.Context(), a)
		if err != nil {
			return err
		}
		operation, err := what(r, o)
		if err != nil {
			return err
		}
		a.noted("action", strings.ToLower(string(operation)))
		may := auth.Right{Verb: action.VerbOf(o, operation), Resource: "stacks"} // of a retry it is known only now
		if err := s.Authorizer.Authorize(r.Context(), a.User, may.On(a.NamespacedName)); err != nil {
			return err
		}
		if o.Spec.Suspend && o.DeletionTimestamp == nil {
			return httpapi.Errorf(http.StatusConflict, "Stack %s is suspended, so no Run starts: resume it first",
				o.Name)
		}
		return s.done(w, r, a, kinds.Stacks, o, action.RequestRun(operation, nil, action.Now(s.Now()), a.GetName()))
	}
}

// retry is what a retry of a Stack does, if that is what the user read: a Run of another user may have failed since.
func (s *API) retry(r *http.Request, o *v1alpha1.Stack) (v1alpha1.Operation, error) {
	operation, err := action.Again(o)
	if err != nil {
		return "", err
	}
	read := v1alpha1.Operation(cmp.Or(r.URL.Query().Get("operation"), string(v1alpha1.OperationApply)))
	if operation != read {
		return "", httpapi.Errorf(http.StatusConflict, "the retry of Stack %s is now of operation %s and not %.20q: "+
			"to request it, set the parameter operation to %s", o.Name, operation, string(read), operation)
	}
	return operation, nil
}

// suspendStack suspends or resumes a Stack.
func (s *API) suspendStack(name string) handler {
	return func(w http.ResponseWriter, r *http.Request, a ask) error {
		o, err := s.readStack(r.Context(), a)
		if err != nil {
			return err
		}
		a.noted("action", name)
		return s.done(w, r, a, kinds.Stacks, o, action.SuspendStack(o, name == action.Suspend, a.GetName()))
	}
}

// resumeDrift resumes the corrections of drift in a namespace.
func (s *API) resumeDrift(w http.ResponseWriter, r *http.Request, a ask) error {
	o := &v1alpha1.DriftPause{}
	if err := s.read(r.Context(), a, "DriftPause", o); err != nil {
		return err
	}
	a.noted("action", action.Resume)
	if o.Status.Since == nil {
		return httpapi.Errorf(http.StatusConflict, "the corrections of drift in namespace %s are not paused",
			o.Namespace)
	}
	return s.done(w, r, a, kinds.DriftPauses, o, action.ResumeDrift(*o.Status.Since, a.GetName()))
}

// promoteRelease requests the promotion of a release to a stage, if the Pipeline allows that now.
func (s *API) promoteRelease(w http.ResponseWriter, r *http.Request, a ask) error {
	var sent userapi.Promotion
	if err := s.sentJSON(w, r, &sent); err != nil {
		return err
	}
	o := &v1alpha1.Pipeline{}
	if err := s.read(r.Context(), a, "Pipeline", o); err != nil {
		return err
	}
	a.noted("action", action.Promote)
	now := s.Now()
	q := promotion.Request{At: action.Now(now), Stage: sent.Stage, Commit: sent.Release, By: a.GetName()}
	if why := promotion.Check(o, q, now); why != "" {
		return httpapi.Errorf(http.StatusConflict, "nothing is promoted: %s", why)
	}
	a.noted("stage", q.Stage, "release", q.Commit)
	return s.done(w, r, a, kinds.Pipelines, o, action.PromoteRelease(q))
}

func (s *API) fetchRepository(w http.ResponseWriter, r *http.Request, a ask) error {
	o := &v1alpha1.Repository{}
	o.Namespace, o.Name = a.Namespace, a.Name
	a.noted("action", action.Fetch)
	return s.done(w, r, a, kinds.Repositories, o, action.FetchRepository(action.Now(s.Now())))
}

// done writes what a user does, and responds with the resulting object.
func (s *API) done(
	w http.ResponseWriter, r *http.Request, a ask, kind kinds.Kind, o client.Object, patch client.Patch,
) error {
	if err := s.writeAs(r.Context(), a.User, o, patch); err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, kind.Detail(o))
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
	if resource == "runs" {
		o, err := s.readRun(r.Context(), a)
		if err != nil {
			return err
		}
		if why := action.DenialOfApproval(o, a.GetName()); why != "" {
			answer.Denied = map[string]string{action.Approve: why}
		}
	}
	return httpapi.WriteJSON(w, http.StatusOK, answer)
}

// verbsOf puts in what depends on the Stack: what a retry does, and that it is being deleted.
func (s *API) verbsOf(ctx context.Context, a ask, actions map[string][]string) error {
	o, err := s.readStack(ctx, a)
	if err != nil {
		return err
	}
	operation, err := action.Again(o)
	if err != nil { // there is none
		operation = v1alpha1.OperationApply
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

// allowed returns whether a user may use a verb on an object.
func (s *API) allowed(ctx context.Context, a ask, resource, verb string) (bool, error) {
	err := s.Authorizer.Authorize(ctx, a.User, auth.Right{Verb: verb, Resource: resource}.On(a.NamespacedName))
	var no *httpapi.Error
	if errors.As(err, &no) && no.Code == http.StatusForbidden {
		return false, nil
	}
	return err == nil, err
}

// writerOf of what users write through the server.
const writerOf = client.FieldOwner("cairn-server")

// as returns a client with a user's rights, so that roles and policies apply to what they write: with the token of
// their request, or else by impersonation of the user that the identity provider named. The key of a certificate stays
// with its user.
func (s *API) as(p auth.User) (client.Client, error) {
	if s.Kubernetes == nil {
		return nil, httpapi.Errorf(http.StatusNotImplemented,
			"this server writes no objects for users: use cairn or kubectl")
	}
	config := rest.AnonymousClientConfig(s.Kubernetes)
	switch {
	case p.Token != "":
		config.BearerToken = p.Token
		if p.Real != nil {
			config.Impersonate = impersonating(p)
		}
	case p.Method == auth.MethodOIDC && p.Real == nil:
		config = rest.CopyConfig(s.Kubernetes)
		config.Impersonate = impersonating(p)
	case p.Method == auth.MethodOIDC:
		return nil, httpapi.Errorf(http.StatusNotImplemented,
			"users of an identity provider cannot impersonate here: use cairn or kubectl with --as")
	default:
		return nil, httpapi.Errorf(http.StatusNotImplemented,
			"who is known by a client certificate cannot write through the server, which has not its key: "+
				"use cairn or kubectl, or show a token (kubectl create token)")
	}
	return client.New(config, client.Options{Scheme: s.Client.Scheme(), Mapper: s.Client.RESTMapper()})
}

// impersonating is a user for the API server, which adds the group of all authenticated users itself.
func impersonating(p auth.User) rest.ImpersonationConfig {
	groups := slices.DeleteFunc(slices.Clone(p.GetGroups()), func(g string) bool { return g == user.AllAuthenticated })
	return rest.ImpersonationConfig{UserName: p.GetName(), UID: p.GetUID(), Groups: groups, Extra: p.GetExtra()}
}

// writeAs patches an object as a user, and reads the result into the object.
func (s *API) writeAs(ctx context.Context, p auth.User, o client.Object, patch client.Patch) error {
	c, err := s.as(p)
	if err != nil {
		return err
	}
	if err := c.Patch(ctx, o, patch, writerOf); err != nil {
		return responseTo(err)
	}
	o.SetManagedFields(nil)
	return nil
}

// responseTo is the response to an error of the API server. Errors of its availability are transient.
func responseTo(err error) error {
	var said apierrors.APIStatus
	if !errors.As(err, &said) {
		return err
	}
	status := said.Status()
	text := action.RejectionMessage(status)
	if text == "" {
		text = status.Message
	}
	switch code := int(status.Code); code {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusConflict,
		http.StatusUnprocessableEntity:
		return httpapi.Errorf(code, "%s", text)
	}
	return err
}
