package policyeval

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket/buckettest"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/engine/plan/planfile/planfiletest"
	"cairn.dev/cairn/internal/engine/policy"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/artifact"
)

// fixture is a namespace's policies, and a plan that they are asked about.
type fixture struct {
	*testing.T
	*Evaluator
	live   *fewObjects
	doc    inputs.Document
	run    *v1alpha1.Run
	dir    string
	digest string
	now    time.Time
}

// fewObjects has the ConfigMaps that the install requires.
type fewObjects struct {
	client.Reader
	maps  []corev1.ConfigMap
	err   error
	lists int
}

func (f *fewObjects) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	f.lists++
	list.(*corev1.ConfigMapList).Items = f.maps
	return f.err
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	dir := t.TempDir()
	b := buckettest.Open(t, "file://"+dir)
	c := &fixture{
		T: t, dir: dir, live: &fewObjects{}, digest: inputs.Digest([]byte("the plan")), now: time.Now(),
		run: &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "net-1", UID: "uid-1"}},
	}
	c.Evaluator = New(Options{
		Live: c.live, Namespace: "cairn-system", Bucket: b, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Inputs:   func(context.Context, string) (inputs.Document, error) { return c.doc, nil },
		Evaluate: evaluate, Now: func() time.Time { return c.now },
	})
	return c
}

// evaluate asks policies in this process.
func evaluate(ctx context.Context, modules []policy.Module, plan []byte) (runnerapi.PolicyResult, error) {
	set, err := policy.Compile(modules)
	if err != nil {
		return runnerapi.PolicyResult{}, err
	}
	return set.Check(ctx, plan, func(string) {})
}

// own gives the Stack a policy, by "file=text".
func (c *fixture) own(name string, files ...string) {
	p := inputs.Policy{Name: name, Files: map[string]string{}}
	for _, f := range files {
		file, text, _ := strings.Cut(f, "=")
		p.Files[file] = text
	}
	c.doc.Policies = append(c.doc.Policies, p)
}

// require makes the install require a policy.
func (c *fixture) require(name, namespaces string, files ...string) {
	cm := corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "cairn-system", Name: name},
		Data: map[string]string{}}
	if namespaces != "" {
		cm.Annotations = map[string]string{namespacesAnnotation: namespaces}
	}
	for _, f := range files {
		file, text, _ := strings.Cut(f, "=")
		cm.Data[file] = text
	}
	c.live.maps = append(c.live.maps, cm)
}

func (c *fixture) planIs(json string) {
	c.Helper()
	c.store(c.run, json)
}

// store stores a plan file and its JSON.
func (c *fixture) store(run *v1alpha1.Run, json string) {
	c.Helper()
	key := artifact.PlanFolder(run) + "/" + c.digest
	if err := errors.Join(c.Bucket.Put(c.Context(), key, planfiletest.Plan{}.File(c.T)),
		c.Bucket.Put(c.Context(), key+".input", []byte(`{"secrets":[],"plan":`+json+"}"))); err != nil {
		c.Fatal(err)
	}
}

// expect asks for the result and compares its findings, "policy: message" each.
func (c *fixture) expect(asked bool, checked int32, findings ...string) {
	c.Helper()
	v, was, err := c.Result(c.Context(), c.run, c.digest)
	if err != nil {
		c.Fatal(err)
	}
	if before, err := c.Asked(c.Context(), c.run); err != nil || before != was {
		c.Errorf("the order says %v, %v; the result %v", before, err, was)
	}
	if was != asked || (v == nil) != (checked == 0) {
		c.Fatalf("asked %v, and got %v", was, v)
	}
	if v == nil {
		return
	}
	if v.Checked != checked || len(v.Findings) != len(findings) {
		c.Fatalf("got %+v", v)
	}
	for i, f := range v.Findings {
		if got := fmt.Sprintf("%s %s: %s", f.Action, f.Policy, f.Message); !strings.Contains(got, findings[i]) {
			c.Errorf("finding %d is %q, want %q", i, got, findings[i])
		}
	}
}

const (
	aPlan   = `{"format_version":"1.2","resource_changes":[{"address":"terraform_data.a","name":"a","change":{"actions":["create"]}}]}`
	fine    = "a.yaml=validations: [{expression: 'true', message: fine}]"
	refuses = "a.yaml=validations: [{expression: 'false', message: never}]"
	warns   = "b.yaml=validations: [{expression: 'false', message: take care, action: Warn}]"
)

