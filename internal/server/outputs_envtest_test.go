//go:build envtest

package server_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/test/apiserver"
)

func TestInputsAreStoredForTheDestroy(t *testing.T) {
	e := newEnv(t)
	plan := e.newRunTo(v1alpha1.OperationPlan, e.stack, "net-0")
	planning := e.newPod("net-0-plan-1", plan).begin(plan, v1alpha1.AttemptPlan)
	if err := planning.client().PutInputs(t.Context(), runnerapi.InputsKept{}); runnerapi.Code(err) != 409 {
		t.Fatalf("the inputs of a Run that only plans: %v", err)
	}
	run := e.newRun(e.stack, "net-1")
	e.newPod("net-1-plan-1", run).begin(run, v1alpha1.AttemptPlan)
	r := e.newPod("net-1-apply-2", run).begin(run, v1alpha1.AttemptApply)
	kept := runnerapi.InputsKept{Files: map[string][]byte{"a.tfvars": []byte("x = 1")}}
	must(t, r.client().PutInputs(t.Context(), runnerapi.InputsKept{Files: map[string][]byte{"b.tfvars": nil}}))
	must(t, r.client().PutInputs(t.Context(), kept)) // sent again, it is the last word that counts
	r.expect(403, "is no destroy", "GET", "/v1/inputs", nil)
	r.expect(400, "", "PUT", "/v1/inputs", []byte("no JSON"))

	destroy := e.newRunTo(v1alpha1.OperationDestroy, e.stack, "net-2")
	d := e.newPod("net-2-plan-1", destroy).begin(destroy, v1alpha1.AttemptPlan)
	got, err := d.client().Inputs(t.Context())
	must(t, err)
	if diff := cmp.Diff(kept, got); diff != "" {
		t.Error(diff)
	}

	must(t, e.bucket.DeletePrefix(t.Context(), "variables"))
	if _, err := d.client().Inputs(t.Context()); runnerapi.Code(err) != 404 {
		t.Errorf("inputs that are not stored: %v", err)
	}
}

func TestSecretThatCairnDidNotCreateStaysUnchanged(t *testing.T) {
	e := newEnv(t)
	r, _ := e.applying()
	theirs := &corev1.Secret{Data: map[string][]byte{"mine": []byte("x")}}
	theirs.Namespace, theirs.Name = e.namespace, "theirs"
	must(t, apiserver.Kube.Create(t.Context(), theirs))
	e.fakes.outputs = &v1alpha1.Outputs{Secret: &v1alpha1.ObjectRef{Name: "theirs"}}
	err := r.client().WriteOutputs(t.Context(), nil)
	if runnerapi.Code(err) != 409 || !strings.Contains(err.Error(), "Secret theirs exists and is not of Stack net") {
		t.Fatalf("got %v", err)
	}
	after := &corev1.Secret{}
	must(t, apiserver.Kube.Get(t.Context(), client.ObjectKeyFromObject(theirs), after))
	if after.ResourceVersion != theirs.ResourceVersion {
		t.Fatal("it was written")
	}
}

