//go:build envtest

package server_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/server"
	"cairn.dev/cairn/test/apiserver"
)

// laptop is a user's engine outside of the cluster, as its http backend speaks.
type laptop struct {
	*userServer
	user    string
	token   string
	http    http.RoundTripper
	headers http.Header
}

// laptopOf is that of a new user with some verbs on States.
func (p *userServer) laptopOf(name string, verbs ...string) *laptop {
	p.Helper()
	user, who := p.account(name)
	var rules []rbacv1.PolicyRule
	for _, verb := range append(verbs, "get") {
		rules = append(rules, may(verb, "states"))
	}
	p.allow(user, rules...)
	l := &laptop{userServer: p, user: user, token: who.token, http: p.transport(shown{})}
	p.eventually(func() bool { // the API server watches roles
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: p.namespace, Verb: verbs[len(verbs)-1], Group: v1alpha1.GroupVersion.Group,
				Resource: "states", Name: "net",
			},
		}}
		return apiserver.Kube.Create(p.Context(), review) == nil && review.Status.Allowed
	})
	return l
}

func (l *laptop) send(ctx context.Context, method, state, query string, body []byte) (int, string, error) {
	request, err := http.NewRequestWithContext(ctx, method, l.base+"/api/v1/namespaces/"+l.namespace+"/states/"+state+
		"/backend"+query, bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	for name, values := range l.headers {
		request.Header[name] = values
	}
	if l.token != "" {
		request.SetBasicAuth("cairn", l.token)
	}
	answer, err := l.http.RoundTrip(request)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), err
}

// expect sends a request and checks the answer.
func (l *laptop) expect(code int, says, method, query string, body []byte) {
	l.Helper()
	got, text, err := l.send(l.Context(), method, "net", query, body)
	if err != nil || got != code || !strings.Contains(text, says) {
		l.Fatalf("%s %s%s: got %d %.400s, %v; want %d and %q", l.user, method, query, got, text, err, code, says)
	}
}

func lockBody(id string) []byte {
	return fmt.Appendf(nil, `{"ID":%q,"Operation":"OperationTypeApply","Info":"","Who":"dev@laptop","Version":"1.12.6","Created":"2026-11-24T06:00:00Z","Path":""}`, id)
}

func (l *laptop) lock(id string, code int, says string) {
	l.Helper()
	l.expect(code, says, "LOCK", "", lockBody(id))
}

func (l *laptop) unlock(id string, code int, says string) {
	l.Helper()
	l.expect(code, says, "UNLOCK", "", lockBody(id))
}

func (l *laptop) write(id string, data []byte, code int, says string) {
	l.Helper()
	l.expect(code, says, "POST", "?ID="+id, data)
}

// stateStatus is the status of the State of the env's Stack.
func (e *env) stateStatus() v1alpha1.StateStatus {
	e.Helper()
	st := &v1alpha1.State{}
	must(e.T, client.IgnoreNotFound(apiserver.Kube.Get(e.Context(), client.ObjectKeyFromObject(e.stack), st)))
	return st.Status
}

func (p *userServer) event(parts ...string) {
	p.Helper()
	select {
	case got := <-p.events.Events:
		for _, part := range parts {
			if !strings.Contains(got, part) {
				p.Errorf("the event is %q; want %q", got, part)
			}
		}
	case <-time.After(time.Minute):
		p.Errorf("no event %q", parts)
	}
}

