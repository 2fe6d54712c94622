//go:build envtest

package server_test

import (
	"context"
	"slices"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	poll "k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/auth"
	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/test/apiserver"
)

// forced deletes a runner's pod by force, as users do who do not wait for a node, and waits until the API server
// refuses its token.
func (r *runner) forced() {
	r.Helper()
	r.kill()
	must(r.T, poll.PollUntilContextTimeout(r.Context(), 100*time.Millisecond, 2*time.Minute, true,
		func(ctx context.Context) (bool, error) {
			review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: r.token,
				Audiences: []string{runnerapi.Audience}}}
			err := apiserver.Kube.Create(ctx, review)
			return !review.Status.Authenticated, err
		}))
}

// lost ends the last attempt of a Run as the operator does when its pod is gone.
func lost(e *env, run *v1alpha1.Run) {
	e.Helper()
	run.Status.Attempts[len(run.Status.Attempts)-1].Failure = &v1alpha1.Failure{Class: v1alpha1.FailurePodLost,
		Message: "its pod is gone"}
	finish(e, run)
}

// A pod that is deleted by force may run on: the server accepts what it saves until its token expires, and nothing
// else. The server has never seen the token, as after a restart.
func TestRunnerSavesItsStateAfterItsPodIsDeleted(t *testing.T) {
	e := newEnv(t)
	r, run := e.applying()
	must(t, second(e.state.Lock(t.Context(), client.ObjectKeyFromObject(e.stack), holderOf(r), lockOf("a"))))
	r.forced()

	batch := []byte(`{"entries":[{"address":"aws_vpc.a","type":"aws_vpc","action":"create","idKey":"id","id":"vpc-1"}]}`)
	for _, other := range []struct{ method, path string }{
		{"GET", "/v1/order"}, {"GET", "/v1/state"}, {"POST", "/v1/state?ID=a"}, {"LOCK", "/v1/state"},
		{"UNLOCK", "/v1/state"},
		{"DELETE", "/v1/state"}, {"GET", "/v1/journal"}, {"POST", "/v1/steps"}, {"POST", "/v1/logs?offset=0"},
		{"POST", "/v1/operations?offset=0"}, {"PUT", "/v1/plan"},
		{"GET", "/v1/plan/" + e.source}, {"PUT", "/v1/inputs"}, {"GET", "/v1/inputs"}, {"POST", "/v1/outputs"},
		{"GET", "/v1/outputs/net/x"}, {"GET", "/v1/interrupt"}, {"GET", "/v1/sources/" + e.source},
		{"POST", "/v1/policy/" + e.source},
	} {
		r.expect(401, "not valid", other.method, other.path, nil)
	}
	r.expect(204, "", "POST", "/v1/journal?batch=0", batch)
	lost(e, run)
	r.expect(204, "", "POST", "/v1/journal?batch=1", batch)
	r.expect(204, "", "PUT", "/v1/rescue", stateFile(1, "L", "rescued"))
	next := e.newPod("net-1-plan-2", run).begin(run, v1alpha1.AttemptPlan)
	next.reads(stateFile(1, "L", "rescued"))
	got, err := next.client().Journal(t.Context())
	must(t, err)
	// beside them is what the plan noted
	made := slices.DeleteFunc(slices.Clone(got.Entries), func(e runnerapi.JournalEntry) bool {
		return e.Action != string(engine.Create)
	})
	if len(made) != 2 {
		t.Errorf("journal %+v", got.Entries)
	}
}

