//go:build envtest

package notification

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/download"
	"cairn.dev/cairn/internal/base/egress"
	"cairn.dev/cairn/internal/base/egress/egresstest"
	"cairn.dev/cairn/test/apiserver"
)

func TestMain(m *testing.M) { apiserver.Main(m, "../../../charts/cairn/files/crds") }

// env is the reconciler of Notifications between a real API server and a server that receives messages.
type env struct {
	apiserver.Env
	*Reconciler
	n      *v1alpha1.Notification
	events *events.FakeRecorder
	ahead  time.Duration
	writes *faulty

	server *httptest.Server
	mu     sync.Mutex
	// answer responds to a request; nil accepts it.
	answer func(w http.ResponseWriter, r *http.Request)
	// accepted are the IDs and the titles of the messages that were accepted.
	accepted []string
	requests int
}

// faulty fails writes of a status, before or after they are done.
type faulty struct {
	client.Client
	count, failAt int
	after         bool
	patched       func()
}

func (f *faulty) Status() client.SubResourceWriter { return faultyStatus{f.Client.Status(), f} }

type faultyStatus struct {
	client.SubResourceWriter
	of *faulty
}

var errKilled = errors.New("killed")

func (s faultyStatus) Patch(ctx context.Context, o client.Object, p client.Patch,
	opts ...client.SubResourcePatchOption) error {
	s.of.count++
	if s.of.patched != nil {
		s.of.patched()
	}
	if s.of.count == s.of.failAt && !s.of.after {
		return errKilled
	}
	err := s.SubResourceWriter.Patch(ctx, o, p, opts...)
	if s.of.count == s.of.failAt && err == nil {
		return errKilled
	}
	return err
}

func newEnv(t *testing.T, spec ...func(*v1alpha1.NotificationSpec)) *env {
	t.Helper()
	e := &env{Env: apiserver.New(t), events: events.NewFakeRecorder(1000)}
	e.server = httptest.NewServer(http.HandlerFunc(e.receive))
	t.Cleanup(e.server.Close)
	e.writes = &faulty{Client: e.Env.Client}
	e.restart()
	e.Make(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "to"},
		StringData: map[string]string{"url": e.server.URL + "/secret-path", "key": "a key of at least 24 bytes"},
	})
	e.n = &v1alpha1.Notification{ObjectMeta: metav1.ObjectMeta{Name: "chat"}, Spec: v1alpha1.NotificationSpec{
		Destination: v1alpha1.NotificationDestination{Type: v1alpha1.DestinationWebhook,
			Secret: v1alpha1.ObjectRef{Name: "to"}},
		GroupWait: &metav1.Duration{},
	}}
	for _, change := range spec {
		change(&e.n.Spec)
	}
	e.Make(e.n)
	return e
}

// restart forgets what the process knew.
func (e *env) restart() {
	e.Reconciler = &Reconciler{
		Client: e.writes, Live: e.Env.Live, Events: e.events, WebURL: "https://cairn.example.com",
		Installation: "elsewhere",
		Web:          web(egresstest.Loopback()),
		Clock:        func() time.Time { return time.Now().Add(e.ahead) },
	}
}

func web(to *egress.Guard) func(*x509.CertPool) *http.Client {
	return func(trusted *x509.CertPool) *http.Client {
		return &http.Client{Transport: download.Trusting(to, time.Second, trusted), Timeout: time.Second}
	}
}

