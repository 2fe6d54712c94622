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
	"cairn.dev/cairn/internal/inputs"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/test/apiserver"
)

// What a request is allowed hangs on the attempt, whatever is asked for: the code and the variables are as secret as the state.
func TestOnlyTheCurrentAttemptIsServed(t *testing.T) {
	w := newWorld(t)
	first, run := w.applying()
	requests := []struct{ method, path string }{
		{"GET", "/v1/sources/" + w.source}, {"GET", "/v1/state"}, {"POST", "/v1/state?ID=a"}, {"LOCK", "/v1/state"},
		{"PUT", "/v1/plan"}, {"GET", "/v1/plan/" + w.source}, {"PUT", "/v1/plan/" + w.source + "/json"}, {"GET", "/v1/plan/" + w.source + "/json"},
		{"POST", "/v1/policy/" + w.source}, {"GET", "/v1/interrupt"}, {"PUT", "/v1/inputs"}, {"GET", "/v1/inputs"},
		{"GET", "/v1/outputs/net/x"}, {"POST", "/v1/outputs"}, {"GET", "/v1/journal"},
		{"GET", "/v1/providers/registry.opentofu.org/hashicorp/time/index.json"},
	}
	finish(w, run)
	for _, r := range requests {
		first.expect(http.StatusForbidden, "attempt 1 of Run net-1 is finished", r.method, r.path, []byte("{}"))
	}
	w.newPod("net-1-apply-2", run).begin(run, v1alpha1.AttemptApply)
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

// A pod that builds an image runs what a Dockerfile says, and reads nothing of the Stack but what the image is built from.
func TestABuildCannotReadTheStack(t *testing.T) {
	w := newWorld(t)
	run := w.newRun(w.stack, "net-1")
	r := w.newPod("net-1-build-1", run).begin(run, v1alpha1.AttemptBuild)
	for _, request := range []struct{ method, path string }{
		{"GET", "/v1/state"}, {"POST", "/v1/state?ID=a"}, {"LOCK", "/v1/state"}, {"PUT", "/v1/backend"}, {"PUT", "/v1/plan"}, {"GET", "/v1/plan/" + w.source},
		{"PUT", "/v1/plan/" + w.source + "/json"}, {"GET", "/v1/plan/" + w.source + "/json"}, {"POST", "/v1/policy/" + w.source},
		{"PUT", "/v1/inputs"}, {"GET", "/v1/inputs"}, {"GET", "/v1/outputs/net/x"}, {"POST", "/v1/outputs"}, {"GET", "/v1/journal"},
	} {
		r.expect(http.StatusForbidden, "builds an image, and gets nothing else", request.method, request.path, []byte("{}"))
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
func TestABuildGetsItsSource(t *testing.T) {
	w := newWorld(t)
	context := inputs.Digest([]byte("the context"))
	must(t, w.bucket.Put(t.Context(), "sources/"+context, []byte("the context")))
	w.document(inputs.Document{Build: &inputs.Build{Source: context}})
	run := w.newRun(w.stack, "net-1")
	builds := w.newPod("net-1-build-1", run).begin(run, v1alpha1.AttemptBuild)
	builds.expect(http.StatusOK, "the context", "GET", "/v1/sources/"+context, nil)
	builds.expect(http.StatusForbidden, "is not the source of Run net-1", "GET", "/v1/sources/"+w.source, nil)
	plans := w.newPod("net-1-plan-2", run).begin(run, v1alpha1.AttemptPlan)
	plans.expect(http.StatusOK, "the code", "GET", "/v1/sources/"+w.source, nil)
	plans.expect(http.StatusForbidden, "is not the source of Run net-1", "GET", "/v1/sources/"+context, nil)
}

// What is over is handed in by who did it, and by nobody for them.
func TestOnlyThePodOfAnAttemptSavesForIt(t *testing.T) {
	w := newWorld(t)
	_, run := w.applying()
	second := w.newPod("net-1-apply-2", run).begin(run, v1alpha1.AttemptApply)
	second.attempt = 1
	for _, r := range []struct{ method, path string }{
		{"UNLOCK", "/v1/state"}, {"DELETE", "/v1/state"}, {"PUT", "/v1/rescue"}, {"POST", "/v1/journal?batch=0"}, {"POST", "/v1/logs?offset=0"},
	} {
		second.expect(http.StatusForbidden, "names no attempt 1 of this pod", r.method, r.path, []byte("{}"))
	}
}

// A Run was deleted, and the next one of its name has a pod of the same name: the former's pod is not that one, and hands in what it has.
func TestTheLockHolderSavesAlthoughAnotherPodHasItsName(t *testing.T) {
	w := newWorld(t)
	r, run := w.applying()
	must(t, second(w.state.Lock(t.Context(), client.ObjectKeyFromObject(w.stack), holderOf(r), lockOf("a"))))
	must(t, apiserver.Kube.Delete(t.Context(), run))
	r.forced()
	w.applying()
	r.expect(http.StatusNoContent, "", "PUT", "/v1/rescue", stateFile(1, "L", "rescued"))
}

// A pod of something else has no Run, though its owner has the name of one.
func TestAPodBelongsToTheRunThatOwnsIt(t *testing.T) {
	w := newWorld(t)
	w.newRun(w.stack, "net-1")
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "net-1"}}
	must(t, apiserver.Kube.Create(t.Context(), owner))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: "other",
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))},
		},
		Spec: corev1.PodSpec{ServiceAccountName: "default", Containers: []corev1.Container{{Name: "engine", Image: "engine"}}, AutomountServiceAccountToken: new(bool)},
	}
	must(t, apiserver.Kube.Create(t.Context(), pod))
	r := &runner{world: w, pod: pod, token: w.token(runnerapi.Audience, pod), attempt: 1}
	r.expect(http.StatusForbidden, "no Run names pod other", "GET", "/v1/state", nil)
}

// The engine sends a sum along: what lost a bit on its way is no version of a state.
func TestACorruptedStateUploadIsRejected(t *testing.T) {
	w := newWorld(t)
	r, _ := w.applying()
	r.lock("a", 200, "")
	send := func(sum string) int {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+"/v1/state?ID=a", bytes.NewReader(stateFile(1, "L", "")))
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