// A runner that may still save is fenced as before: after a later attempt started, it changes nothing.
func TestRunnerWhosePodIsDeletedCanOnlySave(t *testing.T) {
	e := newEnv(t)
	first, run := e.applying()
	first.forced()
	lost(e, run)
	second := e.newPod("net-1-apply-2", run).begin(run, v1alpha1.AttemptApply)
	second.lock("b", 200, "")
	second.write("b", stateFile(5, "L", "second"), 200, "")

	first.expect(403, "not the current one", "POST", "/v1/journal?batch=0", []byte(`{"entries":[]}`))
	for _, late := range [][]byte{stateFile(6, "L", "late"), stateFile(4, "L", "late"), stateFile(6, "M", "late")} {
		code, text := first.do("PUT", "/v1/rescue", late)
		if code != 409 && code != 204 && code != 200 { // 200: kept as a fork, which is written onto nothing
			t.Errorf("got %d %s", code, text)
		}
	}
	second.reads(stateFile(5, "L", "second"))
	second.write("b", stateFile(6, "L", "second"), 200, "")
	second.unlock("b", 200, "")
	second.reads(stateFile(6, "L", "second"))

	// The number of another attempt, or the pod of another attempt, is rejected.
	first.attempt = 2
	first.expect(403, "names no attempt 2 of this pod", "PUT", "/v1/rescue", stateFile(7, "L", "late"))
	stranger := e.newPod("stranger", run)
	stranger.forced()
	stranger.expect(403, "no Run names pod stranger", "PUT", "/v1/rescue", stateFile(7, "L", "late"))
	plan := e.newRun(e.newStack("db"), "db-1")
	planner := e.newPod("db-1-plan-1", plan).begin(plan, v1alpha1.AttemptPlan)
	planner.forced()
	planner.expect(403, "neither locks nor writes", "PUT", "/v1/rescue", stateFile(7, "L", "late"))
}

// The Run and the pod may both be gone: who holds the lock is known by that.
func TestLockHolderSavesAfterRunAndPodAreDeleted(t *testing.T) {
	e := newEnv(t)
	r, run := e.applying()
	must(t, second(e.state.Lock(t.Context(), client.ObjectKeyFromObject(e.stack), holderOf(r), lockOf("a"))))
	must(t, apiserver.Kube.Delete(t.Context(), run))
	r.forced()
	r.expect(204, "", "PUT", "/v1/rescue", stateFile(1, "L", "rescued"))
	st := &v1alpha1.State{}
	must(t, apiserver.Kube.Get(t.Context(), client.ObjectKeyFromObject(e.stack), st))
	if st.Status.Serial != 1 {
		t.Errorf("status %+v", st.Status)
	}
}

func TestTokenOfADeletedPodIsValidUntilItExpires(t *testing.T) {
	e := newEnv(t)
	config, _ := e.cairn()
	r := e.newPod("net-1-apply-1", nil)
	other := e.token("other", r.pod)
	r.forced()
	want := auth.Pod{Namespace: e.namespace, Name: r.pod.Name, UID: r.pod.UID}
	in := func(d time.Duration) *auth.DeletedPods {
		return auth.NewDeletedPods(config, func() time.Time { return time.Now().Add(d) })
	}
	if got, err := in(0).VerifyPod(t.Context(), r.token); err != nil || got != want {
		t.Errorf("got %v, %v", got, err)
	}
	for name, err := range map[string]error{
		"one that has expired":     second(in(24*time.Hour).VerifyPod(t.Context(), r.token)),
		"one for another audience": second(in(0).VerifyPod(t.Context(), other)),
		"one that was changed":     second(in(0).VerifyPod(t.Context(), r.token[:len(r.token)-6]+"AAAAAA")),
	} {
		if code, text := httpapi.StatusOf(err); code != 401 {
			t.Errorf("%s: got %d %s", name, code, text)
		}
	}
}

// Where no ServiceAccount may read the issuer, the result of the review counts. While the issuer is unavailable, no
// token is rejected.
func TestClusterWithoutIssuerDiscovery(t *testing.T) {
	e := newEnv(t)
	r := e.newPod("net-1-apply-1", nil)
	unprivileged := rest.CopyConfig(apiserver.Config)
	unprivileged.Impersonate = rest.ImpersonationConfig{UserName: "nobody", Groups: []string{"system:authenticated"}}
	away := rest.CopyConfig(apiserver.Config)
	away.Host = "https://127.0.0.1:1"
	for want, config := range map[int]*rest.Config{401: unprivileged, 503: away} {
		now := time.Now()
		gone := auth.NewDeletedPods(config, func() time.Time { return now })
		for range 2 {
			if code, text := httpapi.StatusOf(second(gone.VerifyPod(t.Context(), r.token))); code != want {
				t.Errorf("got %d %s, want %d", code, text, want)
			}
		}
	}
}

func holderOf(r *runner) decision.Holder {
	return decision.Holder{Run: "net-1", Attempt: r.attempt, PodUID: r.pod.UID}
}

func lockOf(id string) decision.LockRequest { return decision.LockRequest{ID: id, Who: "runner@pod"} }
