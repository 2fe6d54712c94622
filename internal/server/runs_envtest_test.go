//go:build envtest

package server_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/artifact"
	"cairn.dev/cairn/test/apiserver"
)

// client is the runner's own.
func (r *runner) client() *runnerapi.Client {
	r.Helper()
	file := filepath.Join(r.TempDir(), "token")
	must(r.T, os.WriteFile(file, []byte(r.token), 0o600))
	c, err := runnerapi.NewClient(runnerapi.ClientOptions{URL: r.url, CA: r.keys.Bundle(), TokenFile: file,
		Session: r.session})
	must(r.T, err)
	return c.For(r.attempt, 0)
}

func TestOrderIsSentAtOnce(t *testing.T) {
	e := newEnv(t)
	r := e.newPod("net-1-plan-1", nil) // its Run does not name it yet
	got := make(chan string, 1)
	go func() {
		_, text := r.do("GET", "/v1/order?after=0", nil)
		got <- text
	}()
	e.fakes.order <- runnerapi.Order{Kind: runnerapi.OrderApply, Attempt: 3, Stack: "net"}
	if text := <-got; !strings.Contains(text, `"kind":"Apply","attempt":3`) {
		t.Fatalf("got %s", text)
	}
	r.expect(200, `"kind":"Wait"`, "GET", "/v1/order?wait=1ms", nil)
	r.expect(400, "not a duration", "GET", "/v1/order?wait=x", nil)
	r.expect(400, "not the number", "GET", "/v1/order?after=-1", nil)
	r.token = ""
	r.expect(401, "", "GET", "/v1/order", nil)
}

func TestConcurrentOrderRequestsOfAPodAreLimited(t *testing.T) {
	e := newEnv(t)
	e.newPod("net-1-plan-1", nil).waits(4, "/v1/order", func() {
		e.fakes.order <- runnerapi.Order{Kind: runnerapi.OrderExit}
	})
}

// waits sends more concurrent long polls than a pod may.
func (r *runner) waits(most int, path string, say func()) {
	r.Helper()
	const more = 2
	codes := make(chan int, most+more)
	for range cap(codes) {
		go func() {
			code, _ := r.do("GET", path, nil)
			codes <- code
		}()
	}
	for range more {
		if code := <-codes; code != http.StatusTooManyRequests {
			r.Fatalf("got %d", code)
		}
	}
	for range most {
		say()
		if code := <-codes; code != http.StatusOK {
			r.Fatalf("got %d", code)
		}
	}
}

func TestPlanIsOrderedAfterARescuedStateIsStored(t *testing.T) {
	e := newEnv(t)
	first, run := e.applying()
	second := e.newPod("net-1-apply-2", run).begin(run, v1alpha1.AttemptApply)
	second.lock("b", 200, "")
	first.expect(204, "", "PUT", "/v1/rescue", stateFile(1, "L", "rescued"))
	third := e.newPod("net-1-plan-3", run).begin(run, v1alpha1.AttemptPlan)
	plan := runnerapi.Order{Kind: runnerapi.OrderPlan, Attempt: 3, Stack: "net", Run: "net-1", Namespace: e.namespace}

	// While a pod that may live holds the lock there is no plan, and the Run says why.
	e.fakes.order <- plan
	third.expect(200, `"kind":"Wait"`, "GET", "/v1/order", nil)
	report := <-e.fakes.reports
	if f := report.Done.Failure; f.Class != "Transient" || !strings.Contains(f.Message, "locked by attempt 2") {
		t.Fatalf("reported %+v", f)
	}
	second.kill()
	e.fakes.order <- plan
	third.expect(200, `"kind":"Plan"`, "GET", "/v1/order", nil)
	third.reads(stateFile(1, "L", "rescued"))
}