func TestEngineOfAUserWorksWithAState(t *testing.T) {
	e := newEnv(t)
	p := e.serveUsers()
	alice, bob := p.laptopOf("alice", "pull", "push"), p.laptopOf("bob", "pull", "push", "unlock")
	one, two := stateFile(1, "L", "one"), stateFile(2, "L", "two")

	alice.expect(404, "Stack net has no state yet", "GET", "", nil)
	alice.lock("a", 200, `"ID":"a"`)
	p.event("StateLocked", alice.user, "lock ID a")
	if lock := e.stateStatus().Lock; lock == nil || lock.ID != "a" || lock.By != alice.user ||
		lock.Who != "dev@laptop" || lock.Run != "" || lock.PodUID != "" || lock.Since.IsZero() {
		t.Fatalf("the lock is %+v", lock)
	}
	alice.lock("a", 200, "") // sent again
	alice.write("a", one, 200, `"version":1`)
	p.event("StateLocked")
	p.event("StatePushed", alice.user, "wrote version 1 (serial 1) with an engine, under the lock a")
	alice.write("a", one, 200, `"version":1`) // sent again: no event
	if p.log.line("audit: done", "verb=push", "by="+alice.user, "lock=a", "version=1 serial=1 unchanged=true") == "" {
		t.Error("a write is not in the audit")
	}
	alice.write("a", two, 200, `"version":2`)
	p.event("StatePushed", "wrote version 2 (serial 2)")
	if v := e.stateStatus().Versions[1]; v.By != alice.user || v.Run != "" {
		t.Errorf("the version is of %+v", v)
	}
	alice.write("a", one, 409, "does not follow")
	alice.write("a", stateFile(3, "M", "other"), 409, "lineage")
	alice.write("b", stateFile(3, "L", "three"), 423, "locked under ID a")
	alice.expect(423, "locked under ID a", "POST", "", stateFile(3, "L", "three")) // tofu apply -lock=false
	bob.expect(200, `"two"`, "GET", "", nil)

	// While alice has the lock no other user has it, or writes.
	var held struct{ ID, Who, Info, Path string }
	code, text, err := bob.send(t.Context(), "LOCK", "net", "", lockBody("b"))
	must(t, err)
	if err := json.Unmarshal([]byte(text), &held); err != nil || code != 423 || held.ID != "a" ||
		held.Who != alice.user || held.Path != e.namespace+"/net" ||
		!strings.Contains(held.Info, "user "+alice.user+" (dev@laptop)") ||
		!strings.Contains(held.Info, "cairn state unlock") {
		t.Errorf("bob is answered %d %s, %v", code, text, err)
	}
	if p.log.line("audit: not done", "verb=push", "by="+bob.user, "lock=b", "locked by") == "" {
		t.Error("a lock that is denied is not in the audit")
	}
	bob.lock("a", 423, "locked by user "+alice.user)
	bob.write("a", stateFile(3, "L", "bob"), 423, "held by user "+alice.user)
	_, err = p.as(shown{token: bob.token}).PushState(t.Context(), e.namespace, "net", stateFile(3, "L", "bob"), true)
	Result(t, err, 423, "locked by user "+alice.user)

	alice.unlock("b", 423, "locked under ID a")
	alice.unlock("a", 200, "")
	p.event("StateUnlocked", "released the lock a")
	alice.unlock("a", 200, "") // sent again
	p.event("StateUnlocked")
	if lock := e.stateStatus().Lock; lock != nil {
		t.Errorf("the lock is %+v", lock)
	}

	// By force.
	alice.lock("c", 200, "")
	p.event("StateLocked")
	bob.unlock("b", 423, "locked under another ID")
	bob.unlock("c", 200, "")
	p.event("StateUnlocked", bob.user, "ended the lock c by force")
	if p.log.line("audit: done", "verb=unlock", "by="+bob.user, "lock=c") == "" {
		t.Error("an unlock by force is not in the audit")
	}
	alice.write("c", stateFile(3, "L", "three"), 423, "the state is not locked")
	alice.lock("d", 200, "")
	bob.expect(200, "", "UNLOCK", "", nil) // as Terraform before 1.6 does
	alice.lock("e", 200, "")
	alice.expect(200, "", "UNLOCK", "", nil)
	if version := e.stateStatus().Version; version != 2 {
		t.Errorf("version %d", version)
	}

	alice.expect(405, "delete Stack net", "DELETE", "", nil)
	alice.lock("deletion", 423, "is none")
	alice.expect(400, "lock's info with an ID", "LOCK", "", []byte(`{}`))
	alice.expect(400, "lock's info with an ID", "UNLOCK", "", []byte(`{"ID":7}`))
	if code, text, _ := alice.send(t.Context(), "GET", "nothing", "", nil); code != 409 ||
		!strings.Contains(text, "there is no Stack nothing") {
		// 404 would be a Stack without a state, and all would be created again
		t.Errorf("a Stack that does not exist: %d %s", code, text)
	}
	if code, text, _ := alice.send(t.Context(), "LOCK", "nothing", "", lockBody("a")); code != 423 ||
		!strings.Contains(text, "there is no Stack nothing") {
		t.Errorf("its lock: %d %s", code, text)
	}
}

