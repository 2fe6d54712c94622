//go:build envtest

package server_test

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"sync"
	"testing"

	"cairn.dev/cairn/test/apiserver"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
)

func TestApplyLocksWritesAndUnlocks(t *testing.T) {
	e := newEnv(t)
	r, run := e.applying()
	r.expect(404, "", "GET", "/v1/state", nil)
	r.lock("a", 200, "")
	r.lock("a", 200, "") // its answer was lost
	r.expect(404, "", "GET", "/v1/state", nil)
	for range 2 {
		r.write("a", stateFile(1, "L", "one"), 200, "")
	}
	r.reads(stateFile(1, "L", "one"))
	r.unlock("a", 200, "")
	r.unlock("a", 200, "")
	r.expect(405, "delete Stack net", "DELETE", "/v1/state", nil)
	st := &v1alpha1.State{}
	must(t, apiserver.Kube.Get(t.Context(), client.ObjectKeyFromObject(e.stack), st))
	if s := st.Status; s.Version != 1 || s.UpdatedBy != run.Name || s.InputsDigest != e.inputs ||
		s.Versions[0].Attempt != 1 {
		t.Fatalf("status %+v", s)
	}
}

func TestStaleWriterIsRejected(t *testing.T) {
	e := newEnv(t)
	r, _ := e.applying()
	r.write("a", stateFile(1, "L", ""), 423, "the state is not locked")
	r.lock("a", 200, "")
	r.write("a", stateFile(5, "L", ""), 200, "")
	r.write("b", stateFile(6, "L", ""), 423, "locked under ID a")
	r.write("", stateFile(6, "L", ""), 423, "locked under ID a")
	r.write("a", stateFile(4, "L", ""), 409, "serial 5")
	r.write("a", stateFile(5, "L", "other"), 409, "serial 5")
	r.write("a", stateFile(6, "M", ""), 409, "lineage L")
	r.write("a", []byte("half a st"), 400, "not a state file")
	r.unlock("b", 423, "locked under ID a")
	r.reads(stateFile(5, "L", ""))
	r.write("a", stateFile(6, "L", ""), 200, "")
}

func TestPlanCannotWriteState(t *testing.T) {
	e := newEnv(t)
	run := e.newRun(e.stack, "net-1")
	r := e.newPod("net-1-plan-1", run).begin(run, v1alpha1.AttemptPlan)
	r.expect(404, "", "GET", "/v1/state", nil)
	r.lock("a", 403, "neither locks nor writes")
	r.write("a", stateFile(1, "L", ""), 403, "neither locks nor writes")
	r.expect(403, "neither locks nor writes", "PUT", "/v1/rescue", stateFile(1, "L", ""))
}

func TestReplacedAttemptIsRejectedDespiteItsLock(t *testing.T) {
	e := newEnv(t)
	first, run := e.applying()
	first.lock("a", 200, "")
	first.write("a", stateFile(1, "L", ""), 200, "")

	second := e.newPod("net-1-apply-2", run).begin(run, v1alpha1.AttemptApply)
	first.write("a", stateFile(2, "L", ""), 403, "attempt 1 is not the current one")
	second.lock("b", 423, `"Who":"runner@pod"`)
	_, text := second.do("LOCK", "/v1/state", []byte(`{"ID":"b"}`))
	var info struct{ ID, Info string }
	if err := json.Unmarshal([]byte(text), &info); err != nil || info.ID != "a" || info.Info == "" {
		t.Fatalf("an engine cannot read who holds the lock: %s", text)
	}
	second.write("a", stateFile(2, "L", ""), 423, "held by attempt 1")
	second.unlock("a", 423, "held by attempt 1")

	// The second one's number does not help the first one's pod, nor the other way round.
	first.attempt = 2
	first.write("a", stateFile(2, "L", ""), 403, "another pod's")
	first.lock("a", 403, "another pod's")
	first.attempt = 1

	first.kill()
	second.lock("b", 200, "")
	second.write("b", stateFile(2, "L", ""), 200, "")
	first.write("a", stateFile(3, "L", ""), 403, "") // its token is still believed
	first.unlock("a", 423, "")
	second.reads(stateFile(2, "L", ""))
}

func TestPodThatEndedLosesItsLock(t *testing.T) {
	e := newEnv(t)
	first, run := e.applying()
	first.lock("a", 200, "")
	second := e.newPod("net-1-apply-2", run).begin(run, v1alpha1.AttemptApply)
	second.lock("b", 423, "")
	first.pod.Status.Phase = corev1.PodFailed // which a kubelet that starts anew may write before it ends what runs
	must(t, apiserver.Kube.Status().Update(t.Context(), first.pod))
	second.lock("b", 423, "")
	first.pod.Status.ContainerStatuses = []corev1.ContainerStatus{
		{Name: "engine", Image: "engine",
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137}}}}
	must(t, apiserver.Kube.Status().Update(t.Context(), first.pod))
	second.lock("b", 200, "")
}

func TestFinishedAttemptCanOnlySaveAndUnlock(t *testing.T) {
	e := newEnv(t)
	r, run := e.applying()
	r.lock("a", 200, "")
	r.write("a", stateFile(1, "L", ""), 200, "")
	finish(e, run)
	r.write("a", stateFile(2, "L", ""), 403, "is finished")
	r.lock("b", 403, "is finished")
	r.expect(403, "is finished", "GET", "/v1/state", nil)
	r.expect(204, "", "PUT", "/v1/rescue", stateFile(2, "L", "rescued"))
	r.unlock("a", 200, "")
	st := &v1alpha1.State{}
	must(t, apiserver.Kube.Get(t.Context(), client.ObjectKeyFromObject(e.stack), st))
	if st.Status.Version != 2 || st.Status.Lock != nil {
		t.Fatalf("status %+v", st.Status)
	}
}