// Between a plan and its apply Kubernetes may have gone back in time.
func TestRunDoesNotStartOnARolledBackState(t *testing.T) {
	for _, kind := range []runnerapi.OrderKind{runnerapi.OrderPlan, runnerapi.OrderApply, runnerapi.OrderShell} {
		t.Run(string(kind), func(t *testing.T) {
			e := newEnv(t)
			first, run := e.applying()
			first.lock("a", 200, "")
			first.write("a", stateFile(1, "L", ""), 200, "")
			first.unlock("a", 200, "")
			st := &v1alpha1.State{}
			must(t, apiserver.Kube.Get(t.Context(), client.ObjectKeyFromObject(e.stack), st))
			st.Finalizers = nil
			must(t, apiserver.Kube.Update(t.Context(), st))
			must(t, apiserver.Kube.Delete(t.Context(), st))

			second := e.newPod("net-1-apply-2", run).begin(run, v1alpha1.AttemptApply)
			e.fakes.order <- runnerapi.Order{Kind: kind, Attempt: 2, Stack: "net", Run: "net-1", Namespace: e.namespace}
			second.expect(200, fmt.Sprintf(`"kind":%q`, kind), "GET", "/v1/order", nil)
			second.reads(stateFile(1, "L", ""))
		})
	}
}

func TestReports(t *testing.T) {
	e := newEnv(t)
	r, run := e.applying()
	step := func(n int) []byte {
		data, _ := json.Marshal(runnerapi.Report{Steps: make([]runnerapi.Step, n)})
		return data
	}
	began := time.Now()
	for n := 1; n <= 3; n++ {
		r.expect(204, "", "POST", "/v1/steps", step(n))
	}
	got := <-e.fakes.reports
	if time.Since(began) < 900*time.Millisecond {
		t.Fatalf("%d steps after %s", len(got.Steps), time.Since(began))
	}
	for len(got.Steps) < 3 { // one of before that is written by itself when a second was over by then
		got = <-e.fakes.reports
	}
	r.expect(400, "not what was expected", "POST", "/v1/steps", []byte("{"))
	r.expect(413, "", "POST", "/v1/steps", make([]byte, 5<<20))

	done := func(plan *runnerapi.Plan) []byte {
		data, _ := json.Marshal(runnerapi.Report{Done: &runnerapi.Done{Plan: plan}})
		return data
	}
	r.expect(400, "not the digest", "POST", "/v1/steps", done(&runnerapi.Plan{Digest: "sha256:../../x"}))
	r.expect(409, "is not kept", "POST", "/v1/steps", done(&runnerapi.Plan{Digest: e.source}))
	r.expect(204, "", "POST", "/v1/steps", done(nil))
	if got := <-e.fakes.reports; got.Done == nil {
		t.Fatalf("got %+v", got)
	}
	finish(e, run)
	r.expect(403, "is finished", "POST", "/v1/steps", step(1))
	r.expect(204, "", "POST", "/v1/steps", done(nil)) // the answer to it was lost
	<-e.fakes.reports
	run.Status.Attempts[0].Failure = &v1alpha1.Failure{Class: v1alpha1.FailurePodLost, Message: "the pod went away"}
	must(t, apiserver.Kube.Status().Update(t.Context(), run))
	r.expect(403, "given up: the pod went away", "POST", "/v1/steps", done(nil))
	if len(e.fakes.reports) > 0 {
		t.Fatal("a report that was refused is passed on")
	}
}

func TestPlanIsStoredUnchanged(t *testing.T) {
	e := newEnv(t)
	run := e.newRun(e.stack, "net-1")
	r := e.newPod("net-1-plan-1", run).begin(run, v1alpha1.AttemptPlan)
	for _, size := range []int{10, 5 << 20} {
		plan := make([]byte, size)
		rand.Read(plan)
		kept, err := r.client().PutPlan(t.Context(), bytes.NewReader(plan), int64(size))
		if err != nil || kept.Digest != inputs.Digest(plan) {
			t.Fatalf("kept as %s: %v", kept.Digest, err)
		}
		r.expect(403, "is not the plan of Run net-1", "GET", "/v1/plan/"+kept.Digest, nil)
		run.Status.Plan = &v1alpha1.Plan{Digest: kept.Digest}
		must(t, apiserver.Kube.Status().Update(t.Context(), run))
		file, err := os.Create(filepath.Join(t.TempDir(), "plan"))
		must(t, err)
		must(t, r.client().Plan(t.Context(), kept.Digest, file, 1<<30))
		got, err := os.ReadFile(file.Name())
		if err != nil || !bytes.Equal(got, plan) {
			t.Fatalf("%d bytes came back as %d: %v", len(plan), len(got), err)
		}
		file.Close()
	}
	must(t, e.bucket.DeletePrefix(t.Context(), "plans"))
	r.expect(404, "not found", "GET", "/v1/plan/"+run.Status.Plan.Digest, nil)
}

