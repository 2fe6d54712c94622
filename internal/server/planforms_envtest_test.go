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
func (w *world) planning(name string) (*runner, *v1alpha1.Run, string) {
	w.Helper()
	run := w.newRun(w.stack, name)
	r := w.newPod(name+"-plan-1", run).begin(run, v1alpha1.AttemptPlan)
	return r, run, r.uploads(planOf("a").File(w))
}

// uploads stores a plan file and returns its digest.
func (r *runner) uploads(plan []byte) string {
	r.Helper()
	kept, err := r.client().PutPlan(r.Context(), bytes.NewReader(plan), int64(len(plan)))
	must(r.T, err)
	return kept.Digest
}

// decides makes a plan the one that the Run is to apply.
func (w *world) decides(run *v1alpha1.Run, digest string) {
	w.Helper()
	run.Status.Plan = &v1alpha1.Plan{Digest: digest}
	must(w.T, apiserver.Kube.Status().Update(w.Context(), run))
}

func TestTheJSONOfAPlanIsStoredUnchanged(t *testing.T) {
	w := newWorld(t)
	r, run, _ := w.planning("net-1")
	large := planfiletest.Plan{{Address: "terraform_data.a", Action: planfiletest.Create, After: map[string]any{"input": strings.Repeat("x", 9<<20)}}}
	digest, shown := r.uploads(large.File(t)), large.JSON(t)
	for range 2 { // its answer was lost
		must(t, r.client().PutPlanJSON(t.Context(), digest, bytes.NewReader(shown), int64(len(shown))))
	}
	r.expect(403, "is not the plan of Run net-1", "GET", "/v1/plan/"+digest+"/json", nil)
	w.decides(run, digest)
	apply := w.newPod("net-1-apply-2", run).begin(run, v1alpha1.AttemptApply)
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

// TestWhatAPodReportsOfAPlanIsWhatItsPlanFileSays, also when a hook reports it before the runner.
func TestWhatAPodReportsOfAPlanIsWhatItsPlanFileSays(t *testing.T) {
	w := newWorld(t)
	r, _, digest := w.planning("net-1")
	r.expect(422, "resource_changes: terraform_data.a: its actions are", "PUT", "/v1/plan/"+digest+"/json",
		planfiletest.Plan{{Address: "terraform_data.a", Action: planfiletest.NoOp, Before: map[string]any{"input": "a"}}}.JSON(t))
	r.expect(422, "the change of terraform_data.a in the plan file is missing", "PUT", "/v1/plan/"+digest+"/json", planfiletest.Plan{}.JSON(t))
	r.expect(204, "", "PUT", "/v1/plan/"+digest+"/json", planOf("a").JSON(t))
	hidden := bytes.ReplaceAll(planOf("a").JSON(t), []byte(`"input":"a"`), []byte(`"input":"(sensitive value)"`))
	r.expect(409, "another JSON of plan", "PUT", "/v1/plan/"+digest+"/json", hidden)

	report := runnerapi.Report{Done: &runnerapi.Done{Plan: &runnerapi.Plan{Digest: digest, Changes: true, Import: 1, Resources: []runnerapi.ResourceChange{{Address: "terraform_data.b", Action: "import"}}}}}
	must(t, r.client().Report(t.Context(), report))
	if diff := cmp.Diff(&runnerapi.Plan{Digest: digest, Changes: true, Add: 1, Resources: []runnerapi.ResourceChange{{Address: "terraform_data.a", Action: "create"}}}, (<-w.fakes.reports).Done.Plan); diff != "" {
		t.Error(diff)
	}
}

func TestAPlanFileThatOnlyTheEngineCanReadIsReportedAsUnverified(t *testing.T) {
	w := newWorld(t)
	r, _, _ := w.planning("net-1")
	digest := r.uploads([]byte(`{"encrypted_data":"..."}`))
	r.expect(204, "", "PUT", "/v1/plan/"+digest+"/json", planOf("a").JSON(t))
	must(t, r.client().Report(t.Context(), runnerapi.Report{Done: &runnerapi.Done{Plan: &runnerapi.Plan{Digest: digest, Changes: true, Add: 1}}}))
	if p := (<-w.fakes.reports).Done.Plan; p.Add != 1 || !strings.Contains(p.Unverified, "it is no zip archive") {
		t.Errorf("%+v", p)
	}
}

func TestTheJSONIsAcceptedForUploadedPlans(t *testing.T) {
	w := newWorld(t)
	r, run, digest := w.planning("net-1")
	theirs, _, _ := w.planning("net-2")
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
	w.decides(run, digest)
	r.expect(404, "", "GET", "/v1/plan/"+digest+"/json", nil)
}

// document gives a Run other inputs.
func (w *world) document(doc inputs.Document) {
	w.Helper()
	doc.Source = w.source
	digest, err := w.documents.Put(w.Context(), doc)
	must(w.T, err)
	w.inputs = digest
}

func TestPoliciesEvaluateTheStoredPlan(t *testing.T) {
	w := newWorld(t)
	w.document(inputs.Document{Policies: []inputs.Policy{{Name: "rules", Files: map[string]string{
		"a.yaml": "validations: [{expression: \"plan.resource_changes.all(r, r.name != 'a')\", message: not a}]",
	}}}})
	must(t, apiserver.Kube.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.system, Name: "base", Labels: map[string]string{"cairn.dev/policy": "required"}, Annotations: map[string]string{"cairn.dev/namespaces": "other, " + w.namespace}},
		Data:       map[string]string{"b.yaml": "validations: [{expression: 'false', message: take care, action: Warn}]"},
	}))
	must(t, apiserver.Kube.Create(t.Context(), &corev1.ConfigMap{ // required of nobody
		ObjectMeta: metav1.ObjectMeta{Namespace: w.system, Name: "draft", Labels: map[string]string{"cairn.dev/policy": "draft"}},
		Data:       map[string]string{"b.yaml": "validations: [{expression: 'false', message: draft}]"},
	}))
	r, run, digest := w.planning("net-1")
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
		if v.Checked != 2 || v.Denied() != 1 || len(v.Findings) != 2 || v.Findings[0].Policy != "rules/a.yaml" || v.Findings[1].Policy != w.system+"/base/b.yaml" {
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
	if there, err := w.bucket.Exists(t.Context(), "plans/"+w.namespace+"/"+string(run.UID)+"/"+digest+".verdict"); err != nil || !there {
		t.Errorf("the verdict is kept: %v, %v", there, err)
	}
}

