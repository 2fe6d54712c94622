//go:build envtest

package cairn

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/apiserver"
)

// fluxManager is the field manager of Flux. The field managers of users are what they say they are.
const fluxManager = "kustomize-controller"

// applies applies fields of a Stack on the server as a field manager.
func applies(t *testing.T, user, manager, name string, fields map[string]any) error {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cairn.dev/v1alpha1", "kind": "Stack", "metadata": map[string]any{"namespace": "default",
			"name": name},
	}}
	for key, value := range fields {
		if key == "metadata" {
			for key, value := range value.(map[string]any) {
				apiserver.Must(t, unstructured.SetNestedField(o.Object, value, "metadata", key))
			}
			continue
		}
		o.Object[key] = value
	}
	config := client.ApplyConfigurationFromUnstructured(o)
	return as(t, user).Apply(t.Context(), config, client.FieldOwner(manager), client.ForceOwnership)
}

// ofFlux is what Flux applies: it knows nothing of what others protect.
func ofFlux() map[string]any {
	source := map[string]any{"inline": map[string]any{"main.tf": ""}}
	return map[string]any{"spec": map[string]any{"source": source, "apply": "Automatic"}}
}

// finalized are the changes of the operator.
var finalized = []change{
	{operator, `{"metadata":{"finalizers":["cairn.dev/finalizer"]}}`, ""},
	{operator, `{"metadata":{"finalizers":null}}`, ""},
}

const protects = `{"spec":{"deletionPolicy":"Protect","requireApprovalFor":["Delete"],"suspend":true}}`

// guarded is a Stack that Flux applied with all permissions, and alice protected.
func guarded(t *testing.T) *v1alpha1.Stack {
	t.Helper()
	stack := &v1alpha1.Stack{}
	stack.Namespace, stack.Name = "default", name()
	apiserver.Must(t, applies(t, "root", fluxManager, stack.Name, ofFlux()))
	writes(t, stack, []change{{"alice", protects, ""}})
	return stack
}

// handedOver is a patch by which Flux's manager owns all fields that were others', and nobody else owns any.
func handedOver(t *testing.T, o client.Object) string {
	t.Helper()
	var flux []metav1.ManagedFieldsEntry
	for _, e := range o.GetManagedFields() {
		if e.Manager != fluxManager {
			continue
		}
		var owned map[string]map[string]any
		apiserver.Must(t, json.Unmarshal(e.FieldsV1.GetRawBytes(), &owned))
		for _, field := range []string{"f:deletionPolicy", "f:requireApprovalFor", "f:suspend"} {
			owned["f:spec"][field] = map[string]any{}
		}
		raw, err := json.Marshal(owned)
		apiserver.Must(t, err)
		e.FieldsV1 = &metav1.FieldsV1{}
		e.FieldsV1.SetRawBytes(raw)
		flux = append(flux, e)
	}
	return fmt.Sprintf(`{"metadata":{"managedFields":%s}}`, marshal(t, flux))
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	apiserver.Must(t, err)
	return string(raw)
}

