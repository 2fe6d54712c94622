//go:build envtest

package webhook_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/server/webhook"
	"cairn.dev/cairn/test/apiserver"
)

func TestMain(m *testing.M) { apiserver.Main(m, "../../../charts/cairn/files/crds") }

// hooks is a server for webhooks, in a namespace with a Repository.
type hooks struct {
	apiserver.Env
	repo   *v1alpha1.Repository
	url    string
	writes atomic.Int64
}

// counting counts what is written through a client.
type counting struct {
	client.Client
	writes *atomic.Int64
}

func (c counting) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
	c.writes.Add(1)
	return c.Client.Patch(ctx, o, patch, opts...)
}

func (c counting) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	c.writes.Add(1)
	return c.Client.Update(ctx, o, opts...)
}

func newHooks(t *testing.T) *hooks {
	t.Helper()
	h := &hooks{Env: apiserver.New(t)}
	receiver := webhook.Repositories{
		Cache: h.Client, Client: counting{apiserver.Kube, &h.writes},
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	served := httptest.NewServer(receiver.Handler())
	t.Cleanup(served.Close)
	h.url = served.URL
	apiserver.Must(t, apiserver.Kube.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: h.Namespace, Name: "webhook"},
		StringData: map[string]string{"old": "the-old-secret", "new": "the-new-secret",
			"password": "known-to-more-users"},
	}))
	h.repo = h.repository("infra", "webhook")
	return h
}

// repository makes one whose webhooks are signed with a Secret, "" for none.
func (h *hooks) repository(name, secret string) *v1alpha1.Repository {
	h.Helper()
	repo := &v1alpha1.Repository{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"kept": "yes"}},
		Spec:       v1alpha1.RepositorySpec{URL: "https://git.example.com/infra.git"},
	}
	if secret != "" {
		repo.Spec.Webhook = &v1alpha1.WebhookSource{Secret: v1alpha1.ObjectRef{Name: secret},
			Keys: []string{"old", "new"}}
	}
	h.Make(repo)
	return repo
}

// unsigned means no signature.
const unsigned = "-"

// push sends what GitHub would after a push, signed unless the secret is unsigned.
func (h *hooks) push(path, secret, event, delivery string) int {
	h.Helper()
	body := `{"ref":"refs/heads/main","after":"1f3c2ab0001f3c2ab0001f3c2ab0001f3c2ab000","repository":{"clone_url":"https://elsewhere.example.com/x.git"}}`
	req, err := http.NewRequestWithContext(h.Context(), http.MethodPost, h.url+path, strings.NewReader(body))
	apiserver.Must(h.T, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-GitHub-Event", event)
	req.Header.Set("X-GitHub-Delivery", delivery)
	if secret != unsigned {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(body))
		req.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	}
	res, err := http.DefaultClient.Do(req)
	apiserver.Must(h.T, err)
	apiserver.Must(h.T, res.Body.Close())
	return res.StatusCode
}

// A push requests a fetch by the one annotation, and changes nothing else, whatever it says of URLs.
func TestPushRequestsFetch(t *testing.T) {
	h := newHooks(t)
	before := h.repo.DeepCopy()
	began := time.Now()
	if got := h.push("/hooks/"+h.Namespace+"/infra", "the-old-secret", "push", "1"); got != http.StatusAccepted {
		t.Fatalf("answered %d", got)
	}
	h.Seen(h.repo)
	at, err := time.Parse(time.RFC3339Nano, h.repo.Annotations[v1alpha1.RequestedAtAnnotation])
	if err != nil || at.Before(began.Add(-time.Second)) || at.After(time.Now().Add(time.Second)) {
		t.Errorf("the fetch is requested at %v (%v)", h.repo.Annotations, err)
	}
	if h.repo.Annotations["kept"] != "yes" || h.repo.Generation != before.Generation ||
		h.repo.Spec.URL != before.Spec.URL {
		t.Errorf("the push changed more: %+v", h.repo)
	}
	if n := h.writes.Load(); n != 1 {
		t.Errorf("%d writes", n)
	}

	// A later push is another request, by the other secret too.
	first := h.repo.Annotations[v1alpha1.RequestedAtAnnotation]
	if got := h.push("/hooks/"+h.Namespace+"/infra", "the-new-secret", "push", "2"); got != http.StatusAccepted ||
		h.writes.Load() != 2 {
		t.Errorf("a push with the other secret is answered %d, after %d writes", got, h.writes.Load())
	}
	h.Seen(h.repo)
	if h.repo.Annotations[v1alpha1.RequestedAtAnnotation] == first {
		t.Error("another push is no other request")
	}

	// An event of a pull request is a request too.
	second := h.repo.Annotations[v1alpha1.RequestedAtAnnotation]
	if got := h.push("/hooks/"+h.Namespace+"/infra", "the-old-secret", "pull_request",
		"3"); got != http.StatusAccepted || h.writes.Load() != 3 {
		t.Errorf("a pull request is answered %d, after %d writes", got, h.writes.Load())
	}
	h.Seen(h.repo)
	if h.repo.Annotations[v1alpha1.RequestedAtAnnotation] == second {
		t.Error("a pull request is no other request")
	}
}

