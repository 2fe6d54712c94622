package decision

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// env is a Pipeline dev, staging, production, of which the last is manual, with a Stack for each.
type env struct {
	*testing.T
	now    time.Time
	p      *v1alpha1.Pipeline
	stacks map[string][]Stack
	last   Decision
}

func newEnv(t *testing.T, change ...func(*v1alpha1.PipelineSpec)) *env {
	p := &v1alpha1.Pipeline{ObjectMeta: metav1.ObjectMeta{Name: "shop", Generation: 1}}
	for _, name := range []string{"dev", "staging", "production"} {
		p.Spec.Stages = append(p.Spec.Stages, v1alpha1.PipelineStage{Name: name, Promote: v1alpha1.PromoteAutomatic})
	}
	p.Spec.Stages[2].Promote = v1alpha1.PromoteManual
	p.Spec.Releases = v1alpha1.ReleasesLatest
	for _, f := range change {
		f(&p.Spec)
	}
	e := &env{T: t, now: noon, p: p, stacks: map[string][]Stack{}}
	for _, s := range p.Spec.Stages {
		e.are(s.Name, Waiting)
	}
	return e
}

// are sets the states of the Stacks of a stage, which its release affects.
func (e *env) are(stage string, states ...StackState) {
	e.stacks[stage] = nil
	for i, state := range states {
		e.stacks[stage] = append(e.stacks[stage], Stack{Name: fmt.Sprintf("%s-%d", stage, i), State: state,
			Affected: true})
	}
}

// decide decides with a commit at the head, until nothing changes; "" for none that changes a Stack.
func (e *env) decide(commit string) {
	e.Helper()
	w := Snapshot{Now: e.now, Pipeline: e.p, Stages: e.stacks}
	if commit != "" {
		w.Head = &Head{Commit: commit, Stacks: 1}
	}
	e.last = Decide(w)
	for _, one := range e.last.Promoted { // its Stacks read the release
		for i := range e.stacks[one.Stage] {
			e.stacks[one.Stage][i].State = Waiting
		}
	}
	e.p = e.p.DeepCopy()
	e.p.Status = e.last.Status
}

// request requests a promotion.
func (e *env) request(stage, commit string) {
	e.Helper()
	e.now = e.now.Add(time.Second)
	e.p.Annotations = map[string]string{
		v1alpha1.RequestedAtAnnotation: e.now.Format(time.RFC3339Nano), v1alpha1.RequestedByAnnotation: "alice",
		v1alpha1.RequestedPromotionAnnotation: stage + "=" + commit,
	}
	e.decide("")
}

// expect compares the stages with "dev c1 Complete, ...", and the reason.
func (e *env) expect(want, reason string) {
	e.Helper()
	var got []string
	for _, s := range e.p.Status.Stages {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s", s.Name, s.Release, s.State)))
	}
	if diff := cmp.Diff(want, strings.Join(got, ", ")); diff != "" {
		e.Fatalf("stages: %s", diff)
	}
	if is := e.p.Status.Conditions[0]; is.Reason != reason {
		e.Fatalf("the reason is %s (%s), want %s", is.Reason, is.Message, reason)
	}
}

// apply has the Stacks of a stage apply their release.
func (e *env) apply(stage string) {
	e.Helper()
	e.are(stage, Applied)
	e.decide("")
}

// TestReleasePassesTheStages follows a commit through automatic stages and one that a user promotes to.
func TestReleasePassesTheStages(t *testing.T) {
	e := newEnv(t)
	e.decide("")
	e.expect("dev  Waiting, staging  Waiting, production  Waiting", v1alpha1.ReasonAwaitingRelease)
	e.decide("c1")
	e.expect("dev c1 Progressing, staging  Waiting, production  Waiting", v1alpha1.ReasonPromoting)
	e.apply("dev")
	e.expect("dev c1 Complete, staging c1 Progressing, production  Waiting", v1alpha1.ReasonPromoting)
	e.apply("staging")
	e.expect("dev c1 Complete, staging c1 Complete, production  Waiting", v1alpha1.ReasonAwaitingPromotion)
	before := e.p.Status.DeepCopy()
	e.now = e.now.Add(time.Hour)
	e.decide("")
	if diff := cmp.Diff(before, &e.p.Status); diff != "" {
		t.Errorf("nothing changed, and the status does: %s", diff)
	}
	e.request("production", "c1")
	e.expect("dev c1 Complete, staging c1 Complete, production c1 Progressing", v1alpha1.ReasonPromoting)
	e.apply("production")
	e.expect("dev c1 Complete, staging c1 Complete, production c1 Complete", v1alpha1.ReasonPromoted)
	release, _ := e.p.Release("c1")
	if in := release.In("production"); in.PromotedBy != "alice" || in.CompletedAt == nil ||
		release.In("dev").PromotedBy != "" {
		t.Errorf("the release is %+v", release)
	}
}