func TestOutputsMatchTheCode(t *testing.T) {
	e := newEnv(t)
	r, _ := e.applying()
	// they go nowhere
	must(t, r.client().WriteOutputs(t.Context(), runnerapi.Outputs{"id": {Value: json.RawMessage(`1`)}}))
	e.fakes.outputs = &v1alpha1.Outputs{Secret: &v1alpha1.ObjectRef{Name: "out"},
		ConfigMap: &v1alpha1.ObjectRef{Name: "out"}}
	secret, cm := &corev1.Secret{}, &corev1.ConfigMap{}
	key := types.NamespacedName{Namespace: e.namespace, Name: "out"}
	read := func() {
		*secret, *cm = corev1.Secret{}, corev1.ConfigMap{}
		must(t, apiserver.Kube.Get(t.Context(), key, secret))
		must(t, apiserver.Kube.Get(t.Context(), key, cm))
	}
	outputs := runnerapi.Outputs{"id": {Value: json.RawMessage(`"vpc-1"`)}, "zones": {Value: json.RawMessage(`["a"]`)},
		"key": {Value: json.RawMessage(`"s"`), Sensitive: true}}
	must(t, r.client().WriteOutputs(t.Context(), outputs))
	read()
	if diff := cmp.Diff(map[string]string{"id": "vpc-1", "zones": `["a"]`}, cm.Data); diff != "" ||
		string(secret.Data["key"]) != "s" || len(secret.Data) != 3 {
		t.Fatal(diff, secret.Data)
	}
	for _, o := range []client.Object{secret, cm} {
		if refs := o.GetOwnerReferences(); len(refs) != 1 || refs[0].UID != e.stack.UID ||
			o.GetLabels()["app.kubernetes.io/managed-by"] != "cairn" {
			t.Fatalf("%T: %+v %v", o, refs, o.GetLabels())
		}
	}
	before := secret.ResourceVersion + cm.ResourceVersion
	must(t, r.client().WriteOutputs(t.Context(), outputs))
	if read(); secret.ResourceVersion+cm.ResourceVersion != before {
		t.Fatal("the same outputs are written again")
	}
	// One that becomes sensitive leaves the ConfigMap; one that is gone leaves both.
	outputs["id"] = runnerapi.Output{Value: json.RawMessage(`"vpc-1"`), Sensitive: true}
	delete(outputs, "zones")
	must(t, r.client().WriteOutputs(t.Context(), outputs))
	if read(); len(cm.Data) != 0 || len(secret.Data) != 2 {
		t.Fatalf("left %v, %d", cm.Data, len(secret.Data))
	}
	// A Secret of another type has another purpose, whatever its owner is.
	typed := secret.DeepCopy()
	typed.ObjectMeta = metav1.ObjectMeta{Namespace: e.namespace, Name: "typed", Labels: secret.Labels,
		OwnerReferences: secret.OwnerReferences}
	typed.Type = "example.com/other"
	must(t, apiserver.Kube.Create(t.Context(), typed))
	e.fakes.outputs.Secret.Name = "typed"
	if err := r.client().WriteOutputs(t.Context(), outputs); runnerapi.Code(err) != 409 {
		t.Fatalf("a Secret of another type: %v", err)
	}
	e.fakes.outputs.Secret.Name = "out"
	// A Run that only plans has no outputs.
	speculative := e.newRunTo(v1alpha1.OperationPlan, e.stack, "net-2")
	p := e.newPod("net-2-plan-1", speculative).begin(speculative, v1alpha1.AttemptPlan)
	if err := p.client().WriteOutputs(t.Context(), outputs); runnerapi.Code(err) != 403 {
		t.Fatalf("a plan's outputs: %v", err)
	}
	// What another Stack of Cairn's owns is not this one's.
	e.fakes.stack = e.newStack("db")
	if err := r.client().WriteOutputs(t.Context(), outputs); runnerapi.Code(err) != 409 {
		t.Fatalf("another Stack's: %v", err)
	}
}

func TestBucketIsEncrypted(t *testing.T) {
	e := newEnv(t)
	r, _ := e.applying()
	const canary = "canary-51b7"
	c := r.client()
	_, err := c.PutPlan(t.Context(), strings.NewReader(canary), int64(len(canary)))
	must(t, err)
	_, err = c.AppendLog(t.Context(), 0, []byte(canary))
	must(t, err)
	r.lock("a", 200, "")
	must(t, second(c.Rescue(t.Context(), "", stateFile(1, "L", canary))))
	big := state.New(apiserver.Kube, apiserver.Kube, e.bucket, state.Options{Storage: v1alpha1.StateStorageBucket})
	by := decision.Holder{Run: "net-1", Attempt: 1, PodUID: r.pod.UID}
	must(t, big.Write(t.Context(), client.ObjectKeyFromObject(e.stack), by, "a", stateFile(2, "L", canary)))
	for _, dir := range []string{"plans", "logs", "rescue", "states"} {
		keys, err := e.bucket.List(t.Context(), dir)
		if err != nil || len(keys) == 0 {
			t.Errorf("%s: %v %v", dir, keys, err)
		}
	}
	files := 0
	must(t, filepath.WalkDir(e.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if files++; bytes.Contains(data, []byte(canary)) {
			t.Errorf("%s is in clear", path)
		}
		return err
	}))
	if files < 6 {
		t.Errorf("%d files", files)
	}
}
