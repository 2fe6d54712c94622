//go:build envtest

package operator

import (
	"strings"
	"testing"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/run/index"
	"cairn.dev/cairn/test/apiserver"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard()) // Run leaves it as it is here
	apiserver.Main(m, "../../charts/cairn/files/crds")
}

func newEnv(t *testing.T) apiserver.Env {
	t.Helper()
	return apiserver.New(t,
		apiserver.Index{Of: &v1alpha1.Run{}, Field: index.StackField, Values: index.StackNames},
		apiserver.Index{Of: &v1alpha1.Run{}, Field: index.UnfinishedField, Values: index.UnfinishedStackNames},
		apiserver.Index{Of: &v1alpha1.Run{}, Field: index.ReasonField, Values: index.Reasons},
	)
}

// newRun creates a Run of a Stack with a reason.
func newRun(r apiserver.Env, name, of string, phase v1alpha1.RunPhase, reason string) *v1alpha1.Run {
	r.Helper()
	one := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.RunSpec{
		Stack: v1alpha1.ObjectRef{Name: of}, Operation: v1alpha1.OperationApply,
		Cause: v1alpha1.Cause{Type: v1alpha1.CauseSpec}, InputsDigest: "sha256:" + strings.Repeat("0", 64),
	}}
	r.Make(one)
	one.Status = v1alpha1.RunStatus{Phase: phase, Conditions: []metav1.Condition{{
		Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: reason,
		LastTransitionTime: metav1.Now(),
	}}}
	apiserver.Must(r.T, r.Client.Status().Update(r.Context(), one))
	r.Seen(one)
	return one
}

func TestRepositoryLimit(t *testing.T) {
	r, elsewhere := newEnv(t), newEnv(t)
	limited := &v1alpha1.Repository{ObjectMeta: metav1.ObjectMeta{Name: "infra"}, Spec: v1alpha1.RepositorySpec{
		URL: "https://git.example.com/infra.git", Limits: &v1alpha1.RepositoryLimits{Runs: 3},
	}}
	unlimited := &v1alpha1.Repository{ObjectMeta: metav1.ObjectMeta{Name: "open"},
		Spec: v1alpha1.RepositorySpec{URL: limited.Spec.URL}}
	r.Make(limited, unlimited)
	limit := repositoryLimit(t.Context(), r.Client)
	for key, want := range map[string]int{
		r.Namespace + "/infra": 3, r.Namespace + "/open": 0, r.Namespace + "/none": 0, elsewhere.Namespace +
			"/infra": 0, "": 0,
	} {
		if got := limit(key); got != want {
			t.Errorf("%q: %d Runs at once, want %d", key, got, want)
		}
	}
}
