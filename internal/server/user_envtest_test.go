//go:build envtest

package server_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/server"
	"cairn.dev/cairn/internal/server/auth"
	"cairn.dev/cairn/internal/userapi"
	"cairn.dev/cairn/test/apiserver"
)

// userServer is a process that serves users, beside the one of its env that serves runners.
type userServer struct {
	*env
	*server.Server
	base   string
	log    *lockedLog
	events *events.FakeRecorder
	stop   func()
}

type lockedLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// line gives the last line that has all of some parts.
func (l *lockedLog) line(parts ...string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := ""
next:
	for line := range strings.Lines(l.text.String()) {
		for _, part := range parts {
			if !strings.Contains(line, part) {
				continue next
			}
		}
		found = line
	}
	return found
}

func (e *env) serveUsers(change ...func(*server.Options)) *userServer {
	e.Helper()
	kube, err := kubernetes.NewForConfig(apiserver.Config)
	must(e.T, err)
	authority, err := auth.NewClusterCA(kube)
	must(e.T, err)
	watching, stopWatching := context.WithCancel(context.Background())
	watched := make(chan error, 1)
	go func() { watched <- authority.Start(watching) }()

	p := &userServer{env: e, log: &lockedLog{}, events: events.NewFakeRecorder(100)}
	log := slog.New(slog.NewTextHandler(p.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	o := e.options(log)
	o.ClientCA, o.Events = authority.VerifyOptions, p.events
	for _, c := range change {
		c(&o)
	}
	p.Server, err = server.New(o)
	must(e.T, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(e.T, err)
	p.base = "https://" + l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Serve(ctx, l) }()
	p.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			e.Errorf("the server ended with %v", err)
		}
		stopWatching()
		<-watched
	})
	e.Cleanup(p.stop)
	return p
}

// shown is what a user authenticates with.
type shown struct {
	token       string
	certificate *tls.Certificate
	headers     http.Header
}

// RoundTrip shows it.
type shows struct {
	shown
	to http.RoundTripper
}

func (s shows) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range s.headers {
		r.Header[name] = values
	}
	if s.token != "" {
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	return s.to.RoundTrip(r)
}

func (p *userServer) as(who shown) *userapi.Client {
	return userapi.New(p.base, p.transport(who))
}

func (p *userServer) transport(who shown) http.RoundTripper {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(p.keys.Bundle())
	config := &tls.Config{RootCAs: roots}
	if who.certificate != nil {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return who.certificate, nil
		}
	}
	to := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	p.Cleanup(to.CloseIdleConnections)
	return shows{who, to}
}

// account makes a service account, and gives its name and a token of it for the API server.
func (e *env) account(name string) (user string, who shown) {
	e.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: name}}
	must(e.T, apiserver.Kube.Create(e.Context(), account))
	request := &authenticationv1.TokenRequest{}
	must(e.T, apiserver.Kube.SubResource("token").Create(e.Context(), account, request))
	return "system:serviceaccount:" + e.namespace + ":" + name, shown{token: request.Status.Token}
}

// allow gives a user a role in the env's namespace.
func (e *env) allow(user string, rules ...rbacv1.PolicyRule) {
	e.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, GenerateName: "may-"}, Rules: rules}
	must(e.T, apiserver.Kube.Create(e.Context(), role))
	must(e.T, apiserver.Kube.Create(e.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, GenerateName: "may-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}))
}

// allowEverywhere is allow for what is in no namespace.
func (e *env) allowEverywhere(user string, rules ...rbacv1.PolicyRule) {
	e.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: "may-"}, Rules: rules}
	must(e.T, apiserver.Kube.Create(e.Context(), role))
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "may-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}
	must(e.T, apiserver.Kube.Create(e.Context(), binding))
	e.Cleanup(func() {
		_ = apiserver.Kube.Delete(context.Background(), role)
		_ = apiserver.Kube.Delete(context.Background(), binding)
	})
}

func may(verb, resource string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{resource},
		Verbs: []string{verb}, ResourceNames: names}
}

var mayAll = rbacv1.PolicyRule{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"*"},
	Verbs: []string{"*"}}

// authorized waits until the API server has read a role: it watches them.
func (p *userServer) authorized(c *userapi.Client) {
	p.Helper()
	p.eventually(func() bool {
		_, err := c.State(p.Context(), p.namespace, "nothing", 0)
		return forbidden(err) == nil
	})
}

