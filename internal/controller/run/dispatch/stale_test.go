package dispatch

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/run/runtest"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/runnerapi"
)

// noStackPolicies are the lists of a namespace without any.
func noStackPolicies(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
	return nil
}

// TestPlanIsNotAppliedByTheRulesOfAnOldStack checks that spec.apply of a view of the Stack from before the Run decides
// nothing: a cache may have the Run, and not yet the Stack that the Run was created for.
func TestPlanIsNotAppliedByTheRulesOfAnOldStack(t *testing.T) {
	run := runtest.Run(runtest.Committed, runtest.Planning)
	newest := runtest.Stack()
	newest.UID = "net"
	run.OwnerReferences = []metav1.OwnerReference{{Kind: "Stack", Name: newest.Name, UID: newest.UID,
		Controller: ptr.To(true)}}
	newest.Spec.Apply, newest.Status.LastRun = v1alpha1.ApplyManual, run.Name
	old := newest.DeepCopy()
	old.Spec.Apply, old.Status.LastRun = v1alpha1.ApplyAutomatic, runinfo.Name(run.Spec.Stack.Name,
		runinfo.Number(run.Name)-1)
	view := func(stack *v1alpha1.Stack) client.WithWatch {
		return interceptor.NewClient(nil, interceptor.Funcs{
			List: noStackPolicies,
			Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, o client.Object,
				_ ...client.GetOption) error {
				switch o := o.(type) {
				case *v1alpha1.Run:
					run.DeepCopyInto(o)
				case *v1alpha1.Stack:
					stack.DeepCopyInto(o)
				case *corev1.Pod:
					o.UID = run.Status.Attempts[0].PodUID
				}
				return nil
			},
			SubResourcePatch: func(_ context.Context, _ client.Client, _ string, o client.Object, _ client.Patch,
				_ ...client.SubResourcePatchOption) error {
				run = o.(*v1alpha1.Run).DeepCopy()
				return nil
			},
		})
	}
	done := runnerapi.Report{Done: &runnerapi.Done{Plan: planOne}}
	err := Reports{Client: view(old), Live: view(newest), Policies: noPolicies}.Report(
		t.Context(), client.ObjectKeyFromObject(run), run.Status.Attempts[0].PodUID, 1, done)
	if a := runinfo.Current(&run.Status); err != nil || run.Status.Phase != v1alpha1.PhaseAwaitingApproval {
		t.Errorf("%v: phase %s, attempt %d is %s, and nobody approved", err, run.Status.Phase, a.Number, a.Phase)
	}
}

// TestPlanOfAStateThatTheStackNeverAppliedWaits checks that the State decides as it is after the plan, which may have
// adopted it.
func TestPlanOfAStateThatTheStackNeverAppliedWaits(t *testing.T) {
	for name, tt := range map[string]struct {
		state v1alpha1.StateStatus
		phase v1alpha1.RunPhase
	}{
		"no state": {v1alpha1.StateStatus{}, v1alpha1.PhaseApplying},
		"the Stack applied it": {v1alpha1.StateStatus{Version: 1, Resources: 1, StackUID: "net"},
			v1alpha1.PhaseApplying},
		"an earlier Stack did": {v1alpha1.StateStatus{Version: 1, Resources: 1, StackUID: "before"},
			v1alpha1.PhaseAwaitingApproval},
		"a user pushed it":         {v1alpha1.StateStatus{Version: 1, Resources: 1}, v1alpha1.PhaseAwaitingApproval},
		"there is nothing in it":   {v1alpha1.StateStatus{Version: 1}, v1alpha1.PhaseApplying},
		"only the engine reads it": {v1alpha1.StateStatus{Version: 1, Resources: -1}, v1alpha1.PhaseAwaitingApproval},
	} {
		t.Run(name, func(t *testing.T) {
			run, stack := runtest.Run(runtest.Committed, runtest.Planning), runtest.Stack()
			stack.UID, stack.Spec.Apply, stack.Status.LastRun = "net", v1alpha1.ApplyAutomatic, run.Name
			run.OwnerReferences = []metav1.OwnerReference{{Kind: "Stack", Name: stack.Name, UID: stack.UID,
				Controller: ptr.To(true)}}
			live := interceptor.NewClient(nil, interceptor.Funcs{
				List: noStackPolicies,
				Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, o client.Object,
					_ ...client.GetOption) error {
					switch o := o.(type) {
					case *v1alpha1.Run:
						run.DeepCopyInto(o)
					case *v1alpha1.Stack:
						stack.DeepCopyInto(o)
					case *v1alpha1.State:
						o.Status = tt.state
					case *corev1.Pod:
						o.UID = run.Status.Attempts[0].PodUID
					}
					return nil
				},
				SubResourcePatch: func(_ context.Context, _ client.Client, _ string, o client.Object, _ client.Patch,
					_ ...client.SubResourcePatchOption) error {
					run = o.(*v1alpha1.Run).DeepCopy()
					return nil
				},
			})
			done := runnerapi.Report{Done: &runnerapi.Done{Plan: planOne}}
			err := Reports{Client: live, Live: live, Policies: noPolicies}.Report(
				t.Context(), client.ObjectKeyFromObject(run), run.Status.Attempts[0].PodUID, 1, done)
			if err != nil || run.Status.Phase != tt.phase {
				t.Errorf("phase %s, %v", run.Status.Phase, err)
			}
		})
	}
}
