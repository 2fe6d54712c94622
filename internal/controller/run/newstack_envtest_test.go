//go:build envtest

package run

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/run/dispatch"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/test/apiserver"
)

// A Run of a pull request plans a Stack that does not exist, to its end: it reads no Stack, also if one of its name was
// created meanwhile, and creates neither a Stack nor a State. A retry reads no field that only the API server sets.
func TestRunPlansANewStack(t *testing.T) {
	r := newTestEnv(t)
	apiserver.Must(t, r.Env.Client.Delete(t.Context(), r.run))
	r.Make(&v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: v1alpha1.StackSpec{
		Source: v1alpha1.Source{Inline: map[string]string{"main.tf": ""}}, Suspend: true,
	}})
	digest, err := r.Inputs.Put(t.Context(), inputs.Document{Source: "sha256:code", ServiceAccountName: "read"})
	apiserver.Must(t, err)
	r.run = &v1alpha1.Run{
		ObjectMeta: metav1.ObjectMeta{Name: "db-pr12-abcdefghij", OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "PullRequest", Name: "infra-12", UID: "pull",
			Controller: ptr.To(true),
		}}},
		Spec: v1alpha1.RunSpec{
			Stack: v1alpha1.ObjectRef{Name: "db"}, Operation: v1alpha1.OperationPlan, InputsDigest: digest,
			Cause: v1alpha1.Cause{Type: v1alpha1.CausePullRequest},
			PullRequest: &v1alpha1.RunPullRequest{Namespace: r.Namespace, Name: "infra-12", UID: "pull",
				NewStack: true},
		},
	}
	r.Make(r.run)
	r.reconcile()
	r.expectAttempts("Plan")
	pods := r.pods()
	if len(pods) != 1 || pods[0].Spec.ServiceAccountName != "read" {
		t.Fatalf("pods: %+v", pods)
	}
	apiserver.Must(t, r.Env.Client.Delete(t.Context(), &pods[0], client.GracePeriodSeconds(0)))
	r.Gone(&pods[0])
	r.reconcile()
	r.expectAttempts("Plan PodLost")
	if r.run.Status.NextAttempt == nil {
		t.Fatalf("no retry: %+v", r.run.Status)
	}
	r.Clock = func() time.Time { return r.run.Status.NextAttempt.Time }
	r.reconcile()
	r.expectAttempts("Plan PodLost", "Plan")
	reports := dispatch.Reports{Client: r.Env.Client, Live: r.Env.Live, Policies: noPolicies}
	done := runnerapi.Report{Done: &runnerapi.Done{Plan: &runnerapi.Plan{Digest: "sha256:plan", Changes: true, Add: 1}}}
	apiserver.Must(t, reports.Report(t.Context(), client.ObjectKeyFromObject(r.run), r.run.Status.Attempts[1].PodUID, 2,
		done))
	r.Seen(r.run)
	if r.run.Status.Phase != v1alpha1.PhaseSucceeded || r.run.Status.Plan == nil {
		t.Errorf("the Run is %s, with plan %v", r.run.Status.Phase, r.run.Status.Plan)
	}
	var states v1alpha1.StateList
	var stacks v1alpha1.StackList
	apiserver.Must(t, r.Env.Live.List(t.Context(), &states, client.InNamespace(r.Namespace)))
	apiserver.Must(t, r.Env.Live.List(t.Context(), &stacks, client.InNamespace(r.Namespace)))
	if len(states.Items) != 0 || len(stacks.Items) != 2 {
		t.Errorf("%d States and %d Stacks exist", len(states.Items), len(stacks.Items))
	}
}
