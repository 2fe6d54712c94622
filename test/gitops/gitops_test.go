//go:build envtest

package gitops_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/apiserver"
	"cairn.dev/cairn/test/gitops"
)

func TestMain(m *testing.M) { apiserver.Main(m, "../../charts/cairn/files/crds") }

// An object without a status is in progress.
func TestObjectWithoutStatusIsInProgress(t *testing.T) {
	env := apiserver.New(t)
	named := metav1.ObjectMeta{Name: "net-1"}
	for kind, o := range map[string]client.Object{
		"Stack": &v1alpha1.Stack{ObjectMeta: named, Spec: v1alpha1.StackSpec{
			Source: v1alpha1.Source{Inline: map[string]string{"main.tf": ""}},
		}},
		"Run": &v1alpha1.Run{ObjectMeta: named, Spec: v1alpha1.RunSpec{
			Stack: v1alpha1.ObjectRef{Name: "net"}, Operation: v1alpha1.OperationApply,
			Cause:        v1alpha1.Cause{Type: v1alpha1.CauseSpec},
			InputsDigest: "sha256:0000000000000000000000000000000000000000000000000000000000000000",
		}},
		"Repository": &v1alpha1.Repository{ObjectMeta: named,
			Spec: v1alpha1.RepositorySpec{URL: "https://git.example.com/infra.git"}},
	} {
		env.Make(o)
		apiserver.Must(t, env.Live.Get(t.Context(), client.ObjectKeyFromObject(o), o))
		if got := gitops.KStatus(t, o); got != "InProgress" {
			t.Errorf("kstatus: %s is %s", kind, got)
		}
		health, message := gitops.ArgoHealth(t, kind, o)
		if health != "Progressing" || message == "" {
			t.Errorf("Argo CD: %s is %s (%s)", kind, health, message)
		}
	}
	state := &v1alpha1.State{ObjectMeta: named} // Cairn creates it, and GitOps tools do not wait for it
	env.Make(state)
	if got := gitops.KStatus(t, state); got != "Current" {
		t.Errorf("kstatus: State is %s", got)
	}
}