func TestEngineOfAUserNeedsARole(t *testing.T) {
	e := newEnv(t)
	p := e.serveUsers(func(o *server.Options) { o.Events = nil })
	one := stateFile(1, "L", "one")
	owner := p.laptopOf("owner", "pull", "push")
	owner.lock("a", 200, "")
	owner.write("a", one, 200, "")
	for name, test := range map[string]struct {
		verb   string
		method string
		query  string
		body   []byte
		code   int // of one who has the verb alone
	}{
		"reading":            {"pull", "GET", "", nil, 200},
		"writing":            {"push", "POST", "?ID=a", stateFile(2, "L", "x"), 423},
		"locking":            {"push", "LOCK", "", lockBody("b"), 423},
		"deleting":           {"push", "DELETE", "", nil, 405},
		"unlocking by force": {"unlock", "UNLOCK", "", lockBody("x"), 423},
		"unlocking all":      {"unlock", "UNLOCK", "", []byte(`{}`), 400},
	} {
		t.Run(name, func(t *testing.T) {
			for _, verb := range []string{"pull", "push", "unlock", "rollback"} {
				l := p.laptopOf(strings.ReplaceAll(name, " ", "-")+"-"+verb, verb)
				code, text, err := l.send(t.Context(), test.method, "net", test.query, test.body)
				must(t, err)
				if verb == test.verb && code != test.code {
					t.Errorf("with verb %s: got %d %s; want %d", verb, code, text, test.code)
				}
				if verb != test.verb && (code != 403 || !strings.Contains(text, `\"`+test.verb+`\" on states`)) {
					t.Errorf("with verb %s in place of %s: got %d %s", verb, test.verb, code, text)
				}
			}
		})
	}
	if p.log.line("audit: not done", "verb=push", "locking-pull") == "" {
		t.Error("who lacks the verb is not in the audit")
	}
	if st := e.stateStatus(); st.Lock == nil || st.Lock.ID != "a" || st.Version != 1 {
		t.Errorf("the state is %+v", st)
	}
	owner.unlock("a", 200, "") // its holder does not need the verb unlock
}

func TestEngineOfAUserSendsATokenAsItsPassword(t *testing.T) {
	e := newEnv(t)
	p := e.serveUsers()
	alice := p.laptopOf("alice", "pull", "push")
	code := func(l laptop, method string) int {
		t.Helper()
		code, _, err := l.send(t.Context(), method, "net", "", lockBody("a"))
		must(t, err)
		return code
	}
	stranger := *alice
	if stranger.token = ""; code(stranger, "GET") != 401 {
		t.Error("a request without a token is accepted")
	}
	if stranger.token = "eyJhbGciOiJub25lIn0.e30."; code(stranger, "LOCK") != 401 {
		t.Error("a token that is none is taken")
	}
	stranger.token, stranger.headers = "", http.Header{"Authorization": {"Bearer " + alice.token}} // newer engines can
	if got := code(stranger, "GET"); got != 404 {
		t.Errorf("with a header: %d", got)
	}
	admin, err := tls.X509KeyPair(apiserver.Config.CertData, apiserver.Config.KeyData)
	must(t, err)
	certified := laptop{userServer: p, http: p.transport(shown{certificate: &admin})}
	p.eventually(func() bool { return code(certified, "GET") != 503 }) // it reads the authority first
	if got := code(certified, "GET"); got != 404 {
		t.Errorf("with a client certificate: %d", got)
	}
	certified.headers = http.Header{"Authorization": {"Basic Y2Fpcm46"}} // a user name, and no password
	if got := code(certified, "GET"); got != 404 {
		t.Errorf("with a client certificate and no password: %d", got)
	}
	framed := *alice // a browser that was given a URL with a password
	framed.headers = http.Header{"Sec-Fetch-Site": {"cross-site"}}
	if got := code(framed, "LOCK"); got != 403 || e.stateStatus().Lock != nil {
		t.Errorf("from another site: %d", got)
	}
	if p.log.line(alice.token) != "" {
		t.Error("the log has a token")
	}
	// All else takes a bearer token only.
	request, err := http.NewRequestWithContext(t.Context(), "GET", p.base+"/api/v1/namespaces/"+e.namespace+
		"/states/net/versions/current", nil)
	must(t, err)
	request.SetBasicAuth("cairn", alice.token)
	answer, err := alice.http.RoundTrip(request)
	must(t, err)
	answer.Body.Close()
	if answer.StatusCode != 401 {
		t.Errorf("another route: %d", answer.StatusCode)
	}
}

