//go:build envtest

package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/engine/plan/planfile/planfiletest"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/test/apiserver"
)

// planOf creates a resource.
func planOf(name string) planfiletest.Plan {
	return planfiletest.Plan{{Address: "terraform_data." + name, Action: planfiletest.Create,
		After: map[string]any{"input": name, "id": planfiletest.Unknown}}}
}

// planning is a runner that plans in the first attempt of a new Run, and has uploaded a plan.
func (e *env) planning(name string) (*runner, *v1alpha1.Run, string) {
	e.Helper()
	run := e.newRun(e.stack, name)
	r := e.newPod(name+"-plan-1", run).begin(run, v1alpha1.AttemptPlan)
	return r, run, r.uploads(planOf("a").File(e))
}

// uploads stores a plan file and returns its digest.
func (r *runner) uploads(plan []byte) string {
	r.Helper()
	kept, err := r.client().PutPlan(r.Context(), bytes.NewReader(plan), int64(len(plan)))
	must(r.T, err)
	return kept.Digest
}

// document is what a runner sends of the JSON of a plan.
func document(shown []byte, secrets ...string) []byte {
	data, err := json.Marshal(runnerapi.PlanDocument{Secrets: secrets, Plan: shown})
	if err != nil {
		panic(err)
	}
	return data
}

// documents sends the JSON of a plan.
func (r *runner) documents(digest string, shown []byte, secrets ...string) {
	r.Helper()
	data := document(shown, secrets...)
	must(r.T, r.client().PutPlanDocument(r.Context(), digest, bytes.NewReader(data), int64(len(data))))
}

// decides makes a plan the one that the Run is to apply.
func (e *env) decides(run *v1alpha1.Run, digest string) {
	e.Helper()
	run.Status.Plan = &v1alpha1.Plan{Digest: digest}
	must(e.T, apiserver.Kube.Status().Update(e.Context(), run))
}

func TestPlanJSONIsWhatWasCompared(t *testing.T) {
	e := newEnv(t)
	r, run, _ := e.planning("net-1")
	large := planfiletest.Plan{{Address: "terraform_data.a", Action: planfiletest.Create,
		After: map[string]any{"input": strings.Repeat("x", 9<<20)}}}
	digest := r.uploads(large.File(t))
	for range 2 { // its answer was lost
		r.documents(digest, large.JSON(t))
	}
	r.expect(403, "is not the plan of Run net-1", "GET", "/v1/plan/"+digest+"/json", nil)
	e.decides(run, digest)
	apply := e.newPod("net-1-apply-2", run).begin(run, v1alpha1.AttemptApply)
	file, err := os.Create(filepath.Join(t.TempDir(), "json"))
	must(t, err)
	must(t, apply.client().PlanJSON(t.Context(), digest, file))
	must(t, file.Close())
	got, err := os.ReadFile(file.Name())
	var want, shown any
	if err := errors.Join(err, json.Unmarshal(large.JSON(t), &want), json.Unmarshal(got, &shown)); err != nil ||
		!cmp.Equal(want, shown) {
		t.Errorf("it came back as %d bytes: %v", len(got), err)
	}
	apply.expect(409, "plans nothing", "PUT", "/v1/plan/"+digest+"/document", []byte("{}"))
	apply.expect(409, "plans nothing", "POST", "/v1/policy/"+digest, nil)
	r.expect(403, "not the current one", "PUT", "/v1/plan/"+digest+"/document", []byte("{}"))
	r.expect(403, "not the current one", "GET", "/v1/plan/"+digest+"/json", nil)
}