func TestWebhooksThatRequestNoFetch(t *testing.T) {
	h := newHooks(t)
	h.repository("without", "")
	h.repository("lost", "no-such-secret")
	apiserver.Must(t, apiserver.Kube.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: h.Namespace, Name: "hollow"},
		StringData: map[string]string{"old": "", "new": ""},
	}))
	h.repository("hollow", "hollow")
	elsewhere := newHooks(t) // the same names in another namespace
	apiserver.Must(t, apiserver.Kube.Delete(t.Context(), elsewhere.repo))
	h.Gone(elsewhere.repo)
	for name, tt := range map[string]struct {
		path, secret, event string
		want                int
	}{
		"one that is not signed": {"/hooks/" + h.Namespace + "/infra", unsigned,
			"push", 401},
		"one that is signed with another secret": {"/hooks/" + h.Namespace + "/infra", "guess",
			"push", 401},
		"one that is signed with another value of the Secret": {"/hooks/" + h.Namespace + "/infra",
			"known-to-more-users", "push", 401},
		"one signed with nothing": {"/hooks/" + h.Namespace + "/hollow", "", "push", 401},
		"one to a Repository that wants none": {"/hooks/" + h.Namespace + "/without", "the-old-secret",
			"push", 401},
		"one to a Repository whose Secret is not there": {"/hooks/" + h.Namespace + "/lost", "the-old-secret",
			"push", 401},
		"one to a Repository that is not there": {"/hooks/" + h.Namespace + "/none", "the-old-secret",
			"push", 401},
		"one to a Repository of another namespace": {"/hooks/" + elsewhere.Namespace + "/infra", "the-old-secret",
			"push", 401},
		"one to names that can be none": {"/hooks/%2e%2e/%00", "the-old-secret", "push", 401},
		"a ping that is signed": {"/hooks/" + h.Namespace + "/infra", "the-old-secret",
			"ping", 200},
		"a signed event that needs no fetch": {"/hooks/" + h.Namespace + "/infra", "the-old-secret",
			"issues", 200},
		"a signed comment on an issue": {"/hooks/" + h.Namespace + "/infra", "the-old-secret",
			"issue_comment", 200},
		"one to another path": {"/hook/" + h.Namespace + "/infra", "the-old-secret",
			"push", 404},
		"one with the path of a Repository and one more": {"/hooks/" + h.Namespace + "/infra/more", "the-old-secret",
			"push", 404},
	} {
		t.Run(name, func(t *testing.T) {
			if got := h.push(tt.path, tt.secret, tt.event, name); got != tt.want {
				t.Errorf("answered %d, want %d", got, tt.want)
			}
			before := h.repo.ResourceVersion
			h.Seen(h.repo)
			if h.writes.Load() != 0 || h.repo.ResourceVersion != before {
				t.Error("an object was written")
			}
		})
	}
}

// After a response of 503 the Git provider sends a push again, and that is no repetition.
func TestFailedPushIsAcceptedAgain(t *testing.T) {
	h := newHooks(t)
	path := "/hooks/" + h.Namespace + "/infra"
	down := true
	receiver := webhook.Repositories{
		Cache: h.Client, Client: failing{counting{apiserver.Kube, &h.writes}, &down},
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	served := httptest.NewServer(receiver.Handler())
	t.Cleanup(served.Close)
	h.url = served.URL
	if got := h.push(path, "the-old-secret", "push", "1"); got != http.StatusServiceUnavailable {
		t.Errorf("answered %d", got)
	}
	down = false
	if got := h.push(path, "the-old-secret", "push", "1"); got != http.StatusAccepted || h.writes.Load() != 1 {
		t.Errorf("answered %d, after %d writes", got, h.writes.Load())
	}
}

// failing is a client that cannot write while down.
type failing struct {
	counting
	down *bool
}

func (f failing) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if *f.down {
		return io.ErrUnexpectedEOF
	}
	return f.counting.Patch(ctx, o, patch, opts...)
}