func TestRunnerDownloadsOnlyItsRunsSource(t *testing.T) {
	e := newEnv(t)
	r, _ := e.applying()
	r.expect(200, "the code", "GET", "/v1/sources/"+e.source, nil)
	other := inputs.Digest([]byte("another team's code"))
	must(t, e.bucket.Put(t.Context(), "sources/"+other, []byte("another team's code")))
	r.expect(403, "is not the source", "GET", "/v1/sources/"+other, nil)
	r.expect(403, "is not the source", "GET", "/v1/sources/..%2Finputs%2F"+e.inputs, nil)
}

func TestLogChunkIsAppendedOnlyAtTheEnd(t *testing.T) {
	e := newEnv(t)
	r, run := e.applying()
	c := r.client()
	for _, step := range []struct {
		offset int64
		text   string
		next   int64
	}{
		{0, "hello ", 6}, {0, "hello ", 6}, {6, "world", 11}, {20, "gap", 11}, {3, "lo world and", 11},
	} {
		next, err := c.AppendLog(t.Context(), step.offset, []byte(step.text))
		if err != nil || next != step.next {
			t.Fatalf("append %q at %d: next %d, %v", step.text, step.offset, next, err)
		}
	}
	r.expect(409, "11", "POST", "/v1/logs?offset=99", []byte("x"))
	r.expect(413, "", "POST", "/v1/logs?offset=11", make([]byte, 2<<20))
	r.expect(400, "", "POST", "/v1/logs", []byte("x"))
	finish(e, run)
	r.expect(204, "", "POST", "/v1/logs?offset=11", []byte("!")) // the tail comes after the last report
	logs, folder := artifact.NewLogs(e.bucket), artifact.AttemptLogFolder(e.namespace, run.UID, 1)
	for got := ""; got != "hello world!"; {
		data, _, err := logs.ReadAt(t.Context(), folder, int64(len(got)), true)
		if err != nil || len(data) == 0 {
			t.Fatalf("got %q, %v", got, err)
		}
		got += string(data)
	}
}

func TestStoppingServerReleasesRunnersAndLosesNoReport(t *testing.T) {
	e := newEnv(t)
	r, _ := e.applying()
	answers := make(chan string, 1)
	go func() {
		_, text := r.do("GET", "/v1/order", nil)
		answers <- text
	}()
	<-e.fakes.asked
	r.expect(204, "", "POST", "/v1/steps", []byte(`{"steps":[{"name":"apply"}]}`))
	began := time.Now()
	e.stop()
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("stopped after %s", took)
	}
	if text := <-answers; !strings.Contains(text, `"kind":"Wait"`) {
		t.Errorf("a runner that waited received %s", text)
	}
	if got := <-e.fakes.reports; len(got.Steps) != 1 {
		t.Errorf("reported %+v", got)
	}
}

func TestUnknownPathIsNotFound(t *testing.T) {
	e := newEnv(t)
	r, _ := e.applying()
	r.expect(404, "there is no /v1/nothing", "GET", "/v1/nothing", nil)
	answer, err := e.http.Get(fmt.Sprintf("%s/v1/state", e.url))
	must(t, err)
	answer.Body.Close()
	if answer.StatusCode != http.StatusUnauthorized {
		t.Fatalf("got %d", answer.StatusCode)
	}
}