// A reported plan matches the plan file, also when a hook reports it before the runner.
func TestReportedPlanMatchesThePlanFile(t *testing.T) {
	e := newEnv(t)
	r, _, digest := e.planning("net-1")
	r.expect(422, "resource_changes: terraform_data.a: its actions are", "PUT", "/v1/plan/"+digest+"/document",
		document(planfiletest.Plan{{Address: "terraform_data.a", Action: planfiletest.NoOp,
			Before: map[string]any{"input": "a"}}}.JSON(t)))
	r.expect(422, "the change of terraform_data.a in the plan file is missing", "PUT", "/v1/plan/"+digest+"/document",
		document(planfiletest.Plan{}.JSON(t)))
	r.expect(204, "", "PUT", "/v1/plan/"+digest+"/document", document(planOf("a").JSON(t)))
	hidden := bytes.ReplaceAll(planOf("a").JSON(t), []byte(`"input":"a"`), []byte(`"input":"(sensitive value)"`))
	r.expect(422, "its value is another one", "PUT", "/v1/plan/"+digest+"/document", document(hidden))
	marked := bytes.Replace(planOf("a").JSON(t), []byte(`"after_unknown"`),
		[]byte(`"after_sensitive":{"input":true},"after_unknown"`), 1)
	r.expect(409, "another document of this plan", "PUT", "/v1/plan/"+digest+"/document", document(marked))

	report := runnerapi.Report{Done: &runnerapi.Done{Plan: &runnerapi.Plan{Digest: digest, Changes: true, Import: 1,
		Fingerprint: "reported", Shape: "reported",
		Resources: []runnerapi.ResourceChange{{Address: "terraform_data.b", Action: "import"}}}}}
	must(t, r.client().Report(t.Context(), report))
	reported := (<-e.fakes.reports).Done.Plan
	if len(reported.Fingerprint) != 32 || len(reported.Shape) != 32 || reported.Shape == reported.Fingerprint {
		t.Errorf("the fingerprint is %q, and the shape %q", reported.Fingerprint, reported.Shape)
	}
	reported.Fingerprint, reported.Shape = "", ""
	if diff := cmp.Diff(&runnerapi.Plan{Digest: digest, Changes: true, Add: 1,
		Resources: []runnerapi.ResourceChange{{Address: "terraform_data.a", Action: "create"}}}, reported); diff != "" {
		t.Error(diff)
	}
}

// TestPlansThatDoTheSameHaveOneFingerprint: the server computes it from what it compared with the plan file.
func TestPlansThatDoTheSameHaveOneFingerprint(t *testing.T) {
	e := newEnv(t)
	fingerprint := func(run, resource string, change ...func(*runnerapi.Plan)) string {
		t.Helper()
		r, _, _ := e.planning(run)
		digest := r.uploads(planOf(resource).File(t))
		r.documents(digest, planOf(resource).JSON(t))
		p := &runnerapi.Plan{Digest: digest, Changes: true}
		for _, c := range change {
			c(p)
		}
		must(t, r.client().Report(t.Context(), runnerapi.Report{Done: &runnerapi.Done{Plan: p}}))
		return (<-e.fakes.reports).Done.Plan.Fingerprint
	}
	first := fingerprint("net-1", "a")
	if again := fingerprint("net-2", "a"); len(first) != 32 || again != first {
		t.Errorf("plans that do the same have the fingerprints %q and %q", first, again)
	}
	if other := fingerprint("net-3", "b"); other == first || other == "" {
		t.Errorf("the plan of another resource has the fingerprint %q", other)
	}
	if script := fingerprint("net-4", "a", func(p *runnerapi.Plan) { p.Script = true }); script != "" {
		t.Errorf("a plan that a script applies has the fingerprint %q", script)
	}
	if more := fingerprint("net-5", "a", func(p *runnerapi.Plan) {
		p.Untracked = []runnerapi.UntrackedResource{{Address: "terraform_data.x"}}
	}); more != "" {
		t.Errorf("a plan beside resources that are not in the state has the fingerprint %q", more)
	}
}