// What an apply on the server removes is decided by metadata.managedFields, which a patch can write.
func TestFieldManagersNeedTheVerbOfTheField(t *testing.T) {
	settled(t)
	steal := func(t *testing.T, stack *v1alpha1.Stack, user string) error {
		return as(t, user).Patch(t.Context(), stack.DeepCopy(), merge(handedOver(t, stack)))
	}
	for title, tt := range map[string]struct {
		attack func(*testing.T, *v1alpha1.Stack) error
		want   string
	}{
		"a user with verb patch alone gives fields to Flux": {
			func(t *testing.T, stack *v1alpha1.Stack) error { return steal(t, stack, "eve") },
			"(metadata.managedFields): this requires the verb update",
		},
		"a user gives fields to Flux with a request": {func(t *testing.T, stack *v1alpha1.Stack) error {
			request := `"annotations":{"cairn.dev/requested-at":"1","cairn.dev/requested-operation":"Plan"}`
			patch := strings.Replace(handedOver(t, stack), `{"metadata":{`, `{"metadata":{`+request+`,`, 1)
			return as(t, "pete").Patch(t.Context(), stack.DeepCopy(), merge(patch))
		}, "(metadata.managedFields): this requires the verb update"},
		"a user forgets all managers": {func(t *testing.T, stack *v1alpha1.Stack) error {
			return as(t, "eve").Patch(t.Context(), stack.DeepCopy(), merge(`{"metadata":{"managedFields":[{}]}}`))
		}, "this requires the verb update"},
		"a user has Flux remove the request of another one": {func(t *testing.T, stack *v1alpha1.Stack) error {
			writes(t, stack, []change{{"alan", asks("requested-at", "1"), ""}})
			owned := `{"f:metadata":{"f:annotations":{"f:cairn.dev/requested-at":{}}},"f:spec":{"f:apply":{}`
			text := strings.Replace(marshal(t, stack.ManagedFields), `{"f:spec":{"f:apply":{}`, owned, 1)
			return as(t, "eve").Patch(t.Context(), stack.DeepCopy(), merge(`{"metadata":{"managedFields":`+text+`}}`))
		}, "(metadata.managedFields): this requires the verb update"},
		"a user applies what is there as another manager": {func(t *testing.T, stack *v1alpha1.Stack) error {
			spec := ofFlux()["spec"].(map[string]any)
			spec["deletionPolicy"] = "Protect"
			return applies(t, "eve", fluxManager, stack.Name, map[string]any{"spec": spec})
		}, "this requires the verb update"},
		"a user with verb update gives fields to Flux": {
			func(t *testing.T, stack *v1alpha1.Stack) error { return steal(t, stack, "ed") },
			"so that the next apply of one can remove spec.deletionPolicy: this requires the verb destroy on the Stack",
		},
		"a user with verbs update and approve gives fields to Flux": {
			func(t *testing.T, stack *v1alpha1.Stack) error { return steal(t, stack, "abe") },
			"this requires the verb destroy on the Stack",
		},
		"a user with verbs update and destroy gives fields to Flux": {
			func(t *testing.T, stack *v1alpha1.Stack) error { return steal(t, stack, "dora") },
			"spec.requireApprovalFor: this requires the verb approve on the Runs",
		},
		"a user with verb destroy gives a kind of change to Flux": {func(t *testing.T, stack *v1alpha1.Stack) error {
			text := strings.ReplaceAll(marshal(t, stack.ManagedFields), `"v:\"Delete\"":{}`, `".":{}`)
			text = strings.Replace(text, `"f:apply":{}`, `"f:apply":{},"f:requireApprovalFor":{"v:\"Delete\"":{}}`, 1)
			return as(t, "dora").Patch(t.Context(), stack.DeepCopy(), merge(`{"metadata":{"managedFields":`+text+`}}`))
		}, "spec.requireApprovalFor: this requires the verb approve on the Runs"},
	} {
		t.Run(title, func(t *testing.T) {
			stack := guarded(t)
			check(t, tt.attack(t, stack), tt.want)
			apiserver.Must(t, applies(t, "root", fluxManager, stack.Name, ofFlux()))
			apiserver.Must(t, apiserver.Kube.Get(t.Context(), client.ObjectKeyFromObject(stack), stack))
			if s := stack.Spec; s.DeletionPolicy != v1alpha1.DeletionProtect || len(s.RequireApprovalFor) != 1 ||
				!s.Suspend {
				t.Errorf("the next apply of Flux leaves %+v", s)
			}
		})
	}
	t.Run("a user protects more as Flux, which would then protect less than before", func(t *testing.T) {
		stack := newStack(nil)
		apiserver.Must(t, applies(t, "root", fluxManager, stack.Name, ofFlux()))
		writes(t, stack, []change{{"ed", `{"spec":{"deletionPolicy":"Orphan"}}`, ""}})
		spec := ofFlux()["spec"].(map[string]any)
		spec["deletionPolicy"] = "Protect"
		err := applies(t, "ed", fluxManager, stack.Name, map[string]any{"spec": spec})
		check(t, err, "this requires the verb destroy on the Stack. Use kubectl patch")
		writes(t, stack, []change{{"ed", `{"spec":{"deletionPolicy":"Protect"}}`, ""}})
	})
	t.Run("a user has Flux apply what another manager applies, for that one to stop", func(t *testing.T) {
		stack := newStack(nil)
		protected := ofFlux()
		protected["spec"].(map[string]any)["deletionPolicy"] = "Protect"
		apiserver.Must(t, applies(t, "root", "platform", stack.Name, protected))
		apiserver.Must(t, applies(t, "root", fluxManager, stack.Name, ofFlux()))
		check(t, applies(t, "ed", fluxManager, stack.Name, protected), "this requires the verb destroy on the Stack")
		apiserver.Must(t, applies(t, "ed", "platform", stack.Name, protected))
	})
	t.Run("a Stack without managers, as from a backup", func(t *testing.T) {
		stack := newStack(nil)
		apiserver.Must(t, applies(t, "root", fluxManager, stack.Name, ofFlux()))
		writes(t, stack, []change{
			{"root", `{"metadata":{"managedFields":[{}]}}`, ""},
			{"eve", `{"metadata":{"labels":{"a":"b"}}}`, "verb update"},
			{"eve", `{"metadata":{"annotations":{"a":"b"}}}`, "verb update"},
			{"eve", `{"spec":{"suspend":true}}`, "verb update"},
			{"pete", asks("requested-at", "1", "requested-operation", "Plan"), ""},
		})
	})
	t.Run("a user with all verbs may", func(t *testing.T) {
		stack := guarded(t)
		apiserver.Must(t, steal(t, stack, "alice"))
	})
	t.Run("the operator sets its finalizer however many managers there are", func(t *testing.T) {
		stack := guarded(t)
		for i := range 12 {
			patch := fmt.Sprintf(`{"metadata":{"labels":{"example.com/%d":"x"}}}`, i)
			owner := client.FieldOwner(fmt.Sprint("manager-", i))
			apiserver.Must(t, as(t, "ed").Patch(t.Context(), stack.DeepCopy(), merge(patch), owner))
		}
		writes(t, stack, finalized)
	})
	t.Run("what a user and Flux do without an attack", func(t *testing.T) {
		stack := guarded(t)
		name := stack.Name
		writes(t, stack, []change{
			{"pete", asks("requested-at", "1", "requested-operation", "Plan"), ""},
			{"alan", asks("requested-at", "2", "requested-operation", "Apply"), ""},
			{"ed", `{"spec":{"requireApprovalFor":["Delete","Replace"]}}`, ""}, {"alan", asks("requested-at", "3"), ""},
		})
		writes(t, stack, finalized)
		for _, at := range []string{"4", "5"} {
			request := map[string]any{"cairn.dev/requested-at": at, "cairn.dev/requested-operation": "Plan"}
			fields := map[string]any{"metadata": map[string]any{"annotations": request}}
			apiserver.Must(t, applies(t, "pete", "pete", name, fields))
		}
		apiserver.Must(t, applies(t, gitops, fluxManager, name, ofFlux()))
		spec := ofFlux()["spec"].(map[string]any)
		spec["deletionPolicy"] = "Protect" // it is in Git too now, and then no longer
		apiserver.Must(t, applies(t, gitops, fluxManager, name, map[string]any{"spec": spec}))
		apiserver.Must(t, applies(t, gitops, fluxManager, name, ofFlux()))
		apiserver.Must(t, apiserver.Kube.Get(t.Context(), client.ObjectKeyFromObject(stack), stack))
		if s := stack.Spec; s.DeletionPolicy != v1alpha1.DeletionProtect || len(s.RequireApprovalFor) != 2 {
			t.Errorf("the Stack has %+v", s)
		}
	})
	t.Run("GitOps alone", func(t *testing.T) {
		stack := newStack(nil)
		spec := ofFlux()["spec"].(map[string]any)
		delete(spec, "apply")
		for _, policy := range []string{"Orphan", "Protect"} {
			spec["deletionPolicy"] = policy
			apiserver.Must(t, applies(t, gitops, fluxManager, stack.Name, map[string]any{"spec": spec}))
		}
		delete(spec, "deletionPolicy")
		check(t, applies(t, gitops, fluxManager, stack.Name, map[string]any{"spec": spec}), "verb destroy")
	})
}

// An approval can change who manages it, and no other field of the Run.
func TestFieldManagersOfARun(t *testing.T) {
	settled(t)
	run := newRun(name())
	run.Labels = map[string]string{"a": "b"}
	apiserver.Must(t, apiserver.Kube.Create(t.Context(), run))
	run.Status.Phase = v1alpha1.PhaseAwaitingApproval
	run.Status.Plan = &v1alpha1.Plan{Digest: digestOf("a"), Changes: true}
	apiserver.Must(t, apiserver.Kube.Status().Update(t.Context(), run))
	approval := fmt.Sprintf(`{"spec":{"approval":{"by":"bob","planDigest":%q}}`, digestOf("a"))
	writes(t, run, []change{
		{"bob", approval + `,"metadata":{"managedFields":[{}]}}`,
			"(metadata.managedFields): this requires the verb update"},
		{"eve", `{"metadata":{"managedFields":[{}]}}`, "eve cannot change who manages the fields of Run"},
		{"eve", `{"metadata":{"generateName":"x"}}`, "verb update"},
		{"bob", approval + "}", ""}, {"alice", strings.ReplaceAll(approval, "bob", "alice") + "}", ""},
		{"cass", `{"spec":{"cancel":true}}`, ""},
	})
}
