//go:build envtest

package server_test

import (
	"net/http"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/test/apiserver"
)

// thief has the token of a runner, and not the key of its session.
func (r *runner) thief(key string) *runner {
	other := *r
	other.session = key
	return &other
}

// recorded are the events since the last call that have a reason.
func (e *env) recorded(reason string) (all []string) {
	for {
		select {
		case event := <-e.events.Events:
			if strings.Contains(event, reason) {
				all = append(all, event)
			}
		default:
			return all
		}
	}
}

// Every request needs the key that the pod was bound to with its first one: those that any attempt may send, and those
// of the current one.
func TestStolenRunnerTokenIsRejected(t *testing.T) {
	e := newEnv(t)
	r, run := e.applying()
	r.lock("a", 200, "")
	requests := []struct{ method, path string }{
		{"GET", "/v1/order"}, {"GET", "/v1/sources/" + e.source}, {"GET", "/v1/state"}, {"POST", "/v1/state?ID=a"},
		{"LOCK", "/v1/state"},
		{"UNLOCK", "/v1/state"}, {"DELETE", "/v1/state"}, {"PUT", "/v1/backend"}, {"PUT", "/v1/rescue"},
		{"PUT", "/v1/plan"},
		{"GET", "/v1/plan/" + e.source}, {"PUT", "/v1/plan/" + e.source + "/document"},
		{"GET", "/v1/plan/" + e.source + "/json"},
		{"POST", "/v1/policy/" + e.source}, {"GET", "/v1/interrupt"}, {"PUT", "/v1/inputs"}, {"GET", "/v1/inputs"},
		{"GET", "/v1/outputs/net/x"}, {"POST", "/v1/outputs"}, {"POST", "/v1/journal?batch=0"}, {"GET", "/v1/journal"},
		{"GET", "/v1/providers/registry.opentofu.org/hashicorp/time/index.json"}, {"POST", "/v1/steps"},
		{"POST", "/v1/logs?offset=0"},
		{"POST", "/v1/operations?offset=0"},
	}
	for _, key := range []string{"", "another key"} {
		for _, request := range requests {
			r.thief(key).expect(http.StatusForbidden, "bound to another process", request.method, request.path,
				stateFile(1, "L", "stolen"))
		}
	}
	if got := e.recorded(v1alpha1.EventTokenMisused); len(got) == 0 {
		t.Error("no event")
	}
	e.fakes.blind = true // the cache does not have the Run yet
	r.thief("another key").expect(http.StatusForbidden, "bound to another process", "GET", "/v1/state", nil)
	e.fakes.blind = false
	r.write("a", stateFile(1, "L", "real"), 200, "")
	r.unlock("a", 200, "")
	finish(e, run)
	r.thief("").expect(http.StatusForbidden, "bound to another process", "PUT", "/v1/rescue",
		stateFile(2, "L", "stolen"))
	r.thief("").expect(http.StatusForbidden, "bound to another process", "POST", "/v1/logs?offset=0", []byte("stolen"))
	r.forced()
	r.thief("another key").expect(http.StatusForbidden, "bound to another process", "PUT", "/v1/rescue",
		stateFile(2, "L", "stolen"))
	e.newPod("net-1-plan-2", run).begin(run, v1alpha1.AttemptPlan).reads(stateFile(1, "L", "real"))
}

// A pod is bound before it gets an order: what runs in it afterwards is too late.
func TestOrderBindsThePod(t *testing.T) {
	e := newEnv(t)
	run := e.newRun(e.stack, "net-1")
	r := e.newPod("net-1-plan-1", run).begin(run, v1alpha1.AttemptPlan)
	e.fakes.order <- runnerapi.Order{Kind: runnerapi.OrderPlan, Attempt: 1, Run: "net-1", Stack: "net"}
	r.expect(200, `"kind":"Plan"`, "GET", "/v1/order", nil)
	r.thief("another key").expect(http.StatusForbidden, "bound to another process", "GET", "/v1/state", nil)
	r.thief("another key").expect(http.StatusForbidden, "bound to another process", "GET", "/v1/order", nil)
	r.expect(http.StatusNotFound, "", "GET", "/v1/state", nil)
}

// The runner of an attempt that was given up may still save a state. It is accepted, and users can see that.
func TestLateRescueIsRecorded(t *testing.T) {
	e := newEnv(t)
	r, run := e.applying()
	r.expect(204, "", "PUT", "/v1/rescue", stateFile(1, "L", "in time"))
	if got := e.recorded(v1alpha1.EventStateRescuedLate); len(got) != 0 {
		t.Errorf("events %q", got)
	}
	lost(e, run)
	st := &v1alpha1.State{}
	must(t, apiserver.Kube.Get(t.Context(), client.ObjectKeyFromObject(e.stack), st))
	code, text := r.do("PUT", "/v1/rescue?base="+st.Status.SHA256, stateFile(2, "L", "late"))
	if code != 204 {
		t.Fatalf("%d %s", code, text)
	}
	if got := e.recorded(v1alpha1.EventStateRescuedLate); len(got) != 1 ||
		!strings.Contains(got[0], "attempt 1 of Run net-1 had ended") {
		t.Errorf("events %q", got)
	}
}
