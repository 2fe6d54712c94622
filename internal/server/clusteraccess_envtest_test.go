//go:build envtest

package server_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	poll "k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	chart "cairn.dev/cairn/charts/cairn"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server"
	"cairn.dev/cairn/internal/server/auth"
	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/server/pki"
	"cairn.dev/cairn/test/apiserver"
)

// cairn is the access of Cairn's server when it is installed for the namespace of the env alone.
func (e *env) cairn() (*rest.Config, client.Client) {
	e.Helper()
	access := chart.Access{Account: "cairn-server", Namespace: e.system, Halves: []string{"server"},
		Watched: []string{e.namespace}}
	objects, err := access.Objects()
	must(e.T, err)
	for _, o := range objects {
		must(e.T, client.IgnoreAlreadyExists(apiserver.Kube.Create(e.Context(), o)))
		if ns := o.GetNamespace(); ns != e.namespace && ns != e.system {
			e.Cleanup(func() { _ = apiserver.Kube.Delete(context.Background(), o) })
		}
	}
	config := rest.CopyConfig(apiserver.Config)
	config.Impersonate = rest.ImpersonationConfig{
		UserName: serviceaccount.MakeUsername(e.system, access.Account),
		Groups:   append(serviceaccount.MakeGroupNames(e.system), "system:authenticated"),
	}
	c, err := client.New(config, client.Options{Scheme: apiserver.Kube.Scheme()})
	must(e.T, err)
	must(e.T, poll.PollUntilContextTimeout(e.Context(), 10*time.Millisecond, 2*time.Minute, true,
		func(ctx context.Context) (bool, error) {
			err := c.List(ctx, &corev1.PodList{}, client.InNamespace(e.namespace)) // by the last role that was made
			return err == nil, ignoreForbidden(err)
		}))
	return config, c
}

func TestRunnerTokensAreVerifiedWithTheClustersKeys(t *testing.T) {
	e := newEnv(t)
	config, _ := e.cairn()
	issuer, err := auth.NewIssuer(t.Context(), config, time.Now)
	must(t, err)
	pod := e.newPod("net-1-plan-1", nil)
	later, err := auth.NewIssuer(t.Context(), config, func() time.Time { return time.Now().Add(24 * time.Hour) })
	must(t, err)
	header, payload, signature := parts(pod.token)
	_, others, _ := parts(e.newPod("net-2-plan-1", nil).token)
	for name, test := range map[string]struct {
		by    auth.PodVerifier
		token string
		code  int
		says  string
	}{
		"a pod's token is that pod's":      {by: issuer, token: pod.token},
		"a token for another audience":     {issuer, e.token("other", pod.pod), 401, `audience "cairn"`},
		"a token that is bound to nothing": {issuer, e.token(runnerapi.Audience, nil), 403, "bound to a pod"},
		"a token that has expired":         {later, pod.token, 401, "expired"},
		"what is no token":                 {issuer, "x", 401, "not valid"},
		"a signature of another token":     {issuer, header + "." + others + "." + signature, 401, "this cluster's"},
		"no signature":                     {issuer, "eyJhbGciOiJub25lIn0." + payload + ".", 401, "not valid"},
		"a key that the cluster does not say": {issuer, foreign(t, header) + "." + payload + "." + signature, 401,
			"not valid"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := test.by.VerifyPod(t.Context(), test.token)
			if test.code == 0 {
				if err != nil || got != (auth.Pod{Namespace: e.namespace, Name: pod.pod.Name, UID: pod.pod.UID}) {
					t.Fatalf("got %+v, %v", got, err)
				}
				return
			}
			if code, text := httpapi.StatusOf(err); code != test.code || !strings.Contains(text, test.says) {
				t.Fatalf("got %d %s (%v)", code, text, err)
			}
		})
	}

	// What a review knows and keys do not: that the pod is gone.
	pod.forced()
	if _, err := issuer.VerifyPod(t.Context(), pod.token); err != nil {
		t.Errorf("refused: %v", err)
	}
	err = second(auth.TokenReview{Client: apiserver.Kube}.VerifyPod(t.Context(), pod.token))
	if code, _ := httpapi.StatusOf(err); code != 401 {
		t.Errorf("a review says %d (%v)", code, err)
	}
}

// While the keys are unavailable no token is rejected: the runner retries.
func TestRunnerTokensAreAcceptedWhileTheClustersKeysAreUnavailable(t *testing.T) {
	e := newEnv(t)
	pod := e.newPod("net-1-plan-1", nil)
	target, err := url.Parse(apiserver.Config.Host)
	must(t, err)
	if target.Scheme == "" {
		target = &url.URL{Scheme: "https", Host: apiserver.Config.Host}
	}
	transport, err := rest.TransportFor(apiserver.Config)
	must(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = transport
	var away atomic.Bool
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if away.Load() {
			http.Error(rw, "away", http.StatusBadGateway)
			return
		}
		proxy.ServeHTTP(rw, r)
	}))
	defer front.Close()
	issuer, err := auth.NewIssuer(t.Context(), &rest.Config{Host: front.URL}, time.Now)
	must(t, err)
	away.Store(true)
	_, err = issuer.VerifyPod(t.Context(), pod.token)
	if code, _ := httpapi.StatusOf(err); code != http.StatusServiceUnavailable {
		t.Fatalf("got %d, %v", code, err)
	}
	away.Store(false)
	// Who asks in the moment in which a request for the keys ends gets that request's answer: a runner tries again, and
	// so does this.
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err = issuer.VerifyPod(t.Context(), pod.token); err == nil {
			break
		}
		if code, _ := httpapi.StatusOf(err); code != http.StatusServiceUnavailable || time.Now().After(end) {
			t.Fatal(err)
		}
	}
	away.Store(true) // a known key is enough
	if _, err := issuer.VerifyPod(t.Context(), e.newPod("net-2-plan-1", nil).token); err != nil {
		t.Fatal(err)
	}
}