// TestPromotionIsRejected checks promotions that are not possible.
func TestPromotionIsRejected(t *testing.T) {
	for name, c := range map[string]struct{ stage, commit, by, at, want string }{
		"of a commit that is no release": {"production", "c9", "alice", "", `no release "c9"`},
		"of an incomplete release":       {"production", "c2", "alice", "", "stage staging has not completed it"},
		"to a stage that does not exist": {"qa", "c1", "alice", "", `has no stage "qa"`},
		"of what the stage has":          {"staging", "c1", "alice", "", "has release c1 already"},
		"without a user":                 {"production", "c1", "", "", "requested-by is not set"},
		"of the future":                  {"production", "c1", "alice", "2027-01-01T00:00:00Z", "check the clock"},
		"without a time":                 {"production", "c1", "alice", "now", "check the clock"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			e.decide("c1")
			e.apply("dev")
			e.apply("staging")
			e.decide("c2")
			at := e.now.Format(time.RFC3339Nano)
			if c.at != "" {
				at = c.at
			}
			e.p.Annotations = map[string]string{
				v1alpha1.RequestedAtAnnotation: at, v1alpha1.RequestedByAnnotation: c.by,
				v1alpha1.RequestedPromotionAnnotation: c.stage + "=" + c.commit,
			}
			e.decide("")
			if !strings.Contains(e.last.Rejected, c.want) || len(e.last.Promoted) > 0 ||
				!e.p.Status.LastHandledRequest.Rejected {
				t.Errorf("rejected %q, promoted %v, want %q", e.last.Rejected, e.last.Promoted, c.want)
			}
			e.decide("")
			if e.last.Rejected != "" {
				t.Error("it is rejected twice")
			}
		})
	}
}

// TestRequestOfACreationIsIgnored checks annotations that a Pipeline had when it was created, for example from a
// backup.
func TestRequestOfACreationIsIgnored(t *testing.T) {
	e := newEnv(t)
	e.p.Status.ObservedGeneration = -1
	e.p.Annotations = map[string]string{
		v1alpha1.RequestedAtAnnotation: noon.Format(time.RFC3339), v1alpha1.RequestedByAnnotation: "alice",
		v1alpha1.RequestedPromotionAnnotation: "production=c1",
	}
	e.decide("c1")
	e.apply("dev")
	e.apply("staging")
	e.expect("dev c1 Complete, staging c1 Complete, production  Waiting", v1alpha1.ReasonAwaitingPromotion)
}

// TestRollbackHoldsThePromotion checks that an earlier release holds the stage until a user promotes a newer one, and
// that later stages do not get what was rolled back.
func TestRollbackHoldsThePromotion(t *testing.T) {
	e := newEnv(t, func(s *v1alpha1.PipelineSpec) { s.Stages[2].Promote = v1alpha1.PromoteAutomatic })
	for _, c := range []string{"c1", "c2"} {
		e.decide(c)
		e.apply("dev")
		e.apply("staging")
		e.are("production", Running)
	}
	e.decide("")
	e.expect("dev c2 Complete, staging c2 Complete, production c1 Progressing", v1alpha1.ReasonPromoting)
	e.request("staging", "c1")
	e.expect("dev c2 Complete, staging c1 Progressing, production c1 Progressing", v1alpha1.ReasonPromotionHeld)
	e.apply("staging")
	e.apply("production")
	e.decide("c3")
	e.apply("dev")
	e.expect("dev c3 Complete, staging c1 Complete, production c1 Complete", v1alpha1.ReasonPromotionHeld)
	if h := e.p.Stage("staging").Hold; h == nil || h.By != "alice" {
		t.Errorf("the hold is %+v", h)
	}
	e.request("staging", "c3")
	e.apply("staging")
	e.expect("dev c3 Complete, staging c3 Complete, production c3 Progressing", v1alpha1.ReasonPromoting)
}