func (e *env) receive(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.requests++
	body, _ := io.ReadAll(r.Body)
	if e.answer != nil {
		e.answer(w, r)
		return
	}
	var event struct {
		ID   string
		Data struct{ Title string }
	}
	if err := json.Unmarshal(body, &event); err != nil || event.ID != r.Header.Get("Webhook-Id") {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	e.accepted = append(e.accepted, event.ID+" "+event.Data.Title)
}

// stack writes a Stack whose Ready condition has a reason.
func (e *env) stack(t *testing.T, name, reason string, labels map[string]string) {
	t.Helper()
	s := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: e.n.Namespace, Labels: labels}}
	if err := e.Env.Live.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
		s.Spec.Source.Inline = map[string]string{"main.tf": ""}
		s.Namespace = ""
		e.Make(s)
	}
	ready := metav1.ConditionFalse
	if reason == v1alpha1.ReasonApplied {
		ready = metav1.ConditionTrue
	}
	s.Status.ObservedGeneration, s.Status.InputsDigest, s.Status.LastRun = s.Generation, "sha256:1", name+"-1"
	apimeta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: ready, Reason: reason, Message: "text", LastTransitionTime: metav1.Now(),
	})
	apiserver.Must(t, e.Env.Client.Status().Update(t.Context(), s))
	e.Seen(s)
}

// reconcile reconciles until nothing is due soon, as the queue of the controller does.
func (e *env) reconcile(t *testing.T) ctrl.Result {
	t.Helper()
	for range 20 {
		e.current(t)
		result, err := e.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(e.n)})
		if errors.Is(err, errKilled) {
			e.restart()
			continue
		}
		apiserver.Must(t, err)
		if result.RequeueAfter == 0 || result.RequeueAfter > next {
			return result
		}
	}
	t.Fatal("the Notification does not settle")
	return ctrl.Result{}
}

// current reads the Notification, and waits until the cache has it.
func (e *env) current(t *testing.T) *v1alpha1.Notification {
	t.Helper()
	apiserver.Must(t, e.Env.Live.Get(t.Context(), client.ObjectKeyFromObject(e.n), e.n))
	e.Seen(e.n)
	return e.n
}

func (e *env) titles() (titles []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, m := range e.accepted {
		_, title, _ := strings.Cut(m, " ")
		titles = append(titles, title)
	}
	return titles
}

func (e *env) ready(t *testing.T) metav1.Condition {
	t.Helper()
	if c := apimeta.FindStatusCondition(e.current(t).Status.Conditions, v1alpha1.ConditionReady); c != nil {
		return *c
	}
	return metav1.Condition{}
}

func TestFailureAndRecoveryAreDelivered(t *testing.T) {
	e := newEnv(t)
	e.stack(t, "net", v1alpha1.ReasonApplied, nil)
	e.reconcile(t)
	if c := e.ready(t); c.Status != metav1.ConditionUnknown || c.Reason != v1alpha1.ReasonNotDelivered {
		t.Errorf("before the first message: %s %s", c.Status, c.Reason)
	}
	e.stack(t, "net", v1alpha1.ReasonRunFailed, nil)
	e.reconcile(t)
	writes := e.writes.count
	e.reconcile(t)
	if e.writes.count != writes {
		t.Errorf("%d writes while nothing happens", e.writes.count-writes)
	}
	e.stack(t, "net", v1alpha1.ReasonApplied, nil)
	e.reconcile(t)
	of := "Stack " + e.n.Namespace + "/net"
	if got := e.titles(); !slices.Equal(got, []string{of + " failed", of + " is Ready again"}) {
		t.Errorf("messages %q", got)
	}
	if c := e.ready(t); c.Status != metav1.ConditionTrue || len(e.n.Status.Reported) != 0 ||
		len(e.n.Status.Deliveries) != 2 {
		t.Errorf("status %+v", e.n.Status)
	}
}

func TestARequestedTestIsDelivered(t *testing.T) {
	e := newEnv(t)
	e.n.Annotations = map[string]string{v1alpha1.RequestedAtAnnotation: "2026-11-30T12:00:00Z"}
	apiserver.Must(t, e.Env.Client.Update(t.Context(), e.n))
	e.reconcile(t)
	e.reconcile(t)
	if got := e.titles(); !slices.Equal(got, []string{"Test of Notification " + e.n.Namespace + "/chat"}) {
		t.Errorf("messages %q", got)
	}
}

