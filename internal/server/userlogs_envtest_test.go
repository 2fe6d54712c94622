//go:build envtest

package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/userapi"
	"cairn.dev/cairn/test/apiserver"
)

// says appends to the runner's log, at the server of a base URL.
func (r *runner) says(base string, offset int, text string) int {
	r.Helper()
	other := *r
	env := *r.env
	env.url, other.env = base, &env
	other.expect(http.StatusNoContent, "", "POST", fmt.Sprintf("/v1/logs?offset=%d", offset), []byte(text))
	return offset + len(text)
}

// until reads until a text was read, and gives all that was.
func until(t *testing.T, r io.Reader, text string) string {
	t.Helper()
	var got bytes.Buffer
	for !strings.HasSuffix(got.String(), text) {
		if _, err := io.CopyN(&got, r, 1); err != nil {
			t.Fatalf("read %q: %v", got.String(), err)
		}
	}
	return got.String()
}

func TestLogsAreReadFromAnyByteOn(t *testing.T) {
	e := newEnv(t)
	p := e.serveUsers()
	alice := p.someone("alice")
	run := e.newRun(e.stack, "net-1")
	plans := e.newPod("net-1-plan-1", run).begin(run, v1alpha1.AttemptPlan)
	at := plans.says(p.base, 0, "init\n")
	at = plans.says(e.url, at, "plan: 3 to add\n")
	applies := e.newPod("net-1-apply-2", run).begin(run, v1alpha1.AttemptApply)
	applies.says(p.base, 0, "apply\n")
	const first, second = "init\nplan: 3 to add\n", "apply\n"
	if at != len(first) {
		t.Fatal(at)
	}
	for offset := range len(first + second) {
		got, err := readLog(alice.Logs(t.Context(), e.namespace, "net-1", userapi.LogOptions{Offset: int64(offset)}))
		if want := (first + second)[offset:]; err != nil || got != want {
			t.Errorf("from %d: got %q, %v", offset, got, err)
		}
	}
	for attempt, want := range map[int32]string{1: first, 2: second} {
		for offset := range len(want) + 2 {
			got, err := readLog(alice.Logs(t.Context(), e.namespace, "net-1",
				userapi.LogOptions{Attempt: attempt, Offset: int64(offset)}))
			if err != nil || got != want[min(offset, len(want)):] {
				t.Errorf("attempt %d from %d: got %q, %v", attempt, offset, got, err)
			}
		}
	}
	_, err := alice.Logs(t.Context(), e.namespace, "net-1", userapi.LogOptions{Attempt: 3})
	Result(t, err, http.StatusNotFound, "has no attempt 3")
	_, err = alice.Logs(t.Context(), e.namespace, "net-9", userapi.LogOptions{})
	Result(t, err, http.StatusNotFound, "there is no Run net-9")
}

func readLog(r io.ReadCloser, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	return string(data), err
}

// The streams of one user are limited, so that other users can open some.
func TestOneUserCannotUseAllLogStreams(t *testing.T) {
	e := newEnv(t)
	p := e.serveUsers()
	alice, bob := p.someone("alice"), p.someone("bob")
	e.newRun(e.stack, "net-1")
	follow := func(c *userapi.Client) (io.ReadCloser, error) {
		return c.Logs(t.Context(), e.namespace, "net-1", userapi.LogOptions{Follow: true})
	}
	var open []io.ReadCloser
	for {
		log, err := follow(alice)
		if err != nil {
			Result(t, err, http.StatusTooManyRequests, ":alice follows 20 logs and watches already")
			break
		}
		t.Cleanup(func() { _ = log.Close() })
		if open = append(open, log); len(open) > 20 {
			t.Fatal("there is no end")
		}
	}
	must(t, closing(follow(bob)))
	must(t, closing(alice.Logs(t.Context(), e.namespace, "net-1", userapi.LogOptions{})))
	must(t, open[0].Close())
	p.eventually(func() bool { return closing(follow(alice)) == nil })
}

