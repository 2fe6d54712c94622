package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/pipeline/decision"
)

// storedRuns are the Runs of an API server, by name. It counts how often one is read.
type storedRuns struct {
	client.Client
	runs  map[string]*v1alpha1.Run
	reads int
}

func (s *storedRuns) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	s.reads++
	run := s.runs[key.Name]
	if run == nil {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	*o.(*v1alpha1.Run) = *run.DeepCopy()
	return nil
}

// storedInputs are documents by digest.
type storedInputs map[string]inputs.Document

func (s storedInputs) Get(_ context.Context, digest string) (inputs.Document, error) {
	doc, ok := s[digest]
	if !ok {
		return doc, errors.New("the bucket does not answer")
	}
	return doc, nil
}

// ownCode is a repository in which each commit changes all Stacks.
type ownCode struct{ sameCode }

func (ownCode) SameCode(_ context.Context, _ *v1alpha1.Repository, _ *v1alpha1.Stack, one, other string) (bool, error) {
	return one == other, nil
}

// lostCode is a repository that cannot be read now.
type lostCode struct{ sameCode }

func (lostCode) SameCode(context.Context, *v1alpha1.Repository, *v1alpha1.Stack, string, string) (bool, error) {
	return false, errors.New("the disk is full")
}

// stages is a Pipeline in which staging has completed c2, and the plan of production waits: that of the Stack net-0 in
// staging had the same shape, and bob approved it.
type stages struct {
	p          *v1alpha1.Pipeline
	staging    *v1alpha1.Stack
	production *v1alpha1.Stack
	// waits is the Run of production, and approved that of staging.
	waits, approved *v1alpha1.Run
	inputs          storedInputs
	codes           Codes
	runs            *storedRuns
}

func commitID(n int) string { return strings.Repeat(fmt.Sprint(n), 40) }

func newStages() *stages {
	s := &stages{codes: ownCode{}, inputs: storedInputs{"p1": {Source: "one"}, "p2": {Source: "two"}}}
	two, now := commitID(2), metav1.Now()
	s.p = &v1alpha1.Pipeline{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop", UID: "p"}}
	s.p.Status.Releases = []v1alpha1.Release{
		{Commit: two, Stages: []v1alpha1.ReleaseStage{{Name: "staging", CompletedAt: &now}}}}
	stack := func(name string) *v1alpha1.Stack {
		s.p.Spec.Stages = append(s.p.Spec.Stages, v1alpha1.PipelineStage{
			Name: name, CarryApproval: v1alpha1.CarrySameShape,
			Stacks: metav1.LabelSelector{MatchLabels: map[string]string{"env": name}},
		})
		s.p.Status.Stages = append(s.p.Status.Stages, v1alpha1.StageStatus{Name: name, Release: two, Promotion: 2})
		stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "net-" + name,
			Labels: map[string]string{"env": name}}}
		stack.Spec.Source.Git = &v1alpha1.GitSource{Repository: v1alpha1.RepositoryRef{Name: "infra"}}
		stack.Status.Release = &v1alpha1.StackRelease{Pipeline: "shop", UID: "p", Stage: name, Commit: two,
			Promotion: 2}
		return stack
	}
	s.staging, s.production = stack("staging"), stack("production")
	s.production.Status.AppliedInputsDigest, s.production.Status.InputsDigest = "p1", "p2"
	s.production.Status.CurrentRun = "production-2"
	s.waits = &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "production-2", UID: "w"}}
	s.waits.Spec.Stack.Name, s.waits.Spec.Operation, s.waits.Spec.InputsDigest = s.production.Name,
		v1alpha1.OperationApply, "p2"
	s.waits.Spec.Cause.Type, s.waits.Spec.Revision = v1alpha1.CauseCommit, "main@sha1:"+two
	s.waits.Status.Phase = v1alpha1.PhaseAwaitingApproval
	s.waits.Status.Plan = &v1alpha1.Plan{Digest: "sha256:w", Fingerprint: "w", Shape: "s", Change: 1}
	s.waits.Status.Approval = &v1alpha1.RunApproval{State: v1alpha1.ApprovalPending}
	s.approved = s.waits.DeepCopy()
	s.approved.Name, s.approved.UID, s.approved.Spec.Stack.Name = "staging-2", "a", s.staging.Name
	s.approved.Status.Phase, s.approved.Status.Plan.Digest,
		s.approved.Status.Plan.Fingerprint = v1alpha1.PhaseSucceeded, "sha256:a", "a"
	s.approved.Spec.Approval = &v1alpha1.Approval{PlanDigest: "sha256:a", By: "bob"}
	s.staging.Status.History = []v1alpha1.PastRun{past("staging-2", "a")}
	return s
}