func forbidden(err error) *userapi.Error {
	var no *userapi.Error
	if errors.As(err, &no) && no.Code == http.StatusForbidden {
		return no
	}
	return nil
}

func (p *userServer) eventually(ok func() bool) {
	p.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			p.Fatal("it never became so")
		}
	}
}

func Result(t *testing.T, err error, code int, says string) {
	t.Helper()
	var no *userapi.Error
	if !errors.As(err, &no) || no.Code != code || !strings.Contains(no.Message, says) {
		t.Fatalf("got %v; want %d and %q", err, code, says)
	}
}

func TestUserRequestsNeedARole(t *testing.T) {
	e := newEnv(t)
	p := e.serveUsers()
	run := e.newRun(e.stack, "net-1")
	asks := []struct {
		verb, resource string
		ask            func(*userapi.Client) error
	}{
		{"get", "runs/plan", func(c *userapi.Client) error {
			_, err := c.Plan(t.Context(), e.namespace, run.Name)
			return err
		}},
		{"get", "runs/logs", func(c *userapi.Client) error {
			return closing(c.Logs(t.Context(), e.namespace, run.Name, userapi.LogOptions{}))
		}},
		{"pull", "states", func(c *userapi.Client) error {
			_, err := c.State(t.Context(), e.namespace, "net", 0)
			return err
		}},
		{"push", "states", func(c *userapi.Client) error {
			_, err := c.PushState(t.Context(), e.namespace, "net", []byte("{}"), false)
			return err
		}},
		{"rollback", "states", func(c *userapi.Client) error {
			_, err := c.Rollback(t.Context(), e.namespace, "net", 1)
			return err
		}},
		{"unlock", "states", func(c *userapi.Client) error { return c.Unlock(t.Context(), e.namespace, "net", "a") }},
		{"restore", "states", func(c *userapi.Client) error {
			_, err := c.RestoreState(t.Context(), e.namespace, "net", false)
			return err
		}},
		{"recover", "states", func(c *userapi.Client) error {
			_, err := c.Recover(t.Context(), e.namespace, "net", strings.NewReader(sealedText))
			return err
		}},
	}
	for _, has := range asks {
		t.Run(has.verb+" "+has.resource, func(t *testing.T) {
			user, who := e.account(has.verb + "-" + strings.ReplaceAll(has.resource, "/", "-"))
			e.allow(user, may(has.verb, has.resource, "net", "net-1"))
			// To see a Run is not to see what is in its plan.
			e.allow(user, may("get", "runs"), may("get", "states"))
			c := p.as(who)
			p.eventually(func() bool { return forbidden(has.ask(c)) == nil })
			for _, other := range asks {
				no := forbidden(other.ask(c))
				if other.verb == has.verb && other.resource == has.resource {
					if no != nil {
						t.Errorf("refused: %v", no)
					}
					continue
				}
				if no == nil || !strings.Contains(no.Message, `"`+other.verb+`" on `+other.resource+
					" of API group cairn.dev") ||
					!strings.Contains(no.Message, user+" may not") {
					t.Errorf("%s %s: got %v", other.verb, other.resource, no)
				}
			}
		})
	}
}

func closing(r io.ReadCloser, err error) error {
	if err != nil {
		return err
	}
	return r.Close()
}

// certificate is one of a certificate authority that is not trusted.
func certificate(t *testing.T, name string, groups ...string) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name, Organization: groups},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestUsersAreAuthenticatedByKubernetes(t *testing.T) {
	e := newEnv(t)
	p := e.serveUsers()
	user, who := e.account("alice")
	e.allow(user, may("pull", "states"))
	p.authorized(p.as(who))
	pull := func(who shown) error {
		_, err := p.as(who).State(t.Context(), e.namespace, "net", 0)
		return err
	}
	const here = "has no state yet" // as far as one gets who may
	Result(t, pull(who), http.StatusNotFound, here)
	Result(t, pull(shown{}), http.StatusUnauthorized, "who asks?")
	Result(t, pull(shown{token: "eyJhbGciOiJub25lIn0.e30."}), http.StatusUnauthorized, "not one that Kubernetes takes")
	Result(t, pull(shown{token: strings.Repeat("x", 20<<10)}), http.StatusUnauthorized, "longer than any")
	Result(t, pull(shown{headers: http.Header{"X-Remote-User": {"admin"}, "X-Remote-Group": {"system:masters"}}}),
		http.StatusUnauthorized, "who asks?")

	// The administrator of the API server, by the certificate of the cluster's authority.
	admin, err := tls.X509KeyPair(apiserver.Config.CertData, apiserver.Config.KeyData)
	must(t, err)
	Result(t, pull(shown{certificate: &admin}), http.StatusNotFound, here)
	forged := certificate(t, "admin", "system:masters")
	Result(t, pull(shown{certificate: forged}), http.StatusUnauthorized, "client certificate")
	Result(t, pull(shown{certificate: forged, token: who.token}), http.StatusNotFound, here)
}

