//go:build envtest

package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/test/apiserver"
)

// producer is a Stack with a state that others use.
type producer struct {
	*runner
	name   string
	serial int
}

func (e *env) newProducer(name string) *producer {
	e.Helper()
	run := e.newRun(e.newStack(name), name+"-1")
	return &producer{runner: e.newPod(name+"-1-apply-1", run).begin(run, v1alpha1.AttemptApply), name: name}
}

// has writes a state with these outputs and gives their fingerprints.
func (p *producer) has(outputs string) map[string]string {
	p.Helper()
	p.serial++
	p.lock("a", 200, "")
	p.write("a", fmt.Appendf(nil, `{"version":4,"serial":%d,"lineage":"L","outputs":{%s},"resources":[]}`, p.serial,
		outputs), 200, "")
	p.unlock("a", 200, "")
	return p.fingerprints()
}

func (p *producer) fingerprints() map[string]string {
	p.Helper()
	st := &v1alpha1.State{}
	must(p.T, apiserver.Kube.Get(p.Context(), types.NamespacedName{Namespace: p.namespace, Name: p.name}, st))
	return st.Status.Outputs
}

// user makes the pod of a Run with variables from outputs of Stacks, "stack#output", that it was made for the
// fingerprints of.
func (e *env) user(run string, of map[string]string) *runner {
	e.Helper()
	doc := inputs.Document{Source: e.source, Versions: map[string]string{},
		Variables: []v1alpha1.Variable{{Name: "plain"}}}
	for name, fingerprint := range of {
		stack, output, _ := strings.Cut(name, "#")
		key := (&v1alpha1.Stack{}).KeyOf(stack)
		from := &v1alpha1.ValueFrom{Stack: &v1alpha1.OutputRef{Namespace: key.Namespace, Name: key.Name,
			Output: output}}
		doc.Variables = append(doc.Variables, v1alpha1.Variable{Name: output, ValueFrom: from})
		if fingerprint != "" {
			doc.Versions["Stack/"+name] = fingerprint
		}
	}
	digest, err := inputs.NewStore(e.bucket).Put(e.Context(), doc)
	must(e.T, err)
	was := e.inputs
	e.inputs = digest
	defer func() { e.inputs = was }()
	r := e.newRun(e.stack, run)
	return e.newPod(run+"-plan-1", r).begin(r, v1alpha1.AttemptPlan)
}

func TestOutputIsSentToTheRunOfItsFingerprint(t *testing.T) {
	e := newEnv(t)
	vpc := e.newProducer("vpc")
	first := vpc.has(`"id":{"value":{"a":[1,2.50]}},"secret":{"value":"canary","sensitive":true}`)
	if len(first["id"]) != 32 || len(first["secret"]) != 32 {
		t.Fatalf("fingerprints %v", first)
	}
	user := e.user("net-1", map[string]string{"vpc#id": first["id"]})
	got, err := user.client().StackOutput(t.Context(), "vpc", "id")
	must(t, err)
	if diff := cmp.Diff(runnerapi.Output{Value: json.RawMessage(`{"a":[1,2.50]}`)}, got); diff != "" {
		t.Error(diff)
	}
	user.expect(403, `no variable of Run net-1 takes its value from output "secret" of Stack "vpc"`, "GET",
		"/v1/outputs/vpc/secret", nil)
	user.expect(403, "", "GET", "/v1/outputs/net/id", nil)
	user.expect(403, "", "GET", "/v1/outputs/vpc/..%2Fid", nil)
	vpc.expect(403, "Run vpc-1", "GET", "/v1/outputs/vpc/id", nil)

	// Another output is another matter; this one has to be what it was.
	if again := vpc.has(`"id":{"value":{"a":[1,2.50]}},"secret":{"value":"other","sensitive":true}`); again["id"] !=
		first["id"] || again["secret"] == first["secret"] {
		t.Errorf("%v after %v", again, first)
	}
	user.expect(200, "", "GET", "/v1/outputs/vpc/id", nil)
	now := vpc.has(`"id":{"value":{"a":[1,2.50]},"sensitive":true}`)
	user.expect(409, "output id of Stack vpc changed since Run net-1 was created", "GET", "/v1/outputs/vpc/id", nil)

	next := e.user("net-2", map[string]string{"vpc#id": now["id"]})
	if got, err := next.client().StackOutput(t.Context(), "vpc", "id"); err != nil || !got.Sensitive {
		t.Errorf("%+v, %v", got, err)
	}
	if gone := vpc.has(""); gone != nil {
		t.Errorf("a state without outputs has fingerprints %v", gone)
	}
	next.expect(409, "output id of Stack vpc is gone since Run net-2 was created", "GET", "/v1/outputs/vpc/id", nil)
}