func TestWithoutPoliciesEveryPlanIsAllowed(t *testing.T) {
	w := newWorld(t)
	r, _, digest := w.planning("net-1")
	if v, err := r.client().CheckPolicy(t.Context(), digest); err != nil || v.Checked != 0 || len(v.Findings) != 0 {
		t.Errorf("got %+v, %v", v, err)
	}
}

func TestAnInterruptIsSentAtOnce(t *testing.T) {
	w := newWorld(t)
	r, run := w.applying()
	got := make(chan *runnerapi.Interrupt, 1)
	go func() {
		i, err := r.client().Interrupt(context.WithoutCancel(t.Context()))
		if err != nil {
			t.Error(err)
		}
		got <- i
	}()
	<-w.fakes.asked
	w.fakes.interrupt <- runnerapi.Interrupt{Reason: "canceled by bob"}
	if i := <-got; i == nil || i.Reason != "canceled by bob" {
		t.Errorf("got %v", i)
	}
	finish(w, run)
	r.expect(403, "is finished", "GET", "/v1/interrupt", nil)
	r.attempt = 7
	r.expect(403, "", "GET", "/v1/interrupt", nil)
}

func TestAStoppingServerReleasesRunnersThatWaitForAnInterrupt(t *testing.T) {
	w := newWorld(t)
	r, _ := w.applying()
	codes := make(chan int, 1)
	go func() {
		code, _ := r.do("GET", "/v1/interrupt", nil)
		codes <- code
	}()
	<-w.fakes.asked
	began := time.Now()
	w.stop()
	if code := <-codes; code != http.StatusNoContent {
		t.Errorf("got %d", code)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("stopped after %s", took)
	}
}

func TestConcurrentInterruptRequestsOfAPodAreLimited(t *testing.T) {
	w := newWorld(t)
	r, _ := w.applying()
	r.waits(4, "/v1/interrupt", func() { w.fakes.interrupt <- runnerapi.Interrupt{Reason: "canceled"} })
}