// TestARequestedTestRetriesAtOnce checks that a user who corrected a destination does not wait for the next retry, and
// sees the result of this attempt.
func TestARequestedTestRetriesAtOnce(t *testing.T) {
	e := newEnv(t)
	request := func(at string) int {
		e.current(t).Annotations = map[string]string{v1alpha1.RequestedAtAnnotation: at}
		apiserver.Must(t, e.Env.Client.Update(t.Context(), e.n))
		before := e.requests
		e.reconcile(t)
		e.reconcile(t) // an event of a Stack
		if handled := e.n.Status.LastHandledRequest; handled == nil || handled.Value != at {
			t.Errorf("handled %+v, want %s", handled, at)
		}
		return e.requests - before
	}
	e.answer = func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", http.StatusNotFound) }
	e.stack(t, "net", v1alpha1.ReasonRunFailed, nil)
	e.reconcile(t)
	if n := request("2026-11-30T12:00:00Z"); n != 1 || e.ready(t).Reason != v1alpha1.ReasonDeliveryFailed {
		t.Errorf("%d requests, %+v", n, e.ready(t))
	}
	e.answer = nil
	if n := request("2026-11-30T12:00:01Z"); n != 1 || e.ready(t).Reason != v1alpha1.ReasonDelivered {
		t.Errorf("%d requests, %+v", n, e.ready(t))
	}
	if got := e.titles(); !slices.Equal(got, []string{"Stack " + e.n.Namespace + "/net failed"}) {
		t.Errorf("messages %q", got)
	}
}

// TestEachAnswerOfADestination checks what is shown of a failure, that nothing is lost, and that nothing of the URL or
// of the response is shown.
func TestEachAnswerOfADestination(t *testing.T) {
	for name, tt := range map[string]struct {
		answer  func(w http.ResponseWriter, r *http.Request)
		message string
		wait    time.Duration
	}{
		"error": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "internal-text", 500)
		}, "500 Internal Server Error", 10 * time.Second},
		"too many": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "120")
			w.WriteHeader(429)
		}, "429 Too Many Requests", 2 * time.Minute},
		"an endless Retry-After": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "99999999")
			w.WriteHeader(503)
		}, "503 Service Unavailable", time.Hour},
		"slow": {func(http.ResponseWriter, *http.Request) { time.Sleep(1500 * time.Millisecond) },
			"did not respond within", 10 * time.Second},
		"closed": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF", 10 * time.Second},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusTemporaryRedirect)
		}, "redirects are not followed", 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			e.answer = tt.answer
			e.stack(t, "net", v1alpha1.ReasonRunFailed, nil)
			result := e.reconcile(t)
			if result.RequeueAfter != tt.wait {
				t.Errorf("tried again after %s, expected %s", result.RequeueAfter, tt.wait)
			}
			c := e.ready(t)
			if c.Reason != v1alpha1.ReasonDeliveryFailed || !strings.Contains(c.Message, tt.message) {
				t.Errorf("%s: %s", c.Reason, c.Message)
			}
			for _, secret := range []string{"secret-path", "internal-text", "169.254"} {
				if strings.Contains(fmt.Sprint(e.n.Status), secret) {
					t.Errorf("the status has %q", secret)
				}
			}
			requests := e.requests
			e.reconcile(t) // an event of a Stack
			if e.requests != requests {
				t.Error("it is tried again before its time")
			}
			e.mu.Lock()
			e.answer = nil
			e.mu.Unlock()
			e.ahead = 2 * time.Hour
			e.reconcile(t)
			if got := e.titles(); len(got) != 1 || e.ready(t).Status != metav1.ConditionTrue {
				t.Errorf("messages %q", got)
			}
		})
	}
}