func TestLockHolderSavesItsStateAfterTheRunIsDeleted(t *testing.T) {
	e := newEnv(t)
	r, run := e.applying()
	r.lock("a", 200, "")
	must(t, apiserver.Kube.Delete(t.Context(), run))
	stranger := e.newPod("stranger", run)
	stranger.write("a", stateFile(1, "L", ""), 403, "is gone")
	stranger.unlock("a", 403, "is gone")
	stranger.expect(403, "is gone", "PUT", "/v1/rescue", stateFile(1, "L", ""))
	r.write("b", stateFile(1, "L", ""), 423, "locked under ID a")
	r.attempt = 2
	r.write("a", stateFile(1, "L", ""), 403, "is gone")
	r.expect(403, "is gone", "GET", "/v1/state", nil)
	r.attempt = 1
	r.write("a", stateFile(1, "L", ""), 200, "")
	r.reads(stateFile(1, "L", ""))
	r.expect(204, "", "PUT", "/v1/rescue", stateFile(2, "L", ""))
	r.expect(403, "is gone", "PUT", "/v1/plan", []byte("plan"))
	r.unlock("a", 200, "")
	r.write("a", stateFile(3, "L", ""), 403, "is gone")
}

func TestPodOnlyReachesItsOwnStack(t *testing.T) {
	e := newEnv(t)
	mine, _ := e.applying()
	mine.lock("a", 200, "")
	mine.write("a", stateFile(1, "L", "mine"), 200, "")

	other := e.newRun(e.newStack("db"), "db-1")
	r := e.newPod("db-1-apply-1", other).begin(other, v1alpha1.AttemptApply)
	r.expect(404, "", "GET", "/v1/state", nil)
	r.write("a", stateFile(2, "L", ""), 423, "the state is not locked")
	r.lock("a", 200, "")
	r.write("a", stateFile(9, "M", "other"), 200, "")
	mine.reads(stateFile(1, "L", "mine"))
}

func TestStaleCacheRejectsNoRunner(t *testing.T) {
	e := newEnv(t)
	e.fakes.blind = true
	r, _ := e.applying()
	r.lock("a", 200, "")
	r.write("a", stateFile(1, "L", ""), 200, "")
	// A pod that only says it is the Run's is not.
	run := &v1alpha1.Run{}
	must(t, apiserver.Kube.Get(t.Context(), client.ObjectKey{Namespace: e.namespace, Name: "net-1"}, run))
	forged := e.newPod("forged", run)
	forged.expect(403, "another pod's", "GET", "/v1/state", nil)
	forged.lock("a", 403, "another pod's")
}

func TestTokens(t *testing.T) {
	e := newEnv(t)
	r, _ := e.applying()
	good := r.token
	tests := map[string]struct {
		token string
		code  int
		says  string
	}{
		"the pod's token is taken":              {good, 404, ""},
		"none is refused":                       {"", 401, "no bearer token"},
		"garbage is refused":                    {"garbage", 401, "not valid"},
		"one that was changed is refused":       {good[:len(good)-4] + "AAAA", 401, "not valid"},
		"one for another audience is refused":   {e.token("other", r.pod), 401, "audience"},
		"one that no pod has is refused":        {e.token("cairn", nil), 403, "not bound to a pod"},
		"one of a pod without a Run is refused": {e.newPod("stranger", nil).token, 403, "no Run names pod stranger"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r.token = test.token
			r.expect(test.code, test.says, "GET", "/v1/state", nil)
		})
	}
	r.token, r.attempt = good, 0
	r.expect(400, "Cairn-Attempt", "GET", "/v1/state", nil)
	r.attempt = 7
	r.expect(403, "attempt 7 is not the current one", "GET", "/v1/state", nil)
}

func TestOneOfTwoConcurrentWritesIsRejected(t *testing.T) {
	e := newEnv(t)
	r, _ := e.applying()
	r.lock("a", 200, "")
	for serial := 1; serial <= 5; serial++ {
		var g sync.WaitGroup
		codes := make([]int, 2)
		for i := range codes {
			g.Go(func() {
				codes[i], _ = r.do("POST", "/v1/state?ID=a", stateFile(serial, "L", string(rune('a'+i))))
			})
		}
		g.Wait()
		if codes[0]+codes[1] != 200+409 {
			t.Fatalf("serial %d: %v", serial, codes)
		}
		won := string(rune('a'))
		if codes[1] == 200 {
			won = "b"
		}
		r.reads(stateFile(serial, "L", won))
	}
}

func TestOneOfTwoConcurrentLocksIsRejected(t *testing.T) {
	e := newEnv(t)
	r, _ := e.applying()
	var g sync.WaitGroup
	codes := make([]int, 2)
	for i := range codes {
		g.Go(func() { codes[i], _ = r.do("LOCK", "/v1/state", []byte(`{"ID":"`+string(rune('a'+i))+`"}`)) })
	}
	g.Wait()
	if codes[0]+codes[1] != 200+423 {
		t.Fatalf("got %v", codes)
	}
}

func TestStateOfThreeMebibytes(t *testing.T) {
	e := newEnv(t)
	r, _ := e.applying()
	r.lock("a", 200, "")
	random := make([]byte, 3<<20)
	rand.Read(random)
	data := stateFile(1, "L", base64.StdEncoding.EncodeToString(random))
	r.write("a", data, 200, "")
	r.reads(data)
	secrets := &corev1.SecretList{}
	must(t, apiserver.Kube.List(t.Context(), secrets, client.InNamespace(e.namespace),
		client.MatchingLabels{"cairn.dev/state": "net"}))
	if len(secrets.Items) < 4 {
		t.Fatalf("%d Secrets", len(secrets.Items))
	}
}
