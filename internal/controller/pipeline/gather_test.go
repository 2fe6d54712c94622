package pipeline

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/pipeline/decision"
	"cairn.dev/cairn/internal/source/git"
)

// inStage is a Pipeline whose stage dev has c2 after c1, by promotion 2, and a Stack that reports what it has.
func inStage(change func(*v1alpha1.StackStatus)) (*v1alpha1.Pipeline, *v1alpha1.Stack) {
	p := &v1alpha1.Pipeline{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop", UID: "p"}}
	p.Status.Stages = []v1alpha1.StageStatus{{Name: "dev", Release: "c2", Base: "c1", Promotion: 2}}
	s := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "net"}}
	s.Spec.Source.Git = &v1alpha1.GitSource{Repository: v1alpha1.RepositoryRef{Name: "infra"}}
	s.Status = v1alpha1.StackStatus{
		Release: &v1alpha1.StackRelease{
			Pipeline: "shop", UID: "p", Stage: "dev", Commit: "c2", Promotion: 2,
		},
		InputsDigest: "d2", AppliedInputsDigest: "d2",
	}
	if change != nil {
		change(&s.Status)
	}
	return p, s
}

// TestStateOfAStack checks that a Stack has applied a release only if its status reports the inputs of this promotion
// as applied, and no Run: whether it is Ready does not matter.
func TestStateOfAStack(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1alpha1.StackStatus)
		reason string
		want   decision.StackState
	}{
		"applied":                {nil, "", decision.Applied},
		"applied, and not Ready": {nil, v1alpha1.ReasonRunFailed, decision.Applied},
		"no release":             {func(s *v1alpha1.StackStatus) { s.Release = nil }, "", decision.Waiting},
		"an earlier promotion": {func(s *v1alpha1.StackStatus) {
			s.Release.Promotion = 1
		}, "", decision.Waiting},
		"another commit": {func(s *v1alpha1.StackStatus) {
			s.Release.Commit = "c1"
		}, "", decision.Waiting},
		"another stage": {func(s *v1alpha1.StackStatus) { s.Release.Stage = "qa" }, "",
			decision.Waiting},
		"an earlier Pipeline of the name": {func(s *v1alpha1.StackStatus) { s.Release.UID = "q" }, "",
			decision.Waiting},
		"other inputs are applied": {
			func(s *v1alpha1.StackStatus) { s.AppliedInputsDigest = "d1" }, "", decision.Waiting,
		},
		"its inputs are not known": {
			func(s *v1alpha1.StackStatus) { s.InputsDigest, s.AppliedInputsDigest = "", "" }, "", decision.Waiting,
		},
		"a Run is in progress": {func(s *v1alpha1.StackStatus) { s.CurrentRun = "net-2" }, "", decision.Running},
		"a drift check is in progress": {func(s *v1alpha1.StackStatus) {
			s.CurrentRun, s.ReservedRun = "net-2", &v1alpha1.ReservedRun{Name: "net-2",
				Operation: v1alpha1.OperationPlan}
		}, "", decision.Applied},
		"an apply is in progress": {func(s *v1alpha1.StackStatus) {
			s.CurrentRun, s.ReservedRun = "net-2", &v1alpha1.ReservedRun{Name: "net-2",
				Operation: v1alpha1.OperationApply}
		}, "", decision.Running},
		"another Run than the plan is in progress": {func(s *v1alpha1.StackStatus) {
			s.CurrentRun, s.ReservedRun = "net-2", &v1alpha1.ReservedRun{Name: "net-3",
				Operation: v1alpha1.OperationPlan}
		}, "", decision.Running},
		"a plan waits for an approval": {
			func(s *v1alpha1.StackStatus) { s.CurrentRun = "net-2" }, v1alpha1.ReasonAwaitingApproval, decision.Waiting,
		},
		"its Run failed": {
			func(s *v1alpha1.StackStatus) { s.AppliedInputsDigest = "" }, v1alpha1.ReasonRunFailed, decision.Failed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, s := inStage(c.change)
			if got := stateOf(s, p, &p.Status.Stages[0], c.reason); got != c.want {
				t.Errorf("the state is %d, want %d", got, c.want)
			}
		})
	}
}

// TestVerificationOfAStack checks that only a check after the last apply verifies a Stack.
func TestVerificationOfAStack(t *testing.T) {
	checks, since := &v1alpha1.DriftChecks{}, metav1.Now()
	for name, c := range map[string]struct {
		status v1alpha1.StackStatus
		want   decision.Verification
	}{
		"no drift checks": {v1alpha1.StackStatus{}, decision.Unchecked},
		"no check yet":    {v1alpha1.StackStatus{DriftChecks: checks}, decision.Unverified},
		"none since its apply": {
			v1alpha1.StackStatus{DriftChecks: checks, Drift: &v1alpha1.DriftStatus{}}, decision.Unverified,
		},
		"checked": {
			v1alpha1.StackStatus{DriftChecks: checks, Drift: &v1alpha1.DriftStatus{CheckedBy: "net-2"}},
			decision.Verified,
		},
		"drift": {v1alpha1.StackStatus{
			DriftChecks: checks, Drift: &v1alpha1.DriftStatus{CheckedBy: "net-2", Since: &since},
		}, decision.Rejected},
	} {
		t.Run(name, func(t *testing.T) {
			if got := verificationOf(&v1alpha1.Stack{Status: c.status}); got != c.want {
				t.Errorf("it is %d, want %d", got, c.want)
			}
		})
	}
}

// sameCode is a repository in which no commit changes a Stack.
type sameCode struct{}

func (sameCode) Head(context.Context, *v1alpha1.Repository, string) (git.Commit, error) {
	return git.Commit{ID: "c2"}, nil
}

func (sameCode) SameCode(context.Context, *v1alpha1.Repository, *v1alpha1.Stack, string, string) (bool, error) {
	return true, nil
}

// TestStackThatIsNewInAStageIsAffected checks which Stacks have to apply a release that does not change their code:
// those of which it is not known that they had the release before.
func TestStackThatIsNewInAStageIsAffected(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(*v1alpha1.StackStatus)
		affected bool
	}{
		"had the stage before":         {nil, false},
		"had no stage":                 {func(s *v1alpha1.StackStatus) { s.Release = nil }, true},
		"had another stage":            {func(s *v1alpha1.StackStatus) { s.Release.Stage = "qa" }, true},
		"had another Pipeline":         {func(s *v1alpha1.StackStatus) { s.Release.UID = "q" }, true},
		"it is not known what it has":  {func(s *v1alpha1.StackStatus) { s.AppliedInputsDigest = "" }, true},
		"the stage completed no other": {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			p, s := inStage(c.change)
			if name == "the stage completed no other" {
				p.Status.Stages[0].Base = ""
			}
			repo := &v1alpha1.Repository{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "infra"}}
			got, err := origin{sameCode{}, repo, s}.factsIn(t.Context(), p, "dev")
			if err != nil || got.Affected != c.affected {
				t.Errorf("affected: %t, %v; want %t", got.Affected, err, c.affected)
			}
		})
	}
}