func TestEngineOfAUserWorksBesideRuns(t *testing.T) {
	e := newEnv(t)
	p := e.serveUsers(func(o *server.Options) { o.Events = nil })
	alice := p.laptopOf("alice", "pull", "push")

	// A Run that applies has the lock, and comes first.
	run, applied := e.applying()
	alice.lock("a", 423, "attempt 1 of Run net-1 is at work in pod net-1-apply-1")
	run.lock("r", 200, "")
	alice.lock("a", 423, "net-1")
	run.write("r", stateFile(1, "L", "run"), 200, "")
	alice.write("r", stateFile(2, "L", "alice"), 423, "held by attempt 1 of Run net-1")
	alice.unlock("r", 403, "unlock") // it is not hers
	run.unlock("r", 200, "")
	finish(e, applied)

	// A plan that waits for an approval is for the state as it is.
	applied.Status.Phase = v1alpha1.PhaseAwaitingApproval
	must(t, apiserver.Kube.Status().Update(t.Context(), applied))
	alice.lock("a", 423, "the plan of Run net-1 waits for an approval")
	applied.Status.Phase = v1alpha1.PhaseSucceeded
	must(t, apiserver.Kube.Status().Update(t.Context(), applied))

	// A user who has the lock comes before a Run that applies. One that plans takes no lock, and does not keep the user
	// from writing.
	alice.lock("a", 200, "")
	next := e.newRun(e.stack, "net-2")
	planner := e.newPod("net-2-plan-1", next).begin(next, v1alpha1.AttemptPlan)
	planner.expect(200, "", "GET", "/v1/state", nil)
	alice.write("a", stateFile(2, "L", "alice"), 200, `"version":2`)
	applier := e.newPod("net-2-apply-2", next).begin(next, v1alpha1.AttemptApply)
	applier.lock("s", 423, "locked by user "+alice.user)
	applier.write("a", stateFile(3, "L", "run"), 423, "held by user "+alice.user)
	applier.unlock("a", 423, "held by user "+alice.user)
	alice.write("a", stateFile(3, "L", "alice"), 200, `"version":3`)
	alice.unlock("a", 200, "")
	applier.lock("s", 200, "")
	applier.write("s", stateFile(4, "L", "run"), 200, "")
	applier.unlock("s", 200, "")
	finish(e, next)

	// The lock of a pod that is gone is left to the next Run, which knows from its journal what the pod did.
	killed := e.newPod("net-2-apply-3", next).begin(next, v1alpha1.AttemptApply)
	killed.lock("t", 200, "")
	finish(e, next)
	killed.kill()
	alice.lock("a", 423, "who is over: release it with cairn state unlock")
	bob := p.laptopOf("bob", "push", "unlock")
	bob.unlock("t", 200, "")
	alice.lock("a", 200, "")

	// What an attempt hands in late waits, and does not replace what the user works on.
	killed.expect(204, "", "PUT", "/v1/rescue?base="+e.stateStatus().SHA256, stateFile(5, "L", "late"))
	if st := e.stateStatus(); st.Version != 4 || st.Rescued == nil {
		t.Errorf("a late state: %+v", st)
	}
	alice.unlock("a", 200, "")
	alice.lock("b", 423, "left a newer state")
}

