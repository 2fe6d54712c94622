package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/dev/authority"
	"cairn.dev/cairn/internal/runnerapi"
)

// A door is a proxy between the runners of a lane and Cairn's server. It gives each of their requests a name that is
// the same whenever a story is repeated, and injects faults.
type door struct {
	url, upstream string
	transport     http.RoundTripper
	server        *http.Server

	mu        sync.Mutex
	cert      *tls.Certificate
	on        func(*visit)
	visits    []string
	counts    map[string]int
	journaled map[string]bool
}

// A visit is a request of a runner at the door.
type visit struct {
	// Pod that sends the request, and its subject. Example: net-1-plan-1 PUT plan/json.
	Pod, What string
	// Ordinal counts the requests of a pod with the same subject, from 1.
	Ordinal int

	door   *door
	r      *http.Request
	body   []byte
	answer *http.Response
	cut    bool
}

func (v *visit) String() string { return fmt.Sprintf("%s %s #%d", v.Pod, v.What, v.Ordinal) }

// doors are those of all lanes, by their URLs.
var doors sync.Map

// behindDoor is for laneOptions.store: runners get the address of a door.
func behindDoor(listen string) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not block on this machine
	if err != nil {
		return "", err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12} //nolint:gosec // it is on this machine
	transport.ForceAttemptHTTP2 = true
	d := &door{url: "https://" + l.Addr().String(), upstream: listen, transport: transport, counts: map[string]int{},
		journaled: map[string]bool{}}
	d.server = &http.Server{Handler: d, ReadHeaderTimeout: time.Minute, TLSConfig: &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return d.certificate() },
	}}
	go d.server.ServeTLS(l, "", "") //nolint:errcheck // it ends with this process, as its lanes do
	doors.Store(d.url, d)
	return d.url, nil
}

// door returns the door of a lane.
func (l *lane) door(ctx context.Context) (*door, error) {
	for _, arg := range l.server.args {
		found, ok := doors.Load(strings.TrimPrefix(arg, "--server-url="))
		if !ok {
			continue
		}
		d := found.(*door)
		return d, d.trusted(ctx, l)
	}
	return nil, errors.New("this lane has no door")
}

// trusted configures the door with a certificate of the installation's CA, like the server's.
func (d *door) trusted(ctx context.Context, l *lane) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cert != nil {
		return nil
	}
	keys := &corev1.Secret{}
	if err := l.Get(ctx, client.ObjectKey{Namespace: l.own, Name: "cairn-keys"}, keys); err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(keys.Data["ca.crt"], keys.Data["ca.key"])
	if err != nil {
		return err
	}
	template := authority.Client("door")
	template.IPAddresses, template.ExtKeyUsage = []net.IP{net.IPv4(127, 0, 0, 1)}, nil
	d.cert, err = signedBy(pair, template)
	return err
}

func (d *door) certificate() (*tls.Certificate, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cert == nil {
		return nil, errors.New("the door is not open")
	}
	return d.cert, nil
}

// begin resets the records, and calls f for each request from now on, which has to respond, at least by pass. nil is
// pass.
func (d *door) begin(f func(*visit)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.on, d.visits, d.counts, d.journaled = f, nil, map[string]int{}, map[string]bool{}
}

// seen returns the names of all requests since begin.
func (d *door) seen() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.visits)
}

// podsSeen returns the names of all pods that sent a request.
func (d *door) podsSeen() (names []string) {
	for _, name := range d.seen() {
		if pod, _, _ := strings.Cut(name, " "); !slices.Contains(names, pod) {
			names = append(names, pod)
		}
	}
	return names
}

// knows reports whether the server received the creation of a resource with that ID.
func (d *door) knows(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.journaled[id]
}

// ServeHTTP handles a request.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<20))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	v := &visit{Pod: podOf(r), What: what(r, body), door: d, r: r, body: body}
	d.mu.Lock()
	key := v.Pod + " " + v.What
	d.counts[key]++
	v.Ordinal = d.counts[key]
	d.visits = append(d.visits, v.String())
	on := d.on
	d.mu.Unlock()
	if on == nil {
		on = (*visit).pass
	}
	on(v)
	if v.cut || v.answer == nil {
		panic(http.ErrAbortHandler) // net/http closes the connection
	}
	defer v.answer.Body.Close()
	for name, values := range v.answer.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(v.answer.StatusCode)
	_, _ = io.Copy(w, v.answer.Body) // the client may be gone
}

// pass forwards the request and its response.
func (v *visit) pass() {
	if err := v.forward(); err != nil {
		v.cut = true
	}
}

// forward forwards the request to the server, without its response, and continues when the client is gone.
func (v *visit) forward() error {
	ctx := v.r.Context()
	if v.r.Method != http.MethodGet {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
	}
	r, err := http.NewRequestWithContext(ctx, v.r.Method,
		(&url.URL{Scheme: "https", Host: v.door.upstream, Path: v.r.URL.Path, RawQuery: v.r.URL.RawQuery}).String(),
		bytes.NewReader(v.body))
	if err != nil {
		return err
	}
	r.Header = v.r.Header.Clone()
	answer, err := v.door.transport.RoundTrip(r)
	if err != nil {
		return err
	}
	data, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close() // it was read completely, or reading failed
	if err != nil {
		return err
	}
	answer.Body = io.NopCloser(bytes.NewReader(data))
	if answer.StatusCode < 300 && v.What == "POST journal" {
		v.noteJournal()
	}
	v.answer = answer
	return nil
}

// noteJournal records the entries that the server received.
func (v *visit) noteJournal() {
	var outcome runnerapi.JournalEntries
	if json.Unmarshal(v.body, &outcome) != nil {
		return
	}
	v.door.mu.Lock()
	defer v.door.mu.Unlock()
	for _, e := range outcome.Entries {
		if e.Action == "create" {
			v.door.journaled[e.ID] = true
		}
	}
}

// refuse responds in place of the server.
func (v *visit) refuse(status int) {
	v.answer = &http.Response{StatusCode: status, Header: http.Header{},
		Body: io.NopCloser(strings.NewReader("the door is configured to reject this"))}
}

// podOf reads the name of the pod in a token.
func podOf(r *http.Request) string {
	parts := strings.Split(r.Header.Get("Authorization"), ".")
	if len(parts) != 3 {
		return "unknown"
	}
	var claims struct {
		Kubernetes struct {
			Pod struct{ Name string }
		} `json:"kubernetes.io"`
	}
	data, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(data, &claims) != nil {
		return "unknown"
	}
	return claims.Kubernetes.Pod.Name
}

// what names what is asked for, with nothing in it that is another one the next time. A report is named by how far the
// attempt has come.
func what(r *http.Request, body []byte) string {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/v1/"), "/")
	name := r.Method + " " + parts[0]
	if len(parts) > 2 && parts[0] == "plan" {
		name += "/" + parts[2]
	}
	var report runnerapi.Report
	if parts[0] != "steps" || json.Unmarshal(body, &report) != nil {
		return name
	}
	if report.Done != nil {
		return name + " (done)"
	}
	for i := range report.Steps {
		if s := report.Steps[len(report.Steps)-1-i]; s.State == "Running" || s.State == "Succeeded" ||
			s.State == "Failed" {
			return fmt.Sprintf("%s (%s %s)", name, s.Name, strings.ToLower(s.State))
		}
	}
	return name
}