// TestOutputOfAnotherNamespaceRequiresAGrant checks that the server asks for the StackGrant again, except for an apply.
func TestOutputOfAnotherNamespaceRequiresAGrant(t *testing.T) {
	e, network := newEnv(t), newEnv(t)
	id := network.newProducer("vpc").has(`"id":{"value":1,"sensitive":true}`)["id"]
	stack := network.namespace + "/vpc"
	path := "/v1/outputs/" + network.namespace + "%2Fvpc/id"
	user := e.user("app-1", map[string]string{stack + "#id": id})
	no := "no StackGrant in namespace " + network.namespace + " allows Stacks of namespace " + e.namespace
	user.expect(422, no, "GET", path, nil)
	user.expect(403, "no variable of Run app-1", "GET", "/v1/outputs/vpc/id", nil)
	user.expect(403, "no variable of Run app-1", "GET", "/v1/outputs/"+network.namespace+"%2Fother/id", nil)

	grant := &v1alpha1.StackGrant{ObjectMeta: metav1.ObjectMeta{Namespace: network.namespace, Name: "shop"},
		Spec: v1alpha1.StackGrantSpec{
			From:   []v1alpha1.StackGrantFrom{{Kind: v1alpha1.GrantStack, Namespace: e.namespace}},
			Stacks: []string{"vpc"},
		}}
	must(t, apiserver.Kube.Create(t.Context(), grant))
	got, err := user.client().StackOutput(t.Context(), stack, "id")
	must(t, err)
	if diff := cmp.Diff(runnerapi.Output{Value: json.RawMessage("1"), Sensitive: true}, got); diff != "" {
		t.Error(diff)
	}

	must(t, apiserver.Kube.Delete(t.Context(), grant))
	user.expect(422, no, "GET", path, nil)
	run := &v1alpha1.Run{}
	must(t, apiserver.Kube.Get(t.Context(), types.NamespacedName{Namespace: e.namespace, Name: "app-1"}, run))
	e.newPod("app-1-apply-1", run).begin(run, v1alpha1.AttemptApply).expect(200, `"value":1`, "GET", path, nil)
}

func TestUnavailableOutputs(t *testing.T) {
	e := newEnv(t)
	e.newProducer("vpc").has(`"id":{"value":1},"large":{"value":"` + strings.Repeat("x", 1<<20) + `"}`)
	dark := e.newProducer("dark")
	dark.lock("a", 200, "")
	dark.write("a", []byte(`{"serial":1,"lineage":"L","encrypted_data":"eA==","encryption_version":"v0"}`), 200, "")
	if f := dark.fingerprints(); f != nil {
		t.Errorf("an encrypted state has fingerprints %v", f)
	}
	far := newEnv(t).newProducer("far").has(`"id":{"value":1}`) // in another namespace
	user := e.user("net-1", map[string]string{"far#id": far["id"], "vpc#id": "", "vpc#large": "", "vpc#gone": "f",
		"dark#id": "f", "none#id": "f"})
	user.expect(409, "changed", "GET", "/v1/outputs/vpc/id", nil)    // made for no value at all
	user.expect(409, "changed", "GET", "/v1/outputs/vpc/large", nil) // nor has it a fingerprint
	user.expect(409, "is gone", "GET", "/v1/outputs/vpc/gone", nil)
	user.expect(409, "is gone", "GET", "/v1/outputs/none/id", nil)
	user.expect(409, "is gone", "GET", "/v1/outputs/far/id", nil)
	user.expect(422, "the state of Stack dark is encrypted", "GET", "/v1/outputs/dark/id", nil)
}

// Where no fingerprints are kept none can be right.
func TestOutputIsNotSentWithoutAFingerprintKey(t *testing.T) {
	e := newEnv(t)
	*e.state = *state.New(apiserver.Kube, apiserver.Kube, e.bucket, state.Options{})
	if got := e.newProducer("vpc").has(`"id":{"value":1}`); got != nil {
		t.Errorf("fingerprints %v", got)
	}
	e.user("net-1", map[string]string{"vpc#id": ""}).expect(409, "changed", "GET", "/v1/outputs/vpc/id", nil)
}

// What the Run was made for is compared with what was written down beside the value, whatever key there is now.
func TestOutputIsSentAfterTheFingerprintKeyWasLost(t *testing.T) {
	e := newEnv(t)
	vpc := e.newProducer("vpc")
	first := vpc.has(`"id":{"value":1}`)
	*e.state = *state.New(apiserver.Kube, apiserver.Kube, e.bucket, state.Options{
		Fingerprint: func(message []byte) string { return "another" + e.keys.Fingerprint(message)[:25] },
	})
	user := e.user("net-1", map[string]string{"vpc#id": first["id"]})
	user.expect(200, `"value":1`, "GET", "/v1/outputs/vpc/id", nil)

	// The same value in another version is another one, as it cannot be compared.
	now := vpc.has(`"id":{"value":1},"other":{"value":1}`)
	if now["id"] == first["id"] {
		t.Fatal("the key is the old one")
	}
	user.expect(409, "changed", "GET", "/v1/outputs/vpc/id", nil)
	e.user("net-2", map[string]string{"vpc#id": now["id"]}).expect(200, "", "GET", "/v1/outputs/vpc/id", nil)
}