func TestEngineOfAUserIsRedirectedToTheBackendOfTheState(t *testing.T) {
	e := newEnv(t)
	p := e.serveUsers()
	alice := p.laptopOf("alice", "pull", "push")
	e.stack.Spec.Backend = &v1alpha1.Backend{Type: "s3"}
	must(t, apiserver.Kube.Update(t.Context(), e.stack))
	alice.expect(409, "own backend (s3)", "GET", "", nil)
	alice.lock("a", 423, "own backend (s3)")
	e.stack.Spec.Backend = nil
	must(t, apiserver.Kube.Update(t.Context(), e.stack))
	alice.lock("a", 200, "")
}

// Twenty engines count up one number, each under the lock, and each as a user of its own.
func TestOneOfTwentyUsersHoldsTheLock(t *testing.T) {
	e := newEnv(t)
	p := e.serveUsers(func(o *server.Options) { o.Events = nil })
	const lockers = 20
	_, err := p.state.Push(t.Context(), client.ObjectKeyFromObject(e.stack), "setup", stateFile(1, "L", "0"), false, 0)
	must(t, err)
	var all []*laptop
	for i := range lockers {
		all = append(all, p.laptopOf("user-"+strconv.Itoa(i), "pull", "push"))
	}
	var holders, most, denied atomic.Int32
	var wait sync.WaitGroup
	failed := make(chan error, lockers)
	start := make(chan struct{})
	for i, l := range all {
		wait.Add(1)
		go func() {
			defer wait.Done()
			<-start
			id := "lock-" + strconv.Itoa(i)
			for {
				code, text, err := l.send(t.Context(), "LOCK", "net", "", lockBody(id))
				if err != nil || code != 200 && code != 423 {
					failed <- fmt.Errorf("%s: lock: %d %s, %w", l.user, code, text, err)
					return
				}
				if code == 200 {
					break
				}
				denied.Add(1)
				time.Sleep(rand.N(100 * time.Millisecond))
			}
			most.Store(max(most.Load(), holders.Add(1)))
			err := l.countUp(t.Context(), id)
			holders.Add(-1)
			if err == nil {
				err = l.done(t.Context(), id)
			}
			if err != nil {
				failed <- fmt.Errorf("%s: %w", l.user, err)
			}
		}()
	}
	close(start)
	wait.Wait()
	close(failed)
	for err := range failed {
		t.Error(err)
	}
	if most.Load() != 1 || denied.Load() == 0 {
		t.Errorf("%d had the lock at a time, and %d requests were denied", most.Load(), denied.Load())
	}
	data, err := p.state.Read(t.Context(), client.ObjectKeyFromObject(e.stack))
	must(t, err)
	st := e.stateStatus()
	if n, serial, err := counted(data); err != nil || n != lockers || serial != lockers+1 || st.Version != lockers+1 ||
		st.Lock != nil {
		t.Errorf("counted %d with serial %d, %v; the State is at version %d, its lock %+v", n, serial, err,
			st.Version, st.Lock)
	}
	writers := map[string]bool{}
	for _, v := range st.Versions {
		writers[v.By] = true
	}
	if len(writers) != lockers+1 {
		t.Errorf("%d users wrote", len(writers))
	}
}

// countUp reads a number, and writes the next one.
func (l *laptop) countUp(ctx context.Context, id string) error {
	code, text, err := l.send(ctx, "GET", "net", "", nil)
	if err != nil || code != 200 {
		return fmt.Errorf("read: %d %s, %w", code, text, err)
	}
	n, serial, err := counted([]byte(text))
	if err != nil {
		return err
	}
	if code, text, err = l.send(ctx, "POST", "net", "?ID="+id,
		stateFile(serial+1, "L", strconv.Itoa(n+1))); err != nil || code != 200 {
		return fmt.Errorf("write: %d %s, %w", code, text, err)
	}
	return nil
}

func (l *laptop) done(ctx context.Context, id string) error {
	code, text, err := l.send(ctx, "UNLOCK", "net", "", lockBody(id))
	if err != nil || code != 200 {
		return fmt.Errorf("unlock: %d %s, %w", code, text, err)
	}
	return nil
}

func counted(data []byte) (n, serial int, err error) {
	var file struct {
		Serial  int
		Outputs struct{ X struct{ Value string } }
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return 0, 0, err
	}
	n, err = strconv.Atoi(file.Outputs.X.Value)
	return n, file.Serial, err
}