func TestNoEvaluationWithoutPolicies(t *testing.T) {
	c := newFixture(t)
	c.planIs(aPlan)
	c.require("theirs", "other", refuses)
	c.expect(false, 0)
}

func TestMissingPlanHasNoResult(t *testing.T) {
	c := newFixture(t)
	c.own("rules", fine)
	c.expect(true, 0)
	c.digest = "../../sha256:" // nor has what is none
	c.expect(true, 0)
}

func TestAllPoliciesAreEvaluatedAndDenialsComeFirst(t *testing.T) {
	c := newFixture(t)
	c.planIs(aPlan)
	c.own("rules", refuses, warns)
	c.own("more", fine)
	c.require("all", "", refuses)
	c.require("by-name", "web, infra", warns)
	c.require("by-pattern", "in*", fine)
	c.require("of-others", "inf", refuses)
	c.expect(true, 6, "Deny cairn-system/all/a.yaml: never", "Deny rules/a.yaml: never",
		"Warn cairn-system/by-name/b.yaml: take care", "Warn rules/b.yaml: take care")
}

// A plan is evaluated once: a later request gets the stored result, even when the policies are other ones.
func TestResultIsStored(t *testing.T) {
	c := newFixture(t)
	c.planIs(aPlan)
	c.own("rules", warns)
	c.expect(true, 1, "Warn rules/b.yaml")
	c.doc.Policies = nil
	c.own("rules", refuses)
	c.planIs(`{}`)
	c.expect(true, 1, "Warn rules/b.yaml")
}

// A result in the bucket is used as one of the plan for which Cairn wrote it. Otherwise the plan is evaluated again.
func TestStoredResultOfAnotherPlanIsNotUsed(t *testing.T) {
	c := newFixture(t)
	c.planIs(aPlan)
	c.own("rules", refuses)
	c.expect(true, 1, "Deny rules/a.yaml: never")
	if err := c.Bucket.Put(t.Context(), "plans/infra/uid-2/allowed", []byte(`{"checked":1}`)); err != nil {
		t.Fatal(err)
	}
	result := artifact.PlanVerdictKey(artifact.PlanFolder(c.run) + "/" + c.digest)
	if err := errors.Join(os.Remove(filepath.Join(c.dir, result)),
		os.Rename(filepath.Join(c.dir, "plans", "infra", "uid-2", "allowed"),
			filepath.Join(c.dir, result))); err != nil {
		t.Fatal(err)
	}
	c.expect(true, 1, "Deny rules/a.yaml: never")
	if _, err := c.Bucket.Get(t.Context(), result, 1<<20); err != nil {
		t.Errorf("the new result is not stored: %v", err)
	}
}

func TestDriftCheckIsNotEvaluated(t *testing.T) {
	c := newFixture(t)
	c.planIs(aPlan)
	c.own("rules", refuses)
	c.run.Spec = v1alpha1.RunSpec{Operation: v1alpha1.OperationPlan, Cause: v1alpha1.Cause{Type: v1alpha1.CauseDrift}}
	c.expect(false, 0)
	c.run.Spec.Cause.Type = v1alpha1.CauseManual
	c.expect(true, 1, "never")
}

// What the install requires and cannot be asked denies, in its namespaces and by its name.
func TestUnavailableRequiredPolicyDenies(t *testing.T) {
	for name, tt := range map[string]struct {
		namespaces string
		files      []string
		says       string
	}{
		"text that is no policy": {"infra", []string{"a.rego=package main\ndeny contains msg if {"},
			"cairn-system/base/a.rego"},
		"a pattern that is none": {"other,[", []string{fine}, `"[", which is no pattern`},
		"nothing at all":         {"", nil, "no key that ends in"},
		"a misspelled name": {"", []string{fine, "b.reg0=package main"},
			"cairn-system/base/b.reg0 ends in none of .rego, .yaml and .yml"},
		"one beside another file": {"", []string{fine, "b.yaml=validations: {"}, "cairn-system/base/b.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newFixture(t)
			c.planIs(aPlan)
			c.own("rules", fine)
			c.require("base", tt.namespaces, tt.files...)
			c.expect(true, 2, "Deny cairn-system/base: this policy cannot be read, so it denies every plan: ")
			if v, _, _ := c.Result(t.Context(), c.run, c.digest); !strings.Contains(v.Findings[0].Message, tt.says) {
				t.Errorf("it says %q, and not %q", v.Findings[0].Message, tt.says)
			}
		})
	}
	c := newFixture(t)
	c.planIs(aPlan)
	c.require("base", "other", "a.rego=package main\ndeny contains msg if {")
	c.expect(false, 0)
}