// past is the summary of a Run that applied a commit.
func past(name, uid string) v1alpha1.PastRun {
	return v1alpha1.PastRun{
		Name: name, UID: types.UID(uid), Operation: v1alpha1.OperationApply, Applied: true,
		Cause: v1alpha1.Cause{Type: v1alpha1.CauseCommit},
	}
}

// gather returns what is gathered.
func (s *stages) gather(t *testing.T) decision.Snapshot {
	t.Helper()
	s.runs = &storedRuns{runs: map[string]*v1alpha1.Run{s.waits.Name: s.waits, s.approved.Name: s.approved}}
	r := &Reconciler{Client: s.runs, Live: s.runs, Inputs: s.inputs, Codes: s.codes}
	repo := &v1alpha1.Repository{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "infra"}}
	w := decision.Snapshot{Now: time.Now(), Pipeline: s.p, Stages: map[string][]decision.Stack{
		"production": {{Name: s.production.Name}},
	}}
	members := map[string][]origin{
		"staging": {{s.codes, repo, s.staging}}, "production": {{s.codes, repo, s.production}},
	}
	if err := r.gatherCarried(t.Context(), &w, members); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestApprovalsThatAreCarried checks which facts about two stages let an approval count.
func TestApprovalsThatAreCarried(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*stages)
		// why is a part of why it does not count; empty if it does, and none if nothing is reported.
		why string
	}{
		"the same shape":             {func(*stages) {}, ""},
		"the stage has no rule":      {func(s *stages) { s.p.Spec.Stages[1].CarryApproval = "" }, "none"},
		"no Run":                     {func(s *stages) { s.production.Status.CurrentRun = "" }, "none"},
		"the Run is not created yet": {func(s *stages) { s.production.Status.CurrentRun = "production-3" }, "none"},
		"the Run of another Stack":   {func(s *stages) { s.waits.Spec.Stack.Name = "db" }, "none"},
		"no approval is required":    {func(s *stages) { s.waits.Status.Approval = nil }, "none"},
		"a user approved": {func(s *stages) {
			s.waits.Spec.Approval = &v1alpha1.Approval{PlanDigest: "sha256:w", By: "eve"}
		}, "none"},
		"a user approved an earlier plan": {func(s *stages) {
			s.waits.Spec.Approval = &v1alpha1.Approval{PlanDigest: "sha256:v", By: "eve"}
		}, ""},
		"carried already": {func(s *stages) {
			s.waits.Status.CarriedApproval = &v1alpha1.CarriedApproval{PlanDigest: "sha256:w", By: "bob"}
		}, "none"},
		"another promotion": {func(s *stages) { s.production.Status.Release.Promotion = 1 },
			"does not have the release"},
		"inputs of another commit": {func(s *stages) { s.production.Status.InputsDigest = "p3" },
			"does not have the release"},
		"a rollback": {func(s *stages) {
			s.p.Status.Stages[1].Hold = &v1alpha1.PromotionHold{By: "eve"}
		}, "earlier release"},
		"the stage before is not complete": {func(s *stages) {
			s.p.Status.Releases[0].Stages[0].CompletedAt = nil
		}, "has not completed"},
		"the stage before never had it": {func(s *stages) { s.p.Status.Releases[0].Stages = nil }, "has not completed"},
		"never applied": {func(s *stages) {
			s.production.Status.AppliedInputsDigest = ""
		}, "other causes"},
		"another variable": {func(s *stages) {
			s.inputs["p2"] = inputs.Document{Source: "two", Variables: []v1alpha1.Variable{{Name: "a"}}}
		}, "other causes"},
		"another Secret": {func(s *stages) {
			s.inputs["p2"] = inputs.Document{Source: "two", Versions: map[string]string{"Secret/a": "2"}}
		}, "other causes"},
		"an image of other files": {func(s *stages) {
			s.inputs["p1"] = inputs.Document{Source: "one", Build: &inputs.Build{Source: "one"}}
			s.inputs["p2"] = inputs.Document{Source: "two", Build: &inputs.Build{Source: "two"}}
		}, ""},
		"inputs that cannot be read": {func(s *stages) { delete(s.inputs, "p1") }, "cannot read"},
		"code that cannot be read":   {func(s *stages) { s.codes = lostCode{} }, "cannot read"},
		"no Stack corresponds":       {func(s *stages) { s.staging.Labels["app"] = "db" }, "no Stack of stage staging"},
		"another shape": {func(s *stages) { s.approved.Status.Plan.Shape = "t" },
			"does not change the same"},
		"the Run before is deleted": {func(s *stages) { s.approved.Name = "other" }, "no Run of the stage before"},
		"another Run of the name":   {func(s *stages) { s.approved.UID = "b" }, "no Run of the stage before"},
		"a Run of another commit": {func(s *stages) {
			s.approved.Spec.Revision = "main@sha1:" + commitID(1)
		}, "no Run of the stage before"},
		"a Run of an equal commit": {func(s *stages) {
			s.approved.Spec.Revision, s.codes = "main@sha1:"+commitID(1), sameCode{}
		}, ""},
		"a Run of no commit": {func(s *stages) { s.approved.Spec.Revision = "" }, "no Run of the stage before"},
		"a Run that applied nothing": {func(s *stages) {
			s.staging.Status.History[0].Applied = false
		}, "no Run of the stage before"},
		"a Run that corrected drift": {func(s *stages) {
			s.staging.Status.History[0].Cause.Type = v1alpha1.CauseDrift
		}, "no Run of the stage before"},
		"a destroy": {func(s *stages) {
			s.staging.Status.History[0].Operation = v1alpha1.OperationDestroy
		}, "no Run of the stage before"},
		"too long ago": {func(s *stages) {
			for i := range mostPast {
				s.staging.Status.History = append(s.staging.Status.History, past(fmt.Sprint("gone-", i), "g"))
			}
		}, "no Run of the stage before"},
		"the Stack of staging prevents it": {func(s *stages) {
			s.staging.Spec.PreventSelfApproval, s.approved.Spec.Cause.By = true, "bob"
		}, "no user approved"},
		"the Stack of production prevents it": {func(s *stages) {
			s.production.Spec.PreventSelfApproval, s.waits.Spec.Cause.By = true, "bob"
		}, "caused the Run"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStages()
			c.change(s)
			w := s.gather(t)
			why := w.Stages["production"][0].NotCarried
			if len(w.Carried) > 1 || (len(w.Carried) == 1) != (c.why == "") ||
				(why == "") != (c.why == "" || c.why == "none") ||
				c.why != "none" && !strings.Contains(why, c.why) {
				t.Fatalf("%d are carried: %q, want %q", len(w.Carried), why, c.why)
			}
			if (w.ReadAgain != 0) != strings.Contains(why, "cannot read") {
				t.Errorf("it is read again in %s", w.ReadAgain)
			}
			for _, carried := range w.Carried {
				a := carried.Approval
				if a.By != "bob" || a.PlanDigest != "sha256:w" || a.PullRequest != nil ||
					*a.Stage != (v1alpha1.CarriedFromStage{
						Pipeline: "shop", Name: "staging", Run: "staging-2", Release: commitID(2),
					}) {
					t.Errorf("it is %+v, %+v", a, a.Stage)
				}
			}
		})
	}
}

// TestRunOfTheStageBeforeIsReadOnce checks that a Run that succeeded is read from the API server once.
func TestRunOfTheStageBeforeIsReadOnce(t *testing.T) {
	s := newStages()
	live := &storedRuns{runs: map[string]*v1alpha1.Run{s.approved.Name: s.approved}}
	r := &Reconciler{Live: live}
	for range 3 {
		run, err := r.past.get(t.Context(), r.Live, "shop", past("staging-2", "a"))
		if err != nil || run == nil || run.Spec.Approval.By != "bob" {
			t.Fatalf("%+v, %v", run, err)
		}
	}
	if live.reads != 1 {
		t.Errorf("it is read %d times", live.reads)
	}
}