func TestRunnerAndUserTokensAreSeparate(t *testing.T) {
	e := newEnv(t)
	p := e.serveUsers()
	user, who := e.account("alice")
	e.allow(user, mayAll)
	e.allow("system:serviceaccount:"+e.namespace+":default", mayAll)
	p.authorized(p.as(who))
	r, _ := e.applying()
	// A runner's token, even of an account that may all: it is for the runner API.
	_, err := p.as(shown{token: r.token}).State(t.Context(), e.namespace, "net", 0)
	Result(t, err, http.StatusUnauthorized, "is for something else")
	// The pod's other token, for the API server, is a user's here and invalid for the runner API.
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: r.pod.Name,
			UID: r.pod.UID},
	}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "default"}}
	must(t, apiserver.Kube.SubResource("token").Create(t.Context(), account, request))
	bound := request.Status.Token
	p.authorized(p.as(shown{token: bound}))
	_, err = p.as(shown{token: bound}).State(t.Context(), e.namespace, "net", 0)
	Result(t, err, http.StatusNotFound, "has no state yet")

	admin, err := tls.X509KeyPair(apiserver.Config.CertData, apiserver.Config.KeyData)
	must(t, err)
	for name, other := range map[string]shown{"a user": who, "a pod": {token: bound},
		"an administrator": {certificate: &admin}} {
		for _, route := range []string{"GET /v1/order", "GET /v1/state", "POST /v1/state?ID=a", "PUT /v1/rescue",
			"GET /v1/interrupt", "POST /v1/logs?offset=0"} {
			method, path, _ := strings.Cut(route, " ")
			request, err := http.NewRequestWithContext(t.Context(), method, p.base+path, nil)
			must(t, err)
			request.Header.Set("Cairn-Attempt", "1")
			answer, err := p.transport(other).RoundTrip(request)
			must(t, err)
			answer.Body.Close()
			if answer.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s, %s: got %d", name, route, answer.StatusCode)
			}
		}
	}
}

