//go:build envtest

package server_test

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"net/http"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/test/apiserver"
)

// What a request is allowed hangs on the attempt, whatever is asked for: the code and the variables are as secret as
// the state.
func TestOnlyTheCurrentAttemptIsServed(t *testing.T) {
	e := newEnv(t)
	first, run := e.applying()
	requests := []struct{ method, path string }{
		{"GET", "/v1/sources/" + e.source}, {"GET", "/v1/state"}, {"POST", "/v1/state?ID=a"}, {"LOCK", "/v1/state"},
		{"PUT", "/v1/plan"}, {"GET", "/v1/plan/" + e.source}, {"PUT", "/v1/plan/" + e.source + "/document"},
		{"GET", "/v1/plan/" + e.source + "/json"},
		{"POST", "/v1/policy/" + e.source}, {"GET", "/v1/interrupt"}, {"PUT", "/v1/inputs"}, {"GET", "/v1/inputs"},
		{"GET", "/v1/outputs/net/x"}, {"POST", "/v1/outputs"}, {"GET", "/v1/journal"},
		{"GET", "/v1/providers/registry.opentofu.org/hashicorp/time/index.json"},
	}
	finish(e, run)
	for _, r := range requests {
		first.expect(http.StatusForbidden, "attempt 1 of Run net-1 is finished", r.method, r.path, []byte("{}"))
	}
	e.newPod("net-1-apply-2", run).begin(run, v1alpha1.AttemptApply)
	for _, r := range requests {
		first.expect(http.StatusForbidden, "attempt 1 is not the current one", r.method, r.path, []byte("{}"))
	}
	first.attempt = 2
	for _, r := range requests {
		first.expect(http.StatusForbidden, "attempt 2 of Run net-1 is another pod's", r.method, r.path, []byte("{}"))
	}
	must(t, apiserver.Kube.Delete(t.Context(), run))
	for _, r := range requests {
		first.expect(http.StatusForbidden, "Run net-1 is gone", r.method, r.path, []byte("{}"))
	}
}

// A pod that builds an image runs what a Dockerfile says, and reads nothing of the Stack but what the image is built
// from.
func TestBuildCannotReadTheStack(t *testing.T) {
	e := newEnv(t)
	run := e.newRun(e.stack, "net-1")
	r := e.newPod("net-1-build-1", run).begin(run, v1alpha1.AttemptBuild)
	for _, request := range []struct{ method, path string }{
		{"GET", "/v1/state"}, {"POST", "/v1/state?ID=a"}, {"LOCK", "/v1/state"}, {"PUT", "/v1/backend"},
		{"PUT", "/v1/plan"}, {"GET", "/v1/plan/" + e.source},
		{"PUT", "/v1/plan/" + e.source + "/document"}, {"GET", "/v1/plan/" + e.source + "/json"},
		{"POST", "/v1/policy/" + e.source},
		{"PUT", "/v1/inputs"}, {"GET", "/v1/inputs"}, {"GET", "/v1/outputs/net/x"}, {"POST", "/v1/outputs"},
		{"GET", "/v1/journal"},
	} {
		r.expect(http.StatusForbidden, "builds an image, and gets nothing else", request.method, request.path,
			[]byte("{}"))
	}
	r.expect(http.StatusNoContent, "", "POST", "/v1/logs?offset=0", []byte("STEP 1"))
	r.expect(http.StatusNoContent, "", "POST", "/v1/steps", []byte(`{"steps":[{"name":"build","state":"Running"}]}`))
	for _, path := range []string{"/v1/rescue", "/v1/journal?batch=0"} {
		method := "PUT"
		if path != "/v1/rescue" {
			method = "POST"
		}
		r.expect(http.StatusForbidden, "", method, path, []byte("{}"))
	}
}