// A Stack's policies define what they like; those of the install do not see it.
func TestStackPoliciesCannotWeakenRequiredPolicies(t *testing.T) {
	c := newFixture(t)
	c.planIs(aPlan)
	const lib = "lib.rego=package lib\nallowed contains x if some x in "
	c.require("base", "", lib+`["b"]`, "main.rego=package main\ndeny contains msg if { some c in "+
		"input.resource_changes; not c.name in data.lib.allowed; msg := c.name }")
	for _, name := range []string{"base", "cairn-system"} {
		c.own(name, lib+`["a"]`, "main.rego=package main\nwarn contains msg if { some msg in data.lib.allowed; "+
			"msg == \"z\" }")
	}
	v, _, err := c.Result(t.Context(), c.run, c.digest)
	if err != nil || v == nil || v.Denied() != 1 || v.Findings[0].Message != "a" {
		t.Fatalf("got %+v, %v", v, err)
	}
}

// What was cut off is not a result: it is asked again.
func TestCanceledEvaluationIsNotStored(t *testing.T) {
	c := newFixture(t)
	c.planIs(aPlan)
	c.own("rules", fine)
	cut, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.ask(cut, "uid-1",
		[]rules{{name: "rules", files: map[string]string{"a.yaml": strings.TrimPrefix(fine, "a.yaml=")}}},
		[]byte(aPlan)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	var releases []func()
	for i := range checksAtOnce / checksEach { // as many as may be are being checked
		release, err := c.turns.Acquire(t.Context(), fmt.Sprint("other-", i), checksEach)
		if err != nil {
			t.Fatal(err)
		}
		releases = append(releases, release)
	}
	hasty, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if v, _, err := c.Result(hasty, c.run, c.digest); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, %v", v, err)
	}
	for _, release := range releases {
		release()
	}
	c.expect(true, 1)
}

// A Stack's policies may take half a minute for each plan, and its namespace may have as many plans as it likes.
func TestPoliciesOfOneNamespaceDoNotDelayOthers(t *testing.T) {
	synctest.Test(t, policiesOfOneNamespaceKeepNoOtherWaiting)
}

func policiesOfOneNamespaceKeepNoOtherWaiting(t *testing.T) {
	c := newFixture(t)
	slow, over := context.WithCancel(t.Context())
	c.Evaluate = func(ctx context.Context, modules []policy.Module, plan []byte) (runnerapi.PolicyResult, error) {
		if strings.HasPrefix(modules[0].Name, "slow") {
			<-slow.Done()
		}
		return evaluate(ctx, modules, plan)
	}
	c.own("slow", fine)
	doc := c.doc
	c.Inputs = func(_ context.Context, digest string) (inputs.Document, error) {
		if digest == "slow" {
			return doc, nil
		}
		return c.doc, nil
	}
	var all sync.WaitGroup
	defer all.Wait()
	defer over()
	for i := range 10 {
		run := c.run.DeepCopy()
		run.Namespace, run.UID, run.Spec.InputsDigest = "hostile", types.UID(fmt.Sprint(i)), "slow"
		c.store(run, aPlan)
		all.Go(func() { _, _, _ = c.Result(slow, run, c.digest) })
	}
	synctest.Wait() // all of them wait
	c.doc = inputs.Document{}
	c.own("rules", fine)
	c.planIs(aPlan)
	soon, late := context.WithTimeout(t.Context(), 10*time.Second)
	defer late()
	if v, _, err := c.Result(soon, c.run, c.digest); err != nil || v == nil || v.Checked != 1 {
		t.Errorf("got %v, %v", v, err)
	}
}