func TestFollowedLogEndsWithTheRun(t *testing.T) {
	e := newEnv(t)
	p := e.serveUsers()
	alice := p.someone("alice")
	run := e.newRun(e.stack, "net-1")
	all, err := alice.Logs(t.Context(), e.namespace, "net-1", userapi.LogOptions{Follow: true})
	must(t, err)
	defer all.Close()

	plans := e.newPod("net-1-plan-1", run).begin(run, v1alpha1.AttemptPlan)
	one, err := alice.Logs(t.Context(), e.namespace, "net-1", userapi.LogOptions{Attempt: 1, Follow: true})
	must(t, err)
	defer one.Close()
	at := plans.says(p.base, 0, "init\n")
	until(t, all, "init\n")
	until(t, one, "init\n")
	at = plans.says(e.url, at, "by another process\n")
	until(t, all, "by another process\n")
	until(t, one, "by another process\n")
	plans.says(p.base, at, "the plan's end\n")
	finish(e, run)
	if rest, err := io.ReadAll(one); err != nil || string(rest) != "the plan's end\n" {
		t.Fatalf("the log of an attempt that is over: %q, %v", rest, err)
	}
	until(t, all, "the plan's end\n")

	applies := e.newPod("net-1-apply-2", run).begin(run, v1alpha1.AttemptApply)
	applies.says(p.base, 0, "applied\n")
	until(t, all, "applied\n")
	finish(e, run)
	run.Status.Phase = v1alpha1.PhaseSucceeded
	must(t, apiserver.Kube.Status().Update(t.Context(), run))
	p.RunChanged(run)
	if rest, err := io.ReadAll(all); err != nil || len(rest) > 0 {
		t.Fatalf("the log of a Run that is finished: %q, %v", rest, err)
	}
}

func TestFollowedLogLosesAndRepeatsNothingWhenServersStop(t *testing.T) {
	e := newEnv(t)
	user, who := e.account("alice")
	e.allow(user, mayAll)
	run := e.newRun(e.stack, "net-1")
	r := e.newPod("net-1-plan-1", run).begin(run, v1alpha1.AttemptPlan)
	var want, got strings.Builder
	at := 0
	for i := range 3 {
		p := e.serveUsers()
		c := p.as(who)
		p.authorized(c)
		log, err := c.Logs(t.Context(), e.namespace, "net-1", userapi.LogOptions{Offset: int64(got.Len()),
			Follow: true})
		must(t, err)
		line := fmt.Sprintf("line %d\n", i)
		at = r.says(p.base, at, line)
		want.WriteString(line)
		got.WriteString(until(t, log, "\n"))
		late := fmt.Sprintf("said while a server stops %d", i)
		at = r.says(p.base, at, late)
		want.WriteString(late)
		p.stop() // in time, or it says so
		rest, err := io.ReadAll(log)
		if err == nil {
			t.Error("a log that goes on ends as if it were over")
		}
		got.Write(rest)
		log.Close()
	}
	p := e.serveUsers()
	p.authorized(p.as(who))
	finish(e, run)
	log, err := p.as(who).Logs(t.Context(), e.namespace, "net-1",
		userapi.LogOptions{Attempt: 1, Offset: int64(got.Len()), Follow: true})
	rest, err := readLog(log, err)
	must(t, err)
	got.WriteString(rest)
	if got.String() != want.String() {
		t.Errorf("got %q; want %q", got.String(), want.String())
	}
}

func TestClosedLogStreamIsReleased(t *testing.T) {
	e := newEnv(t)
	p := e.serveUsers()
	alice := p.someone("alice")
	run := e.newRun(e.stack, "net-1")
	r := e.newPod("net-1-plan-1", run).begin(run, v1alpha1.AttemptPlan)
	ctx, hangUp := context.WithCancel(t.Context())
	log, err := alice.Logs(ctx, e.namespace, "net-1", userapi.LogOptions{Follow: true})
	must(t, err)
	defer log.Close()
	r.says(p.base, 0, "text\n")
	until(t, log, "text\n")
	hangUp()
	p.eventually(func() bool { return p.log.line("msg=request", "/runs/net-1/logs", "code=200", ":alice") != "" })
}