func TestDeniedDestinations(t *testing.T) {
	for name, tt := range map[string]struct {
		url, key, reason, message string
		hosts                     []string
	}{
		"metadata": {url: "http://169.254.169.254/", reason: v1alpha1.ReasonDeliveryFailed,
			message: "are denied"},
		"loopback": {url: "http://127.0.0.1:1/", reason: v1alpha1.ReasonDeliveryFailed, message: "are denied"},
		"a host": {url: "https://a.example.org/", hosts: []string{"*.example.com", "example.org"},
			reason: v1alpha1.ReasonCredentialsInvalid, message: "allowedHosts"},
		"another scheme": {url: "file:///etc/passwd", reason: v1alpha1.ReasonCredentialsInvalid,
			message: "https or http"},
		"no URL": {reason: v1alpha1.ReasonCredentialsInvalid, message: "missing"},
		"a key that short": {url: "https://a.example.com", key: "short", reason: v1alpha1.ReasonCredentialsInvalid,
			message: "24 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			e.Web, e.Hosts = web(egress.New(egress.Options{})), tt.hosts
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: e.n.Namespace, Name: "to"}}
			data := map[string]string{"url": tt.url, "key": "a key of at least 24 bytes"}
			if tt.key != "" {
				data["key"] = tt.key
			}
			secret.StringData = data
			apiserver.Must(t, e.Env.Client.Update(t.Context(), secret))
			e.stack(t, "net", v1alpha1.ReasonRunFailed, nil)
			e.reconcile(t)
			if c := e.ready(t); c.Reason != tt.reason || !strings.Contains(c.Message, tt.message) || e.requests != 0 {
				t.Errorf("%s: %s (%d requests)", c.Reason, c.Message, e.requests)
			}
		})
	}
}

// TestForbiddenSecretIsReported checks an operator that may not read Secrets: the Notification reports it, and is tried
// again without an event.
func TestForbiddenSecretIsReported(t *testing.T) {
	e := newEnv(t)
	e.Reconciler.Live = forbidden{e.Reconciler.Live}
	e.stack(t, "net", v1alpha1.ReasonRunFailed, nil)
	if again := e.reconcile(t).RequeueAfter; again != later {
		t.Errorf("it is tried again in %s", again)
	}
	c := e.ready(t)
	if c.Reason != v1alpha1.ReasonCredentialsNotFound ||
		!strings.Contains(c.Message,
			`no permission to read the Secret of spec.destination.secret: secrets "to" is forbidden`) {
		t.Errorf("%s: %s", c.Reason, c.Message)
	}
}

// forbidden denies each Secret.
type forbidden struct{ client.Reader }

func (f forbidden) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if _, ok := o.(*corev1.Secret); ok {
		return apierrors.NewForbidden(corev1.Resource("secrets"), key.Name, errors.New("no rule"))
	}
	return f.Reader.Get(ctx, key, o, opts...)
}

// TestKilledAtEachWrite ends the process before and after each write: each event is in one accepted message in the end,
// which may be sent twice with the same ID.
func TestKilledAtEachWrite(t *testing.T) {
	for failAt := 1; failAt <= 6; failAt++ {
		for _, after := range []bool{false, true} {
			e := newEnv(t)
			e.reconcile(t)
			e.writes.count, e.writes.failAt, e.writes.after = 0, failAt, after
			e.stack(t, "net", v1alpha1.ReasonRunFailed, nil)
			e.reconcile(t)
			e.stack(t, "net", v1alpha1.ReasonApplied, nil)
			e.reconcile(t)
			e.reconcile(t)
			messages := slices.Compact(slices.Clone(e.accepted)) // the same ID is the same message
			if len(messages) != 2 || len(e.accepted) > 3 || len(e.current(t).Status.Deliveries) != 2 ||
				e.n.Status.Pending != nil {
				t.Errorf("killed at write %d (after it: %t): accepted %q, status %+v", failAt, after, e.accepted,
					e.n.Status)
			}
		}
	}
}