// TestFailedStackStopsTheStage checks that the same release continues after a correction, and a newer one replaces it.
func TestFailedStackStopsTheStage(t *testing.T) {
	e := newEnv(t)
	e.decide("c1")
	e.are("dev", Applied, Failed)
	e.decide("")
	e.expect("dev c1 Failed, staging  Waiting, production  Waiting", v1alpha1.ReasonStageFailed)
	e.are("dev", Applied, Running)
	e.decide("c2")
	e.expect("dev c1 Progressing, staging  Waiting, production  Waiting", v1alpha1.ReasonPromoting)
	e.are("dev", Applied, Failed)
	e.decide("")
	e.expect("dev c2 Progressing, staging  Waiting, production  Waiting", v1alpha1.ReasonPromoting)
	if s := e.p.Stage("dev"); s.Base != "" {
		t.Errorf("Stacks are compared with %s, and some may have c1", s.Base)
	}
	e.are("dev", Applied, Applied)
	e.decide("")
	e.expect("dev c2 Complete, staging c2 Progressing, production  Waiting", v1alpha1.ReasonPromoting)
}

// TestIncompleteReleaseIsNoBase checks that the release after one that failed is compared with nothing: it is not known
// what the Stacks have of that.
func TestIncompleteReleaseIsNoBase(t *testing.T) {
	e := newEnv(t)
	e.decide("c0")
	e.apply("dev")
	e.decide("c1")
	if s := e.p.Stage("dev"); s.Release != "c1" || s.Base != "c0" {
		t.Fatalf("the stage is %+v", s)
	}
	e.are("dev", Applied, Failed)
	e.decide("c2")
	if s := e.p.Stage("dev"); s.Release != "c2" || s.Base != "" {
		t.Errorf("the stage is %+v", s)
	}
}

// TestReleasesThatStagesGet checks Latest and Every.
func TestReleasesThatStagesGet(t *testing.T) {
	for policy, want := range map[v1alpha1.ReleasePolicy]string{
		v1alpha1.ReleasesLatest: "dev c3 Progressing, staging c1 Progressing, production  Waiting",
		v1alpha1.ReleasesEvery:  "dev c2 Progressing, staging c1 Progressing, production  Waiting",
	} {
		e := newEnv(t, func(s *v1alpha1.PipelineSpec) { s.Releases = policy })
		e.decide("c1")
		e.are("dev", Running)
		e.decide("c2")
		e.decide("c3")
		e.are("dev", Applied)
		e.decide("")
		e.expect(want, v1alpha1.ReasonPromoting)
	}
}

// TestWaitingReleaseIsSkipped checks that Latest replaces a release of which no apply began, such as a plan that waits
// for an approval, and Every does not.
func TestWaitingReleaseIsSkipped(t *testing.T) {
	for policy, want := range map[v1alpha1.ReleasePolicy]string{
		v1alpha1.ReleasesLatest: "c2", v1alpha1.ReleasesEvery: "c1",
	} {
		e := newEnv(t, func(s *v1alpha1.PipelineSpec) { s.Releases = policy })
		e.decide("c1")
		e.are("dev", Waiting, Waiting)
		e.decide("c2")
		e.decide("")
		if got := e.p.Stage("dev").Release; got != want {
			t.Errorf("%s: dev has %s, want %s", policy, got, want)
		}
	}
}

// TestSoakOfAStage checks that a soak counts from the applies, survives restarts, and begins again after a failure.
func TestSoakOfAStage(t *testing.T) {
	e := newEnv(t, func(s *v1alpha1.PipelineSpec) { s.Stages[0].Soak = &metav1.Duration{Duration: 30 * time.Minute} })
	e.decide("c1")
	e.apply("dev")
	e.expect("dev c1 Soaking, staging  Waiting, production  Waiting", v1alpha1.ReasonPromoting)
	if e.last.Again != 30*time.Minute {
		t.Errorf("it decides again in %s", e.last.Again)
	}
	e.now = e.now.Add(20 * time.Minute)
	e.are("dev", Failed)
	e.decide("")
	e.apply("dev")
	e.now = e.now.Add(29 * time.Minute)
	e.decide("")
	e.expect("dev c1 Soaking, staging  Waiting, production  Waiting", v1alpha1.ReasonPromoting)
	e.now = e.now.Add(time.Minute)
	e.decide("")
	e.expect("dev c1 Complete, staging c1 Progressing, production  Waiting", v1alpha1.ReasonPromoting)
}

// verifies has the Stack of a stage apply its release, with what is known of its drift.
func (e *env) verifies(stage string, is Verification) {
	e.Helper()
	e.are(stage, Applied)
	e.stacks[stage][0].Verification = is
	e.decide("")
}