func TestFollowedLogEndsWhenItsRunIsDeleted(t *testing.T) {
	e := newEnv(t)
	p := e.serveUsers()
	alice := p.someone("alice")
	run := e.newRun(e.stack, "net-1")
	log, err := alice.Logs(t.Context(), e.namespace, "net-1", userapi.LogOptions{Follow: true})
	must(t, err)
	must(t, apiserver.Kube.Delete(t.Context(), run))
	if got, err := readLog(log, nil); err != nil || got != "" {
		t.Errorf("got %q, %v", got, err)
	}
}

// A browser reads a log as events, and goes on where it was.
func TestUsersReadLogsAsEvents(t *testing.T) {
	e := newEnv(t)
	p := e.serveUsers()
	user, who := e.account("alice")
	e.allow(user, may("get", "runs/logs"), may("pull", "states"))
	p.authorized(p.as(who))
	r, run := e.applying()
	_, err := r.client().AppendLog(t.Context(), 0, []byte("first\nsecond\n"))
	must(t, err)
	path := "/api/v1/namespaces/" + e.namespace + "/runs/" + run.Name + "/logs?attempt=1&follow=true"
	s := p.stream(who, path, "")
	event, data := s.next()
	if event != "log" || data != `{"text":"first\nsecond\n"}` || s.id != "13" {
		t.Fatalf("%s %s, at %s", event, data, s.id)
	}
	s.close()
	s = p.stream(who, path, "6")
	if event, data := s.next(); event != "log" || data != `{"text":"second\n"}` {
		t.Errorf("%s %s", event, data)
	}
}

// What an apply does to each resource is read as a log is, beside it.
func TestOperationsAreReadWhileAnApplyRuns(t *testing.T) {
	e := newEnv(t)
	p := e.serveUsers()
	user, who := e.account("alice")
	e.allow(user, may("get", "runs/logs"), may("pull", "states"))
	p.authorized(p.as(who))
	r, run := e.applying()
	add := func(offset int64, line string) int64 {
		next, err := r.client().AppendOperations(t.Context(), offset, []byte(line))
		must(t, err)
		return next
	}
	const started, succeeded = `{"address":"a.b","state":"Started"}` + "\n", `{"address":"a.b","state":"Succeeded"}` +
		"\n"
	at := add(0, started)
	_, err := r.client().AppendLog(t.Context(), 0, []byte("a line of the log\n"))
	must(t, err)
	logs := "/api/v1/namespaces/" + e.namespace + "/runs/" + run.Name + "/logs?"
	s := p.stream(who, logs+"attempt=1&of=operations&follow=true", "")
	text := func() string {
		event, data := s.next()
		var piece userapi.LogPiece
		if err := json.Unmarshal([]byte(data), &piece); err != nil || event != "log" {
			t.Fatalf("%s %s", event, data)
		}
		return piece.Text
	}
	if got := text(); got != started {
		t.Errorf("got %q", got)
	}
	add(at, succeeded)
	if got := text(); got != succeeded {
		t.Errorf("got %q", got)
	}
	s.close()

	b := p.browser().signIn(who)
	b.want(200, "a line of the log", "GET", logs+"attempt=1", nil)
	b.want(400, "there is only operations, of an attempt", "GET", logs+"of=operations", nil)
	b.want(400, "there is only operations, of an attempt", "GET", logs+"attempt=1&of=others", nil)
	b.want(404, "has no attempt 7", "GET", logs+"attempt=7&of=operations", nil)
	stranger, none := e.account("bob")
	e.allow(stranger, may("get", "runs"), may("pull", "states"))
	p.authorized(p.as(none))
	p.browser().signIn(none).want(403, "get", "GET", logs+"attempt=1&of=operations", nil)

	r.expect(409, fmt.Sprint(at+int64(len(succeeded))), "POST", "/v1/operations?offset=99999", []byte("x"))
	end := int64(len(started) + len(succeeded))
	for end < runnerapi.LargestOperations {
		end = add(end, strings.Repeat("x", int(min(1<<20, runnerapi.LargestOperations-end))))
	}
	r.expect(413, "ends at 8388608 bytes", "POST", fmt.Sprintf("/v1/operations?offset=%d", end), []byte("x"))
}
