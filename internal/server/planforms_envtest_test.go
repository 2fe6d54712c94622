//go:build envtest

package server_test

import (
	"bytes"
	"context"
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
	"cairn.dev/cairn/internal/inputs"
	"cairn.dev/cairn/internal/plan/planfile/planfiletest"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/test/apiserver"
)

// planOf creates a resource.
func planOf(name string) planfiletest.Plan {
	return planfiletest.Plan{{Address: "terraform_data." + name, Action: planfiletest.Create, After: map[string]any{"input": name, "id": planfiletest.Unknown}}}
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

// decides makes a plan the one that the Run is to apply.
func (e *env) decides(run *v1alpha1.Run, digest string) {
	e.Helper()
	run.Status.Plan = &v1alpha1.Plan{Digest: digest}
	must(e.T, apiserver.Kube.Status().Update(e.Context(), run))
}

func TestPlanJSONIsStoredUnchanged(t *testing.T) {
	e := newEnv(t)
	r, run, _ := e.planning("net-1")
	large := planfiletest.Plan{{Address: "terraform_data.a", Action: planfiletest.Create, After: map[string]any{"input": strings.Repeat("x", 9<<20)}}}
	digest, shown := r.uploads(large.File(t)), large.JSON(t)
	for range 2 { // its answer was lost
		must(t, r.client().PutPlanJSON(t.Context(), digest, bytes.NewReader(shown), int64(len(shown))))
	}
	r.expect(403, "is not the plan of Run net-1", "GET", "/v1/plan/"+digest+"/json", nil)
	e.decides(run, digest)
	apply := e.newPod("net-1-apply-2", run).begin(run, v1alpha1.AttemptApply)
	file, err := os.Create(filepath.Join(t.TempDir(), "json"))
	must(t, err)
	must(t, apply.client().PlanJSON(t.Context(), digest, file))
	must(t, file.Close())
	got, err := os.ReadFile(file.Name())
	if err != nil || !bytes.Equal(got, shown) {
		t.Errorf("%d bytes came back as %d: %v", len(shown), len(got), err)
	}
	apply.expect(409, "plans nothing", "PUT", "/v1/plan/"+digest+"/json", []byte("{}"))
	apply.expect(409, "plans nothing", "POST", "/v1/policy/"+digest, nil)
	r.expect(403, "not the current one", "PUT", "/v1/plan/"+digest+"/json", []byte("{}"))
	r.expect(403, "not the current one", "GET", "/v1/plan/"+digest+"/json", nil)
}

// A reported plan matches the plan file, also when a hook reports it before the runner.
func TestReportedPlanMatchesThePlanFile(t *testing.T) {
	e := newEnv(t)
	r, _, digest := e.planning("net-1")
	r.expect(422, "resource_changes: terraform_data.a: its actions are", "PUT", "/v1/plan/"+digest+"/json",
		planfiletest.Plan{{Address: "terraform_data.a", Action: planfiletest.NoOp, Before: map[string]any{"input": "a"}}}.JSON(t))
	r.expect(422, "the change of terraform_data.a in the plan file is missing", "PUT", "/v1/plan/"+digest+"/json", planfiletest.Plan{}.JSON(t))
	r.expect(204, "", "PUT", "/v1/plan/"+digest+"/json", planOf("a").JSON(t))
	hidden := bytes.ReplaceAll(planOf("a").JSON(t), []byte(`"input":"a"`), []byte(`"input":"(sensitive value)"`))
	r.expect(409, "another JSON of plan", "PUT", "/v1/plan/"+digest+"/json", hidden)

	report := runnerapi.Report{Done: &runnerapi.Done{Plan: &runnerapi.Plan{Digest: digest, Changes: true, Import: 1, Resources: []runnerapi.ResourceChange{{Address: "terraform_data.b", Action: "import"}}}}}
	must(t, r.client().Report(t.Context(), report))
	if diff := cmp.Diff(&runnerapi.Plan{Digest: digest, Changes: true, Add: 1, Resources: []runnerapi.ResourceChange{{Address: "terraform_data.a", Action: "create"}}}, (<-e.fakes.reports).Done.Plan); diff != "" {
		t.Error(diff)
	}
}

func TestUnreadablePlanFileIsReportedAsUnverified(t *testing.T) {
	e := newEnv(t)
	r, _, _ := e.planning("net-1")
	digest := r.uploads([]byte(`{"encrypted_data":"..."}`))
	r.expect(204, "", "PUT", "/v1/plan/"+digest+"/json", planOf("a").JSON(t))
	must(t, r.client().Report(t.Context(), runnerapi.Report{Done: &runnerapi.Done{Plan: &runnerapi.Plan{Digest: digest, Changes: true, Add: 1}}}))
	if p := (<-e.fakes.reports).Done.Plan; p.Add != 1 || !strings.Contains(p.Unverified, "it is no zip archive") {
		t.Errorf("%+v", p)
	}
}

func TestPlanJSONIsAcceptedForUploadedPlans(t *testing.T) {
	e := newEnv(t)
	r, run, digest := e.planning("net-1")
	theirs, _, _ := e.planning("net-2")
	other := theirs.uploads(planOf("b").File(t))
	r.expect(409, "is not kept", "PUT", "/v1/plan/"+other+"/json", []byte("{}"))
	r.expect(409, "is not kept", "POST", "/v1/policy/"+other, nil)
	r.expect(400, "not the digest of a plan", "PUT", "/v1/plan/sha256:..%2F..%2Fx/json", []byte("{}"))
	r.expect(400, "not the digest of a plan", "POST", "/v1/policy/x", nil)
	for _, form := range []string{"verdict", "", "text", "json.text", "..%2Fx"} {
		r.expect(404, "", "PUT", "/v1/plan/"+digest+"/"+form, []byte("{}"))
		r.expect(404, "", "GET", "/v1/plan/"+digest+"/"+form, nil)
	}
	r.expect(400, "not JSON", "PUT", "/v1/plan/"+digest+"/json", []byte("{"))
	r.expect(413, "", "PUT", "/v1/plan/"+digest+"/json", make([]byte, runnerapi.LargestPlanJSON+1))
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
		ObjectMeta: metav1.ObjectMeta{Namespace: e.system, Name: "base", Labels: map[string]string{"cairn.dev/policy": "required"}, Annotations: map[string]string{"cairn.dev/namespaces": "other, " + e.namespace}},
		Data:       map[string]string{"b.yaml": "validations: [{expression: 'false', message: take care, action: Warn}]"},
	}))
	must(t, apiserver.Kube.Create(t.Context(), &corev1.ConfigMap{ // required in no namespace
		ObjectMeta: metav1.ObjectMeta{Namespace: e.system, Name: "draft", Labels: map[string]string{"cairn.dev/policy": "draft"}},
		Data:       map[string]string{"b.yaml": "validations: [{expression: 'false', message: draft}]"},
	}))
	r, run, digest := e.planning("net-1")
	r.expect(409, "the JSON of plan "+digest+" is not kept", "POST", "/v1/policy/"+digest, nil)

	keep := func(digest, name string) {
		t.Helper()
		json := planOf(name).JSON(t)
		must(t, r.client().PutPlanJSON(t.Context(), digest, bytes.NewReader(json), int64(len(json))))
	}
	keep(digest, "a")
	for range 2 { // its answer was lost
		v, err := r.client().CheckPolicy(t.Context(), digest)
		must(t, err)
		if v.Checked != 2 || v.Denied() != 1 || len(v.Findings) != 2 || v.Findings[0].Policy != "rules/a.yaml" || v.Findings[1].Policy != e.system+"/base/b.yaml" {
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
	if v, err := r.client().CheckPolicy(t.Context(), encrypted); err != nil || v.Denied() != 1 || !strings.Contains(v.Findings[0].Message, "policies cannot be sure") {
		t.Errorf("got %+v, %v", v, err)
	}
	if there, err := e.bucket.Exists(t.Context(), "plans/"+e.namespace+"/"+string(run.UID)+"/"+digest+".verdict"); err != nil || !there {
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