// TestOutputsOfAPlanAreThoseOfThePlanFile: the Run gets their names, at most 100, and no value, whatever the pod
// reports.
func TestOutputsOfAPlanAreThoseOfThePlanFile(t *testing.T) {
	e := newEnv(t)
	r, _, _ := e.planning("net-1")
	outputs := []planfiletest.Output{
		{Name: "a-nat", Action: planfiletest.Create, Values: []any{"nat-staging"}},
		{Name: "a-token", Action: planfiletest.Create, Values: []any{planfiletest.Unknown}, Sensitive: true},
		{Name: strings.Repeat("a", 300), Action: planfiletest.Delete, Values: []any{"x"}},
	}
	for i := range v1alpha1.MaxPlanOutputs {
		outputs = append(outputs, planfiletest.Output{Name: fmt.Sprintf("b%03d", i), Action: planfiletest.Delete,
			Values: []any{i}})
	}
	digest := r.uploads(planfiletest.Zip(t, planfiletest.WithOutputs(t, planOf("a").Message(t), outputs...)))
	must(t, r.client().Report(t.Context(), runnerapi.Report{Done: &runnerapi.Done{Plan: &runnerapi.Plan{
		Digest: digest, Changes: true, Outputs: []runnerapi.OutputChange{{Name: "reported", Action: "create"}},
		MoreOutputs: 7,
	}}}))
	p := (<-e.fakes.reports).Done.Plan
	want := []runnerapi.OutputChange{
		{Name: "a-nat", Action: "create", Known: true}, {Name: "a-token", Action: "create", Sensitive: true},
		{Name: "b000", Action: "delete"},
	}
	if len(p.Outputs) != v1alpha1.MaxPlanOutputs || p.MoreOutputs != 3 {
		t.Fatalf("%d outputs and %d more", len(p.Outputs), p.MoreOutputs)
	}
	if diff := cmp.Diff(want, p.Outputs[:3]); diff != "" {
		t.Error(diff)
	}
	if text, err := json.Marshal(p); err != nil || strings.Contains(string(text), "nat-staging") {
		t.Errorf("%s, %v", text, err)
	}
}

func TestUnreadablePlanFileIsReportedAsUnverified(t *testing.T) {
	e := newEnv(t)
	r, _, _ := e.planning("net-1")
	digest := r.uploads([]byte(`{"encrypted_data":"..."}`))
	r.expect(204, "", "PUT", "/v1/plan/"+digest+"/document", document(planOf("a").JSON(t)))
	must(t, r.client().Report(t.Context(),
		runnerapi.Report{Done: &runnerapi.Done{Plan: &runnerapi.Plan{Digest: digest, Changes: true, Add: 1,
			Outputs: []runnerapi.OutputChange{{Name: "reported"}}}}}))
	if p := (<-e.fakes.reports).Done.Plan; p.Add != 1 || len(p.Outputs) > 0 ||
		!strings.Contains(p.Unverified, "it is no zip archive") {
		t.Errorf("%+v", p)
	}
}

// A secret is hidden from users, wherever it is, but not what the plan changes; policies get all of it, and their
// messages are hidden again.
func TestSecretsHideNothingFromPolicies(t *testing.T) {
	e := newEnv(t)
	e.document(inputs.Document{Policies: []inputs.Policy{{Name: "rules",
		Files: map[string]string{"a.rego": `package main
import rego.v1
deny contains msg if {
	some r in input.resource_changes
	r.type == "terraform_data"
	r.change.after.input == "forbidden"
	msg := sprintf("%s: %s is not allowed", [r.address, r.change.after.input])
}`}}}})
	run := e.newRun(e.stack, "net-1")
	r := e.newPod("net-1-plan-1", run).begin(run, v1alpha1.AttemptPlan)
	plan := planfiletest.Plan{{Address: "terraform_data.a", Action: planfiletest.Create,
		After: map[string]any{"input": "forbidden"}}}
	digest := r.uploads(plan.File(t))
	marked := bytes.Replace(plan.JSON(t), []byte(`"after_unknown"`),
		[]byte(`"after_sensitive":{"input":true},"after_unknown"`), 1)
	r.documents(digest, marked, "terraform_data", "forbidden")
	v, err := r.client().CheckPolicy(t.Context(), digest)
	must(t, err)
	if len(v.Findings) != 1 || v.Findings[0].Message != "(sensitive).a: (sensitive) is not allowed" {
		t.Errorf("%+v", v)
	}
	e.decides(run, digest)
	_, body := r.do("GET", "/v1/plan/"+digest+"/json", nil)
	if shown := string(body); strings.Contains(shown, "forbidden") ||
		!strings.Contains(shown, `"address":"terraform_data.a"`) ||
		!strings.Contains(shown, `"type":"terraform_data"`) {
		t.Error(shown)
	}
}

