//go:build envtest

package server_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/artifact"
	"cairn.dev/cairn/test/apiserver"
)

// runner is a pod with its token, for an attempt.
type runner struct {
	*env
	pod     *corev1.Pod
	token   string
	session string
	attempt int32
}

// newPod makes a pod, as the operator does, and a token for it, as the kubelet does.
func (e *env) newPod(name string, run *v1alpha1.Run) *runner {
	e.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: name},
		Spec: corev1.PodSpec{ServiceAccountName: "default",
			Containers: []corev1.Container{{Name: "engine", Image: "engine"}}, AutomountServiceAccountToken: new(bool)},
	}
	if run != nil {
		pod.OwnerReferences = []metav1.OwnerReference{
			*metav1.NewControllerRef(run, v1alpha1.GroupVersion.WithKind("Run"))}
	}
	must(e.T, apiserver.Kube.Create(e.Context(), pod))
	return &runner{env: e, pod: pod, token: e.token(runnerapi.Audience, pod), session: "session of " + name, attempt: 1}
}

// token asks the API server for one, bound to a pod if there is one.
func (e *env) token(audience string, pod *corev1.Pod) string {
	e.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{audience}}}
	if pod != nil {
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1",
			Name: pod.Name, UID: pod.UID}
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "default"}}
	must(e.T, apiserver.Kube.SubResource("token").Create(e.Context(), account, request))
	return request.Status.Token
}

// begin makes a runner the current attempt of a Run, and finishes the one before.
func (r *runner) begin(run *v1alpha1.Run, phase v1alpha1.AttemptPhase) *runner {
	r.Helper()
	finish(r.env, run)
	r.attempt = int32(len(run.Status.Attempts) + 1)
	run.Status.Attempts = append(run.Status.Attempts, v1alpha1.Attempt{
		Number: r.attempt, Phase: phase, Pod: r.pod.Name, PodUID: r.pod.UID, StartedAt: metav1.NowMicro(),
	})
	must(r.T, apiserver.Kube.Status().Update(r.Context(), run))
	sum := sha256.Sum256([]byte(r.session)) // its request for the order of this attempt
	must(r.T, r.bucket.Put(r.Context(), artifact.SessionKey(run, r.pod.UID), []byte(hex.EncodeToString(sum[:]))))
	return r
}

// finish ends the last attempt of a Run.
func finish(e *env, run *v1alpha1.Run) {
	e.Helper()
	if n := len(run.Status.Attempts); n > 0 && run.Status.Attempts[n-1].FinishedAt == nil {
		now := metav1.NowMicro()
		run.Status.Attempts[n-1].FinishedAt = &now
		must(e.T, apiserver.Kube.Status().Update(e.Context(), run))
	}
}

// kill makes the runner's pod gone.
func (r *runner) kill() {
	r.Helper()
	must(r.T, apiserver.Kube.Delete(r.Context(), r.pod, client.GracePeriodSeconds(0)))
}

// applying is a runner that applies in the first attempt of a new Run.
func (e *env) applying() (*runner, *v1alpha1.Run) {
	e.Helper()
	run := e.newRun(e.stack, "net-1")
	return e.newPod("net-1-apply-1", run).begin(run, v1alpha1.AttemptApply), run
}

// do sends a request and gives the status and the body of the answer.
func (r *runner) do(method, path string, body []byte) (int, string) {
	r.Helper()
	request, err := http.NewRequestWithContext(r.Context(), method, r.url+path, bytes.NewReader(body))
	must(r.T, err)
	request.Header.Set("Authorization", "Bearer "+r.token)
	request.Header.Set(runnerapi.AttemptHeader, strconv.Itoa(int(r.attempt)))
	request.Header.Set(runnerapi.SessionHeader, r.session)
	answer, err := r.http.Do(request)
	must(r.T, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	must(r.T, err)
	if answer.ProtoMajor != 2 {
		r.Errorf("spoke %s", answer.Proto)
	}
	return answer.StatusCode, strings.TrimSpace(string(text))
}

// expect sends a request and checks the answer.
func (r *runner) expect(code int, says, method, path string, body []byte) {
	r.Helper()
	got, text := r.do(method, path, body)
	if got != code || !strings.Contains(text, says) {
		r.Fatalf("%s %s: got %d %.300s; want %d and %q", method, path, got, text, code, says)
	}
}

// The http backend's protocol, as an engine speaks it.

func (r *runner) lock(id string, code int, says string) {
	r.Helper()
	r.expect(code, says, "LOCK", "/v1/state",
		fmt.Appendf(nil, `{"ID":%q,"Operation":"OperationTypeApply","Who":"runner@pod"}`, id))
}

func (r *runner) unlock(id string, code int, says string) {
	r.Helper()
	r.expect(code, says, "UNLOCK", "/v1/state", fmt.Appendf(nil, `{"ID":%q}`, id))
}

func (r *runner) write(id string, data []byte, code int, says string) {
	r.Helper()
	r.expect(code, says, "POST", "/v1/state?ID="+id, data)
}

func (r *runner) reads(want []byte) {
	r.Helper()
	if code, got := r.do("GET", "/v1/state", nil); code != 200 || got != string(want) {
		r.Fatalf("got %d and %d bytes, want %d", code, len(got), len(want))
	}
}

func stateFile(serial int, lineage, text string) []byte {
	return fmt.Appendf(nil, `{"version":4,"terraform_version":"1.12.6","serial":%d,"lineage":%q,"outputs":{"x":{"value":%q,"type":"string"}},`+
		`"resources":[{"mode":"managed","type":"terraform_data","name":"a","instances":[{"schema_version":0}]}]}`,
		serial, lineage, text)
}