// It may be others that keep the machine busy, and then a good plan must not be denied for good.
func TestInterruptedPoliciesDenyAfterThreeEvaluations(t *testing.T) {
	c := newFixture(t)
	c.planIs(aPlan)
	c.own("rules", fine)
	over := func(context.Context, []policy.Module, []byte) (runnerapi.PolicyResult, error) {
		return runnerapi.PolicyResult{}, fmt.Errorf("rules/a.yaml: %w after 10s", policy.ErrCutOff)
	}
	really := c.Evaluate
	c.Evaluate = over
	for range mostTries - 1 {
		if v, asked, err := c.Result(t.Context(), c.run, c.digest); v != nil || !asked ||
			!errors.Is(err, policy.ErrCutOff) {
			t.Fatalf("got %v, %v, %v", v, asked, err)
		}
	}
	first := c.run
	c.run = first.DeepCopy()
	c.run.UID = "uid-2" // another Run is counted by itself
	c.planIs(aPlan)
	if v, _, err := c.Result(t.Context(), c.run, c.digest); v != nil || err == nil {
		t.Fatalf("got %v, %v", v, err)
	}
	c.Evaluate = really // and nothing is kept of it
	c.expect(true, 1)
	c.run, c.Evaluate = first, over
	c.expect(true, 1, "Deny rules: this policy cannot be asked about the plan, so it denies it: rules/a.yaml: the "+
		"policies were cut off after 10s")
	c.Evaluate = really
	c.expect(true, 1, "Deny rules: ")
}

// Asked again they would take it again.
func TestPoliciesOverTheirLimitDenyAtOnce(t *testing.T) {
	c := newFixture(t)
	c.planIs(aPlan)
	c.own("rules", fine)
	c.Evaluate = func(context.Context, []policy.Module, []byte) (runnerapi.PolicyResult, error) {
		return runnerapi.PolicyResult{}, fmt.Errorf("rules/a.yaml: %w memory: more than 512 MiB", policy.ErrTooMuch)
	}
	c.expect(true, 1, "Deny rules: this policy cannot be asked about the plan, so it denies it: rules/a.yaml: the "+
		"policies took too much memory")
}

// A runner waits for so long, however many policies there are.
func TestPoliciesShareOneDeadline(t *testing.T) {
	c := newFixture(t)
	c.planIs(aPlan)
	c.own("rules", fine)
	c.own("more", fine)
	var until []time.Time
	c.Evaluate = func(ctx context.Context, _ []policy.Module, _ []byte) (runnerapi.PolicyResult, error) {
		deadline, _ := ctx.Deadline()
		until = append(until, deadline)
		return runnerapi.PolicyResult{Checked: 1}, nil
	}
	from := time.Now()
	c.expect(true, 2)
	if len(until) != 2 || until[0] != until[1] || until[0].Before(from) ||
		until[0].After(time.Now().Add(waitForCheck)) {
		t.Errorf("from %s on: %s", from, until)
	}
}

func TestRequiredPoliciesAreReadOnceInAWhile(t *testing.T) {
	c := newFixture(t)
	c.planIs(aPlan)
	for range 3 {
		c.expect(false, 0)
	}
	c.require("base", "", refuses)
	c.expect(false, 0)
	if c.live.lists != 1 {
		t.Errorf("read %d times", c.live.lists)
	}
	c.now = c.now.Add(requiredFor)
	c.expect(true, 1, "never")
	if c.live.lists != 2 {
		t.Errorf("read %d times", c.live.lists)
	}
	// Where they cannot be read there is no answer, also not the one from before.
	c.now, c.live.err = c.now.Add(requiredFor), errors.New("the API server is away")
	for range 2 {
		if _, err := c.Asked(t.Context(), c.run); !errors.Is(err, c.live.err) {
			t.Errorf("got %v", err)
		}
	}
	c.live.err = nil
	c.expect(true, 1, "never")
}

func TestFindingsAreLimited(t *testing.T) {
	c := newFixture(t)
	c.planIs(aPlan)
	for i := range 3 {
		c.own(fmt.Sprint("rules-", i), "a.rego=package main\nwarn contains msg if { some i in numbers.range(1, 150); "+
			"msg := sprintf(\"%d\", [i]) }")
	}
	for i := range 2 {
		c.own(fmt.Sprint("asks-", i), "a.rego=package main\nrequire_approval contains msg if { some i in "+
			"numbers.range(1, 250); msg := sprintf(\"%d\", [i]) }")
	}
	c.require("base", "", refuses)
	v, _, err := c.Result(t.Context(), c.run, c.digest)
	if err != nil || len(v.Findings) != mostFindings || v.Findings[0].Action != runnerapi.Deny || v.Denied() != 1 ||
		v.ApprovalRequired() != 500 || v.Warned() != 450 {
		t.Errorf("%d findings, %d denied, %d require an approval, %d warned, %v", len(v.Findings), v.Denied(),
			v.ApprovalRequired(), v.Warned(), err)
	}
}