// TestAnotherWriteBeforeTheAcknowledgement checks that a message is not sent again if a user changes the Notification
// meanwhile.
func TestAnotherWriteBeforeTheAcknowledgement(t *testing.T) {
	e := newEnv(t)
	e.stack(t, "net", v1alpha1.ReasonRunFailed, nil)
	e.writes.patched = func() {
		if e.writes.count == 2 {
			change := client.RawPatch(client.Merge.Type(), []byte(`{"metadata":{"labels":{"a":"b"}}}`))
			apiserver.Must(t, e.Env.Client.Patch(t.Context(), e.n.DeepCopy(), change))
		}
	}
	e.reconcile(t)
	if got := e.titles(); len(got) != 1 || len(e.current(t).Status.Deliveries) != 1 {
		t.Errorf("messages %q, deliveries %v", got, e.n.Status.Deliveries)
	}
}

func TestOnlySelectedStacksOfTheNamespace(t *testing.T) {
	e := newEnv(t, func(s *v1alpha1.NotificationSpec) {
		s.StackSelector.MatchLabels = map[string]string{"team": "payments"}
	})
	e.stack(t, "ours", v1alpha1.ReasonRunFailed, map[string]string{"team": "payments"})
	e.stack(t, "theirs", v1alpha1.ReasonRunFailed, map[string]string{"team": "other"})
	e.reconcile(t)
	if got := e.titles(); !slices.Equal(got, []string{"Stack " + e.n.Namespace + "/ours failed"}) {
		t.Errorf("messages %q", got)
	}
}

// A destroy that waits for an approval, or failed, needs its users like any other Run.
func TestAStackThatIsBeingDeletedNeedsItsUsers(t *testing.T) {
	e := newEnv(t)
	s := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: "net", Finalizers: []string{v1alpha1.Finalizer}}}
	s.Spec.Source.Inline = map[string]string{"main.tf": ""}
	e.Make(s)
	apiserver.Must(t, e.Env.Client.Delete(t.Context(), s))
	e.stack(t, "net", v1alpha1.ReasonAwaitingApproval, nil)
	e.reconcile(t)
	e.stack(t, "net", v1alpha1.ReasonDestroyFailed, nil)
	e.reconcile(t)
	of := "Stack " + e.n.Namespace + "/net"
	if got := e.titles(); !slices.Equal(got, []string{of + " waits for an approval", of + " failed"}) {
		t.Errorf("messages %q", got)
	}
}

func TestOnlyTheInstallationNamesNamespaces(t *testing.T) {
	e := newEnv(t, func(s *v1alpha1.NotificationSpec) { s.Namespaces = []string{"*"} })
	e.stack(t, "net", v1alpha1.ReasonRunFailed, nil)
	e.reconcile(t)
	if c := e.ready(t); c.Reason != v1alpha1.ReasonNamespacesNotAllowed || e.requests != 0 {
		t.Errorf("%s, %d requests", c.Reason, e.requests)
	}
	stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: e.n.Namespace, Name: "net"}}
	if got := e.about(t.Context(), stack); len(got) != 1 {
		t.Errorf("a change of the Stack reconciles %v", got)
	}
	e.Installation = e.n.Namespace
	e.reconcile(t)
	if got := e.titles(); len(got) != 1 {
		t.Errorf("messages %q", got)
	}
	elsewhere := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "net"}}
	if got := e.about(t.Context(), elsewhere); len(got) != 1 {
		t.Errorf("a change of a Stack elsewhere reconciles %v", got)
	}
	e.n.Spec.Namespaces = nil
	if inNamespaces(e.n, "team-a") || !inNamespaces(e.n, e.n.Namespace) {
		t.Error("a Notification without namespaces is about those of others")
	}
	e.n.Spec.Namespaces = []string{"team-b*"}
	if inNamespaces(e.n, "team-a") || !inNamespaces(e.n, "team-b-prod") {
		t.Error("a pattern selects other namespaces")
	}
}