func ignoreForbidden(err error) error {
	if apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

func parts(token string) (header, payload, signature string) {
	all := strings.Split(token, ".")
	return all[0], all[1], all[2]
}

// foreign is the header of a token with the name of another key.
func foreign(t *testing.T, header string) string {
	t.Helper()
	text, err := base64.RawURLEncoding.DecodeString(header)
	must(t, err)
	return base64.RawURLEncoding.EncodeToString(bytes.Replace(text, []byte(`"kid":"`), []byte(`"kid":"x`), 1))
}

func second[A any](_ A, err error) error { return err }

// With Roles alone a server authenticates users by their certificates, and responds so to a token.
func TestServerWithRolesInOneNamespaceReportsMissingPermissions(t *testing.T) {
	e := newEnv(t)
	config, c := e.cairn()
	issuer, err := auth.NewIssuer(t.Context(), config, time.Now)
	must(t, err)
	p := e.serveUsers(func(o *server.Options) {
		o.Client, o.Live, o.Tokens, o.Namespaces = c, c, issuer, []string{e.namespace}
	})
	user, who := e.account("alice")
	e.allow(user, may("pull", "states"))
	admin := shown{certificate: adminCertificate(t)}
	pull := func(who shown, namespace string) error {
		_, err := p.as(who).State(t.Context(), namespace, "net", 0)
		return err
	}
	p.eventually(func() bool { return !strings.Contains(pull(admin, e.namespace).Error(), "right now") })
	Result(t, pull(admin, e.namespace), http.StatusNotFound, "has no state yet")
	Result(t, pull(who, e.namespace), http.StatusNotImplemented, "tokenreviews")
	Result(t, pull(admin, e.system), http.StatusForbidden, "does not serve namespace "+e.system)
	as := admin
	as.headers = http.Header{"Impersonate-User": {"bob"}}
	Result(t, pull(as, e.namespace), http.StatusNotImplemented, "may impersonate users")

	// Its own runners it knows, and none of other namespaces, whatever their tokens.
	r := e.newPod("net-1-plan-1", e.newRun(e.stack, "net-1"))
	r.url = p.base
	r.expect(http.StatusForbidden, "has no attempt yet", "GET", "/v1/state", nil)
	must(t, apiserver.Kube.Create(t.Context(),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: e.system, Name: "default"}}))
	there := *e
	there.namespace = e.system
	other := there.newPod("net-1-plan-1", nil)
	other.url = p.base
	other.expect(http.StatusForbidden, "does not serve namespace", "GET", "/v1/state", nil)
	other.expect(http.StatusForbidden, "does not serve namespace", "GET", "/v1/order", nil)
}

func adminCertificate(t *testing.T) *tls.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair(apiserver.Config.CertData, apiserver.Config.KeyData)
	must(t, err)
	return &pair
}

// The chart makes the Secret of the keys without content, since no role can allow Cairn to make this one Secret.
func TestKeysAreFilledIntoAnEmptySecret(t *testing.T) {
	e := newEnv(t)
	_, c := e.cairn()
	key := types.NamespacedName{Namespace: e.system, Name: "cairn-keys"}
	o := pki.KeysOptions{
		Client: c, Secret: key, BucketURL: "file://" + t.TempDir(), Namespaces: []string{e.namespace}, Now: time.Now,
		Log: slog.New(slog.DiscardHandler),
	}

	_, err := pki.LoadKeys(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "may fill it but not create it") {
		t.Fatalf("without the Secret: %v", err)
	}
	labels := map[string]string{"app.kubernetes.io/managed-by": "Helm"}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: labels}}
	must(t, apiserver.Kube.Create(t.Context(), secret))
	one, err := pki.LoadKeys(t.Context(), o)
	must(t, err)
	two, err := pki.LoadKeys(t.Context(), o)
	must(t, err)
	if one.Recipient() != two.Recipient() {
		t.Fatal("the keys were made twice")
	}
	must(t, apiserver.Kube.Get(t.Context(), key, secret))
	if secret.Labels["app.kubernetes.io/managed-by"] != "Helm" {
		t.Errorf("the labels are %v", secret.Labels)
	}

	// Emptied, it is filled by a process that has the keys, and is no loss of the identity.
	secret.Data = nil
	must(t, apiserver.Kube.Update(t.Context(), secret))
	must(t, one.Renew(t.Context()))
	three, err := pki.LoadKeys(t.Context(), o)
	must(t, err)
	if three.Recipient() != one.Recipient() || three.Fingerprint(nil) != one.Fingerprint(nil) {
		t.Fatal("other keys")
	}
}