// TestVerificationOfAStage checks that a stage waits for a result, that drift stops it, that a check without a result
// fails nothing and is reported after the timeout, and that the soak counts from the verification.
func TestVerificationOfAStage(t *testing.T) {
	e := newEnv(t, func(s *v1alpha1.PipelineSpec) {
		s.Stages[0].Soak = &metav1.Duration{Duration: 30 * time.Minute}
		s.Stages[0].Verify = &v1alpha1.StageVerification{Drift: &v1alpha1.DriftVerification{
			Timeout: &metav1.Duration{Duration: 20 * time.Minute},
		}}
	})
	is := func(state, reason string, again time.Duration) {
		t.Helper()
		want := "dev c1 " + state + ", staging  Waiting, production  Waiting"
		if state == "Complete" {
			want = "dev c1 Complete, staging c1 Progressing, production  Waiting"
		}
		e.expect(want, reason)
		if state != "Complete" && e.last.Again != again {
			t.Errorf("it decides again in %s, want %s", e.last.Again, again)
		}
	}
	e.decide("c1")
	e.verifies("dev", Unverified)
	is("Verifying", v1alpha1.ReasonPromoting, 20*time.Minute)
	e.now = e.now.Add(20 * time.Minute)
	e.verifies("dev", Unverified)
	is("Verifying", v1alpha1.ReasonVerificationOverdue, 0)
	e.verifies("dev", Unchecked)
	is("Verifying", v1alpha1.ReasonVerificationOverdue, 0)
	e.verifies("dev", Rejected)
	is("Failed", v1alpha1.ReasonStageFailed, 0)
	e.verifies("dev", Verified)
	is("Soaking", v1alpha1.ReasonPromoting, 30*time.Minute)
	e.now = e.now.Add(29 * time.Minute)
	e.verifies("dev", Verified)
	is("Soaking", v1alpha1.ReasonPromoting, time.Minute)
	e.verifies("dev", Rejected) // during the soak
	is("Failed", v1alpha1.ReasonStageFailed, 0)
	e.verifies("dev", Verified)
	is("Soaking", v1alpha1.ReasonPromoting, 30*time.Minute)
	e.now = e.now.Add(30 * time.Minute)
	e.verifies("dev", Verified)
	is("Complete", v1alpha1.ReasonPromoting, 0)
}

// TestOnlyAffectedStacksAreVerified checks that the drift of a Stack that the release does not change stops no stage,
// nor one of a stage that verifies nothing.
func TestOnlyAffectedStacksAreVerified(t *testing.T) {
	e := newEnv(t, func(s *v1alpha1.PipelineSpec) {
		s.Stages[0].Verify = &v1alpha1.StageVerification{Drift: &v1alpha1.DriftVerification{}}
	})
	e.decide("c1")
	e.stacks["dev"] = []Stack{
		{Name: "a", State: Applied, Verification: Rejected},
		{Name: "b", State: Applied, Affected: true, Verification: Verified},
	}
	e.decide("")
	e.expect("dev c1 Complete, staging c1 Progressing, production  Waiting", v1alpha1.ReasonPromoting)
	e.verifies("staging", Rejected)
	e.expect("dev c1 Complete, staging c1 Complete, production  Waiting", v1alpha1.ReasonAwaitingPromotion)
}

// TestStagesWithoutWork checks a stage whose Stacks the release does not affect, which is complete at once, and one
// without Stacks, which never is.
func TestStagesWithoutWork(t *testing.T) {
	e := newEnv(t)
	e.decide("c1")
	e.stacks["dev"] = []Stack{{Name: "a", State: Failed}, {Name: "b", State: Running}}
	e.are("staging")
	e.decide("")
	e.expect("dev c1 Complete, staging c1 Progressing, production  Waiting", v1alpha1.ReasonStageEmpty)
	e.decide("")
	e.expect("dev c1 Complete, staging c1 Waiting, production  Waiting", v1alpha1.ReasonStageEmpty)
}

// TestReleasesAreBounded checks that the status keeps the last releases, and those that a stage has.
func TestReleasesAreBounded(t *testing.T) {
	e := newEnv(t)
	for i := range 40 {
		e.decide(fmt.Sprintf("c%d", i))
		e.apply("dev")
		if i == 0 {
			e.apply("staging")
			e.request("production", "c0")
		}
	}
	if n := len(e.p.Status.Releases); n != mostReleases+1 {
		t.Errorf("%d releases are kept", n)
	}
	if r, _ := e.p.Release("c0"); r == nil || e.p.Stage("production").Release != "c0" {
		t.Error("the release of production is forgotten")
	}
}

// TestReleaseThatReturnsIsNone checks a push that puts an earlier commit back.
func TestReleaseThatReturnsIsNone(t *testing.T) {
	e := newEnv(t)
	e.decide("c1")
	e.apply("dev")
	e.decide("c2")
	e.apply("dev")
	e.decide("c1")
	if n := len(e.p.Status.Releases); n != 2 || e.p.Stage("dev").Release != "c2" {
		t.Errorf("%d releases, dev has %s", n, e.p.Stage("dev").Release)
	}
}