func TestSecretInTheKeyOfAnInstanceIsNotReported(t *testing.T) {
	e := newEnv(t)
	r, _, _ := e.planning("net-1")
	address := `module.hunter22["hunter22"].terraform_data.hunter22["of hunter22"]`
	digest := r.uploads(planfiletest.Plan{{Address: address, Action: planfiletest.Create,
		After: map[string]any{}}}.File(t))
	must(t, r.client().Report(t.Context(), runnerapi.Report{Done: &runnerapi.Done{Plan: &runnerapi.Plan{
		Digest: digest, Changes: true, Secrets: []string{"hunter22"},
	}}}))
	p := (<-e.fakes.reports).Done.Plan
	want := []runnerapi.ResourceChange{{
		Address: `module.hunter22["(sensitive)"].terraform_data.hunter22["of (sensitive)"]`, Action: "create",
	}}
	if diff := cmp.Diff(want, p.Resources); diff != "" || p.Secrets != nil {
		t.Errorf("%v %s", p.Secrets, diff)
	}
}

func TestPlanJSONIsAcceptedForUploadedPlans(t *testing.T) {
	e := newEnv(t)
	r, run, digest := e.planning("net-1")
	theirs, _, _ := e.planning("net-2")
	other := theirs.uploads(planOf("b").File(t))
	r.expect(409, "is not kept", "PUT", "/v1/plan/"+other+"/document", []byte("{}"))
	r.expect(409, "is not kept", "POST", "/v1/policy/"+other, nil)
	r.expect(400, "not the digest of a plan", "PUT", "/v1/plan/sha256:..%2F..%2Fx/document", []byte("{}"))
	r.expect(400, "not the digest of a plan", "POST", "/v1/policy/x", nil)
	for _, form := range []string{"verdict", "", "text", "json.text", "..%2Fx"} {
		r.expect(404, "", "PUT", "/v1/plan/"+digest+"/"+form, []byte("{}"))
		r.expect(404, "", "GET", "/v1/plan/"+digest+"/"+form, nil)
	}
	r.expect(400, "not the document of a plan", "PUT", "/v1/plan/"+digest+"/document", []byte("{"))
	// as an older runner sent it
	r.expect(400, "not the document of a plan", "PUT", "/v1/plan/"+digest+"/document", planOf("a").JSON(t))
	r.expect(413, "", "PUT", "/v1/plan/"+digest+"/document", make([]byte, runnerapi.LargestPlanDocument+1))
	e.decides(run, digest)
	r.expect(404, "", "GET", "/v1/plan/"+digest+"/json", nil)
}

// document gives a Run other inputs.
func (e *env) document(doc inputs.Document) {
	e.Helper()
	doc.Source = e.source
	digest, err := e.documents.Put(e.Context(), doc)
	must(e.T, err)
	e.inputs = digest
}