func TestImpersonationNeedsARole(t *testing.T) {
	e := newEnv(t)
	p := e.serveUsers()
	user, who := e.account("helpdesk")
	e.allowEverywhere(user, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"users"},
		Verbs: []string{"impersonate"}, ResourceNames: []string{"alice"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"groups"}, Verbs: []string{"impersonate"},
			ResourceNames: []string{"devs"}})
	e.allow("alice", may("pull", "states"), may("push", "states"))
	as := func(name string, headers http.Header) error {
		headers.Set("Impersonate-User", name)
		_, err := p.as(shown{token: who.token, headers: headers}).State(t.Context(), e.namespace, "net", 0)
		return err
	}
	p.eventually(func() bool { return forbidden(as("alice", http.Header{"Impersonate-Group": {"devs"}})) == nil })
	Result(t, as("alice", http.Header{}), http.StatusNotFound, "has no state yet")
	Result(t, as("bob", http.Header{}), http.StatusForbidden, `may not impersonate users "bob"`)
	Result(t, as("alice", http.Header{"Impersonate-Group": {"devs", "system:masters"}}), http.StatusForbidden,
		`may not impersonate groups "system:masters"`)
	Result(t, as("alice", http.Header{"Impersonate-Uid": {"1"}}), http.StatusForbidden, `may not impersonate uids "1"`)
	Result(t, as("alice", http.Header{"Impersonate-Extra-Scopes": {"all"}}), http.StatusForbidden,
		`may not impersonate userextras/scopes "all"`)
	Result(t, as("system:serviceaccount:"+e.namespace+":default", http.Header{}), http.StatusForbidden,
		`may not impersonate serviceaccounts "default" in namespace `+e.namespace)
	Result(t, as("alice", http.Header{"Impersonate-Shoe-Size": {"44"}}), http.StatusBadRequest, "is not known")
	_, err := p.as(shown{token: who.token, headers: http.Header{"Impersonate-Group": {"devs"}}}).State(t.Context(),
		e.namespace, "net", 0)
	Result(t, err, http.StatusBadRequest, "name one user")

	alice := p.as(shown{token: who.token, headers: http.Header{"Impersonate-User": {"alice"}}})
	_, err = alice.PushState(t.Context(), e.namespace, "net", stateFile(1, "L", "one"), false)
	must(t, err)
	if line := p.log.line("audit: done", "by=alice", "impersonatedBy="+user, "verb=push", "name=net"); line == "" {
		t.Error("the audit does not say who asked as alice")
	}
	st := &v1alpha1.State{}
	must(t, apiserver.Kube.Get(t.Context(), client.ObjectKeyFromObject(e.stack), st))
	if got := st.Status.Versions[0]; got.By != "alice" {
		t.Errorf("the version is from %q", got.By)
	}
	if got := <-p.events.Events; !strings.Contains(got, "StatePushed") ||
		!strings.Contains(got, user+" as alice pushed version 1 (serial 1)") {
		t.Errorf("the event is %q", got)
	}
}

func TestManipulatedPathsAreRejected(t *testing.T) {
	e := newEnv(t)
	p := e.serveUsers()
	user, who := e.account("alice")
	e.allow(user, mayAll)
	p.authorized(p.as(who))
	states := "/api/v1/namespaces/" + e.namespace + "/states/"
	for path, want := range map[string]int{
		states + "net/versions/current":                                       404, // no state yet
		states + "net/versions/0":                                             400,
		states + "net/versions/-1":                                            400,
		states + "net/versions/latest":                                        400,
		states + "net/versions/1%2F..%2F2":                                    400,
		states + "..%2F..%2Fsecrets%2Fx/versions/current":                     400,
		states + "NET/versions/current":                                       400,
		states + "%00/versions/current":                                       400,
		states + "*/versions/current":                                         400,
		states + strings.Repeat("x", 300) + "/versions/current":               400,
		"/api/v1/namespaces/..%2Fkube-system/states/net/versions/current":     400,
		"/api/v1/namespaces/kube-system/states/net/versions/current":          403,
		"/api/v1/namespaces/" + e.namespace + "/secrets/net/versions/current": 404,
		"/api/v1/namespaces/" + e.namespace + "/runs/net-1/plan?format=zip":   404,
		"/api/v1/namespaces/" + e.namespace + "/runs/net-1/logs?attempt=0":    400,
		"/api/v1/namespaces/" + e.namespace + "/runs/net-1/logs?offset=-1":    400,
		"/api/v1/namespaces/" + e.namespace + "/runs/net-1/logs?follow=maybe": 400,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.base+path, nil)
		must(t, err)
		answer, err := p.transport(who).RoundTrip(request)
		must(t, err)
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: got %d %s; want %d", path, answer.StatusCode, text, want)
		}
	}
	// A path that is not clean leads back to this server, and so to the same checks.
	for _, path := range []string{"/api/v1/../v1//order", states +
		"net/../../../kube-system/states/net/versions/current"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.base+path, nil)
		must(t, err)
		answer, err := p.transport(who).RoundTrip(request)
		must(t, err)
		answer.Body.Close()
		if to := answer.Header.Get("Location"); answer.StatusCode/100 != 3 || !strings.HasPrefix(to, "/") ||
			strings.HasPrefix(to, "//") {
			t.Errorf("%s: got %d to %q", path, answer.StatusCode, to)
		}
	}
	for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodPatch} {
		request, err := http.NewRequestWithContext(t.Context(), method, p.base+states+"net/versions", nil)
		must(t, err)
		answer, err := p.transport(who).RoundTrip(request)
		must(t, err)
		answer.Body.Close()
		if answer.StatusCode/100 != 4 {
			t.Errorf("%s: got %d", method, answer.StatusCode)
		}
	}
}
