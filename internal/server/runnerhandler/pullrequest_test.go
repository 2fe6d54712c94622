package runnerhandler

import (
	"net/http"
	"net/http/httptest"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/auth"
)

// The code of a pull request must change nothing that its Stack depends on, whatever gets hold of the credentials of
// its pod. atlantis #1202, #1393, #2124, #1548: locks of plans remained. Here such a plan can lock nothing.
func TestPullRequestWritesNothingOfItsStack(t *testing.T) {
	for _, route := range []struct{ method, path string }{
		{"POST", "/v1/state?ID=1"}, {"LOCK", "/v1/state"}, {"UNLOCK", "/v1/state"}, {"DELETE", "/v1/state"},
		{"PUT", "/v1/backend"},
		{"PUT", "/v1/rescue"}, {"PUT", "/v1/inputs"}, {"POST", "/v1/outputs"}, {"POST", "/v1/journal"},
	} {
		pod, send := newBoundPods(t)
		pod.run.Spec.PullRequest = &v1alpha1.RunPullRequest{Namespace: "prod", Name: "infra-12", UID: "pull"}
		// The attempt may change the state, were it of the Stack.
		pod.run.Status.Attempts[0] = v1alpha1.Attempt{Number: 1, Phase: v1alpha1.AttemptApply, PodUID: "pod-uid",
			StartedAt: metav1.NowMicro()}
		close(pod.named)
		if code := send("key of the runner", route.method, route.path); code != http.StatusForbidden {
			t.Errorf("%s %s: %d", route.method, route.path, code)
		}
	}
	pod, send := newBoundPods(t)
	pod.run.Spec.PullRequest = &v1alpha1.RunPullRequest{Namespace: "prod", Name: "infra-12", UID: "pull"}
	close(pod.named)
	if code := send("key of the runner", "POST", "/v1/steps"); code != http.StatusNoContent {
		t.Errorf("a report: %d", code)
	}
}

// A plan of a Stack that does not exist begins with an empty state, whatever State has its name, and gets nothing else
// of that name. The server of the test has no State that it could read.
func TestPlanOfANewStackReadsNoState(t *testing.T) {
	for route, want := range map[string]int{"/v1/state": http.StatusNotFound, "/v1/journal": http.StatusNoContent,
		"/v1/inputs": http.StatusForbidden} {
		pod, send := newBoundPods(t)
		pod.run.Spec.PullRequest = &v1alpha1.RunPullRequest{Namespace: "prod", Name: "infra-12", UID: "pull",
			NewStack: true, DestroyInputsDigest: "sha256:x"}
		close(pod.named)
		if code := send("key of the runner", "GET", route); code != want {
			t.Errorf("GET %s: %d, want %d", route, code, want)
		}
	}
}

// An order to plan a Stack that does not exist changes no State of its name, as that of other plans may, which restores
// a lost version. Without the rule the test ends with a panic: its server has no State.
func TestPlanOfANewStackPreparesNoState(t *testing.T) {
	c := Caller{Run: &v1alpha1.Run{Spec: v1alpha1.RunSpec{PullRequest: &v1alpha1.RunPullRequest{NewStack: true}}}}
	order, err := (&API{}).prepareState(t.Context(), c, runnerapi.Order{Kind: runnerapi.OrderPlan, Stack: "net"})
	if err != nil || order.Kind != runnerapi.OrderPlan {
		t.Errorf("%+v, %v", order, err)
	}
}

// The journal of a Stack has what an apply did and no state has. A plan of a pull request cannot end it: its code may
// hide that a resource exists.
func TestPullRequestEndsNoJournal(t *testing.T) {
	c := Caller{Pod: auth.Pod{UID: "pod"}, Attempt: 1, Run: &v1alpha1.Run{
		Spec: v1alpha1.RunSpec{PullRequest: &v1alpha1.RunPullRequest{}},
		Status: v1alpha1.RunStatus{Attempts: []v1alpha1.Attempt{
			{Number: 1, Phase: v1alpha1.AttemptPlan, PodUID: "pod", StartedAt: metav1.NowMicro()},
		}},
	}}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/steps", nil)
	ended, err := (&API{}).endsJournal(r, c, &runnerapi.Done{Settled: "1-1"})
	if err != nil || ended {
		t.Errorf("ended: %t, %v", ended, err)
	}
}