// Each attempt gets what it works on: a build its context, and what runs the engine the code.
func TestBuildDownloadsItsSource(t *testing.T) {
	e := newEnv(t)
	context := inputs.Digest([]byte("the context"))
	must(t, e.bucket.Put(t.Context(), "sources/"+context, []byte("the context")))
	e.document(inputs.Document{Build: &inputs.Build{Source: context}})
	run := e.newRun(e.stack, "net-1")
	builds := e.newPod("net-1-build-1", run).begin(run, v1alpha1.AttemptBuild)
	builds.expect(http.StatusOK, "the context", "GET", "/v1/sources/"+context, nil)
	builds.expect(http.StatusForbidden, "is not the source of Run net-1", "GET", "/v1/sources/"+e.source, nil)
	plans := e.newPod("net-1-plan-2", run).begin(run, v1alpha1.AttemptPlan)
	plans.expect(http.StatusOK, "the code", "GET", "/v1/sources/"+e.source, nil)
	plans.expect(http.StatusForbidden, "is not the source of Run net-1", "GET", "/v1/sources/"+context, nil)
}

// The results of an attempt are accepted from its own pod, and from no other.
func TestOnlyThePodOfAnAttemptSavesForIt(t *testing.T) {
	e := newEnv(t)
	_, run := e.applying()
	second := e.newPod("net-1-apply-2", run).begin(run, v1alpha1.AttemptApply)
	second.attempt = 1
	for _, r := range []struct{ method, path string }{
		{"UNLOCK", "/v1/state"}, {"DELETE", "/v1/state"}, {"PUT", "/v1/rescue"}, {"POST", "/v1/journal?batch=0"},
		{"POST", "/v1/logs?offset=0"},
		{"POST", "/v1/operations?offset=0"},
	} {
		second.expect(http.StatusForbidden, "names no attempt 1 of this pod", r.method, r.path, []byte("{}"))
	}
}

// A Run was deleted, and the next one of its name has a pod of the same name: the former's pod is not that one, and
// hands in what it has.
func TestLockHolderSavesAlthoughAnotherPodHasItsName(t *testing.T) {
	e := newEnv(t)
	r, run := e.applying()
	must(t, second(e.state.Lock(t.Context(), client.ObjectKeyFromObject(e.stack), holderOf(r), lockOf("a"))))
	must(t, apiserver.Kube.Delete(t.Context(), run))
	r.forced()
	e.applying()
	r.expect(http.StatusNoContent, "", "PUT", "/v1/rescue", stateFile(1, "L", "rescued"))
}

// A pod of another owner has no Run, though its owner has the name of one.
func TestPodBelongsToTheRunThatOwnsIt(t *testing.T) {
	e := newEnv(t)
	e.newRun(e.stack, "net-1")
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "net-1"}}
	must(t, apiserver.Kube.Create(t.Context(), owner))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: e.namespace, Name: "other",
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))},
		},
		Spec: corev1.PodSpec{ServiceAccountName: "default",
			Containers: []corev1.Container{{Name: "engine", Image: "engine"}}, AutomountServiceAccountToken: new(bool)},
	}
	must(t, apiserver.Kube.Create(t.Context(), pod))
	r := &runner{env: e, pod: pod, token: e.token(runnerapi.Audience, pod), attempt: 1}
	r.expect(http.StatusForbidden, "no Run names pod other", "GET", "/v1/state", nil)
}

// The engine sends a sum along: what lost a bit on its way is no version of a state.
func TestCorruptedStateUploadIsRejected(t *testing.T) {
	e := newEnv(t)
	r, _ := e.applying()
	r.lock("a", 200, "")
	send := func(sum string) int {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+"/v1/state?ID=a",
			bytes.NewReader(stateFile(1, "L", "")))
		must(t, err)
		request.Header.Set("Authorization", "Bearer "+r.token)
		request.Header.Set(runnerapi.AttemptHeader, strconv.Itoa(int(r.attempt)))
		request.Header.Set(runnerapi.SessionHeader, r.session)
		request.Header.Set("Content-MD5", sum)
		answer, err := r.http.Do(request)
		must(t, err)
		answer.Body.Close()
		return answer.StatusCode
	}
	sum := func(data []byte) string {
		s := md5.Sum(data)
		return base64.StdEncoding.EncodeToString(s[:])
	}
	if code := send(sum(stateFile(2, "L", ""))); code != http.StatusBadRequest {
		t.Errorf("another's sum: got %d", code)
	}
	r.expect(http.StatusNotFound, "", "GET", "/v1/state", nil)
	if code := send(sum(stateFile(1, "L", ""))); code != http.StatusOK {
		t.Errorf("its own sum: got %d", code)
	}
}
