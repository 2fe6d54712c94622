//go:build envtest

package server_test

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/test/apiserver"
)

func bucketOf(name string) *v1alpha1.Backend {
	return &v1alpha1.Backend{Type: "s3",
		Config: map[string]apiextensionsv1.JSON{"bucket": {Raw: []byte(`"` + name + `"`)}}}
}

func TestStateFollowsItsStacksBackend(t *testing.T) {
	e := newEnv(t)
	run := e.newRun(e.stack, "net-1")
	r := e.newPod("net-1-plan-1", run).begin(run, v1alpha1.AttemptPlan)
	r.expect(403, "created for a Stack without spec.backend", "PUT", "/v1/backend?type=s3", stateFile(1, "L", ""))
	e.fakes.backend = bucketOf("states")
	r.expect(400, "is not the type", "PUT", "/v1/backend?type=gcs", stateFile(1, "L", ""))
	r.expect(400, "is not the type", "PUT", "/v1/backend?type=S%203", stateFile(1, "L", ""))
	r.expect(200, "{}", "PUT", "/v1/backend?type=s3", nil)
	r.expect(400, "what backend s3 has is not a state file", "PUT", "/v1/backend?type=s3", []byte("half a st"))
	r.expect(200, `{"wrote":true}`, "PUT", "/v1/backend?type=s3", stateFile(3, "L", "elsewhere"))
	r.expect(200, "{}", "PUT", "/v1/backend?type=s3", stateFile(3, "L", "elsewhere"))
	r.reads(stateFile(3, "L", "elsewhere"))
	r.expect(409, "an older state (serial 2)", "PUT", "/v1/backend?type=s3", stateFile(2, "L", "elsewhere"))
	r.expect(409, "no state there", "PUT", "/v1/backend?type=s3", nil)
	r.expect(200, `{"wrote":true}`, "PUT", "/v1/backend?type=s3", stateFile(9, "L", "later"))
	st := &v1alpha1.State{}
	must(t, apiserver.Kube.Get(t.Context(), client.ObjectKeyFromObject(e.stack), st))
	if s := st.Status; s.Version != 2 || s.UpdatedBy != run.Name || s.Backend == nil ||
		*s.Backend != (v1alpha1.StateBackend{Type: "s3", Version: 2, Serial: 9}) {
		t.Errorf("%+v", s)
	}
}

// TestPlanReadsWhatAnotherServerFollowed checks a plan that got its order from this server, while another one wrote
// what the backend has.
func TestPlanReadsWhatAnotherServerFollowed(t *testing.T) {
	e := newEnv(t)
	e.fakes.backend = bucketOf("states")
	run := e.newRun(e.stack, "net-1")
	r := e.newPod("net-1-plan-1", run).begin(run, v1alpha1.AttemptPlan)
	r.expect(200, `{"wrote":true}`, "PUT", "/v1/backend?type=s3", stateFile(3, "L", "elsewhere"))
	e.fakes.order <- runnerapi.Order{Kind: runnerapi.OrderPlan, Attempt: 1, Stack: "net", Run: run.Name,
		Namespace: e.namespace, Backend: &runnerapi.Backend{Type: "s3"}}
	r.expect(200, `"kind":"Plan"`, "GET", "/v1/order", nil)
	other := state.New(apiserver.Kube, apiserver.Kube, e.bucket, state.Options{Fingerprint: e.keys.Fingerprint})
	me := decision.Holder{Run: run.Name, Attempt: 1, PodUID: r.pod.UID}
	_, _, err := other.Follow(t.Context(), client.ObjectKeyFromObject(e.stack), me, "s3", stateFile(9, "L", "later"))
	must(t, err)
	r.reads(stateFile(9, "L", "later"))
}

// Cairn's own lock rejects a second apply, whatever the lock of the backend does. A Stack whose backend was removed
// gets no lock.
func TestApplyWithABackendHoldsBothLocks(t *testing.T) {
	e := newEnv(t)
	e.fakes.backend = bucketOf("states")
	r, run := e.applying()
	r.expect(423, "does not hold the state's lock", "PUT", "/v1/backend?type=s3", stateFile(1, "L", ""))
	r.lock("a", 200, "")
	r.expect(200, `{"wrote":true}`, "PUT", "/v1/backend?type=s3", stateFile(1, "L", ""))
	second := e.newPod("net-1-apply-2", run).begin(run, v1alpha1.AttemptApply)
	second.expect(423, "does not hold the state's lock", "PUT", "/v1/backend?type=s3", stateFile(2, "L", ""))
	r.expect(403, "attempt 1 is not the current one", "PUT", "/v1/backend?type=s3", stateFile(2, "L", ""))
	r.kill()
	e.fakes.backend = nil
	second.lock("b", 423, "the state is in backend s3, and the Stack names no backend")
	e.fakes.backend = bucketOf("states")
	second.lock("b", 200, "")
}

// A version is pushed to the backend when a user requests it, or when Cairn knows why it is newer. A serial that only
// the engine increased meanwhile is no difference.
func TestVersionIsPushedToTheBackend(t *testing.T) {
	e := newEnv(t)
	r, run := e.applying()
	r.lock("a", 200, "")
	r.write("a", stateFile(5, "L", "ours"), 200, "")
	r.unlock("a", 200, "")
	e.fakes.backend = bucketOf("states")
	plan := e.newPod("net-1-plan-2", run).begin(run, v1alpha1.AttemptPlan)
	plan.expect(409, "cairn state migrate", "PUT", "/v1/backend?type=s3", nil)
	st := &v1alpha1.State{}
	must(t, apiserver.Kube.Get(t.Context(), client.ObjectKeyFromObject(e.stack), st))
	st.Status.Move = &v1alpha1.StateMove{Version: 1, By: "alice", At: metav1.Now()}
	must(t, apiserver.Kube.Update(t.Context(), st))
	plan.expect(200, `{"push":true}`, "PUT", "/v1/backend?type=s3", nil)
	plan.expect(409, "lineage M", "PUT", "/v1/backend?type=s3", stateFile(1, "M", "another"))
	plan.expect(200, `{"push":true,"force":true}`, "PUT", "/v1/backend?type=s3", stateFile(1, "M", "ours"))
	plan.expect(200, `{"wrote":true,"moved":"alice"}`, "PUT", "/v1/backend?type=s3", stateFile(6, "L", "ours"))
	must(t, apiserver.Kube.Get(t.Context(), client.ObjectKeyFromObject(e.stack), st))
	if s := st.Status; s.Version != 2 || s.Serial != 6 || s.Move != nil || s.Backend.Version != 2 {
		t.Errorf("%+v", s)
	}
}