func TestPoliciesEvaluateTheStoredPlan(t *testing.T) {
	e := newEnv(t)
	e.document(inputs.Document{Policies: []inputs.Policy{{Name: "rules", Files: map[string]string{
		"a.yaml": "validations: [{expression: \"plan.resource_changes.all(r, r.name != 'a')\", message: not a}]",
	}}}})
	must(t, apiserver.Kube.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.system, Name: "base",
			Labels:      map[string]string{"cairn.dev/policy": "required"},
			Annotations: map[string]string{"cairn.dev/namespaces": "other, " + e.namespace}},
		Data: map[string]string{"b.yaml": "validations: [{expression: 'false', message: take care, action: Warn}]"},
	}))
	must(t, apiserver.Kube.Create(t.Context(), &corev1.ConfigMap{ // required in no namespace
		ObjectMeta: metav1.ObjectMeta{Namespace: e.system, Name: "draft",
			Labels: map[string]string{"cairn.dev/policy": "draft"}},
		Data: map[string]string{"b.yaml": "validations: [{expression: 'false', message: draft}]"},
	}))
	r, run, digest := e.planning("net-1")
	r.expect(409, "the document of plan "+digest+" is not kept", "POST", "/v1/policy/"+digest, nil)

	keep := func(digest, name string) {
		t.Helper()
		r.documents(digest, planOf(name).JSON(t))
	}
	keep(digest, "a")
	for range 2 { // its answer was lost
		v, err := r.client().CheckPolicy(t.Context(), digest)
		must(t, err)
		if v.Checked != 2 || v.Denied() != 1 || len(v.Findings) != 2 || v.Findings[0].Policy != "rules/a.yaml" ||
			v.Findings[1].Policy != e.system+"/base/b.yaml" {
			t.Errorf("got %+v", v)
		}
	}
	other := r.uploads(planOf("b").File(t))
	keep(other, "b")
	if v, err := r.client().CheckPolicy(t.Context(), other); err != nil || v.Denied() != 0 || len(v.Findings) != 1 {
		t.Errorf("got %+v, %v", v, err)
	}
	encrypted := r.uploads([]byte("encrypted"))
	keep(encrypted, "b")
	if v, err := r.client().CheckPolicy(t.Context(), encrypted); err != nil || v.Denied() != 1 ||
		!strings.Contains(v.Findings[0].Message, "policies cannot be sure") {
		t.Errorf("got %+v, %v", v, err)
	}
	if there, err := e.bucket.Exists(t.Context(), "plans/"+e.namespace+"/"+string(run.UID)+"/"+digest+
		".verdict"); err != nil || !there {
		t.Errorf("the verdict is kept: %v, %v", there, err)
	}
}

func TestEveryPlanIsAllowedWithoutPolicies(t *testing.T) {
	e := newEnv(t)
	r, _, digest := e.planning("net-1")
	if v, err := r.client().CheckPolicy(t.Context(), digest); err != nil || v.Checked != 0 || len(v.Findings) != 0 {
		t.Errorf("got %+v, %v", v, err)
	}
}

func TestInterruptIsSentAtOnce(t *testing.T) {
	e := newEnv(t)
	r, run := e.applying()
	got := make(chan *runnerapi.Interrupt, 1)
	go func() {
		i, err := r.client().Interrupt(context.WithoutCancel(t.Context()))
		if err != nil {
			t.Error(err)
		}
		got <- i
	}()
	<-e.fakes.asked
	e.fakes.interrupt <- runnerapi.Interrupt{Reason: "canceled by bob"}
	if i := <-got; i == nil || i.Reason != "canceled by bob" {
		t.Errorf("got %v", i)
	}
	finish(e, run)
	r.expect(403, "is finished", "GET", "/v1/interrupt", nil)
	r.attempt = 7
	r.expect(403, "", "GET", "/v1/interrupt", nil)
}

func TestStoppingServerReleasesRunnersThatWaitForAnInterrupt(t *testing.T) {
	e := newEnv(t)
	r, _ := e.applying()
	codes := make(chan int, 1)
	go func() {
		code, _ := r.do("GET", "/v1/interrupt", nil)
		codes <- code
	}()
	<-e.fakes.asked
	began := time.Now()
	e.stop()
	if code := <-codes; code != http.StatusNoContent {
		t.Errorf("got %d", code)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("stopped after %s", took)
	}
}

func TestConcurrentInterruptRequestsOfAPodAreLimited(t *testing.T) {
	e := newEnv(t)
	r, _ := e.applying()
	r.waits(4, "/v1/interrupt", func() { e.fakes.interrupt <- runnerapi.Interrupt{Reason: "canceled"} })
}
