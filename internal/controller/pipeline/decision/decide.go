// Package decision decides which release each stage of a Pipeline has. It is pure.
package decision

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/promotion"
)

// A release passes the stages in their order:
//
//	commit ──► release ──► stage 1: progressing ──► verifying ──► soaking ──► complete ──► stage 2: ...
//	                                    └─► failed ──┘ (the same release, after a correction)
//
// A stage gets a release only after the stage before has completed it, and never an older one than it has, unless a
// user promotes that.

// mostReleases is how many releases a status has, beside those that a stage has.
const mostReleases = 20

// Snapshot is what Decide decides on.
type Snapshot struct {
	Now      time.Time
	Pipeline *v1alpha1.Pipeline
	// Head is the newest commit; nil if it is not known, or does not change the code of a Stack.
	Head *Head
	// Stages have the Stacks of each stage, by its name.
	Stages map[string][]Stack
	// Carried are the Runs for whose plans an approval of the stage before counts, and does not yet.
	Carried []Carried
	// ReadAgain is when what could not be read about approvals is read again; 0 if all could.
	ReadAgain time.Duration
}

// Head is the newest commit of the branch, which changes the code of Stacks.
type Head struct {
	Commit, Author, Subject string
	// Stacks is how many Stacks of the Pipeline have other code than in the newest release.
	Stacks int
}

// Stack is what is known of a Stack of a stage.
type Stack struct {
	Name  string
	State StackState
	// Affected reports whether it has to apply the release: its code differs between the base of the stage and the
	// release, or that is not known.
	Affected bool
	// Reason is that of its Ready condition.
	Reason string
	// Verification is what is known of the release that it has applied.
	Verification Verification
	// NotCarried is why no approval of the stage before counts for the plan that waits; empty if none is carried.
	NotCarried string
}

// Carried is a Run, and the approval of the stage before that counts for its plan.
type Carried struct {
	Run      *v1alpha1.Run
	Approval v1alpha1.CarriedApproval
}

// StackState is what a Stack does with the release of its stage.
type StackState int

// States of Stacks.
const (
	// Waiting: no Run of the release applies, for example since its plan waits for an approval.
	Waiting StackState = iota
	// Running: a Run is in progress.
	Running
	// Failed: the Stack is not Ready for an error.
	Failed
	// Applied: the Stack has applied its inputs with the code of the release.
	Applied
)

// Verification is whether a Stack passes what its stage verifies.
type Verification int

// Results of a verification.
const (
	// Unverified: there is no result yet.
	Unverified Verification = iota
	// Unchecked: there is no result, and none comes by itself: the Stack has no drift checks.
	Unchecked
	// Rejected: the Stack has drift.
	Rejected
	// Verified: the Stack passes.
	Verified
)

// Decision is what to write.
type Decision struct {
	Status v1alpha1.PipelineStatus
	// Created is the new release; nil for none.
	Created *v1alpha1.Release
	// Promoted are the stages that have another release.
	Promoted []Promotion
	// Rejected is why the request of a user is not possible; empty if there is none.
	Rejected string
	// Again is the time until the next decision is due; 0 if none waits for a time.
	Again time.Duration
}

// Promotion is a release that a stage gets.
type Promotion struct {
	Stage, Commit string
	// By is the user; empty if the stage promotes automatically.
	By string
}

// Decide returns the next status of a Pipeline.
func Decide(w Snapshot) Decision {
	d := Decision{Status: *w.Pipeline.Status.DeepCopy()}
	p := &v1alpha1.Pipeline{ObjectMeta: w.Pipeline.ObjectMeta, Spec: w.Pipeline.Spec, Status: d.Status}
	p.Status.ObservedGeneration = w.Pipeline.Generation
	p.Status.Stages = stagesOf(w)
	d.Created, d.Again = createRelease(w, p), w.ReadAgain
	for i := range p.Status.Stages {
		s := &p.Status.Stages[i]
		if again := w.observe(p, &p.Spec.Stages[i], s); again > 0 {
			d.Again = sooner(d.Again, again)
		}
	}
	d.request(w, p)
	for i := range p.Status.Stages {
		d.promote(w, p, i)
	}
	p.Status.Releases = kept(p)
	if len(d.Promoted) > 0 { // the Stacks of the stage are compared with another release
		d.Again = time.Millisecond
	}
	describe(w, p)
	d.Status = p.Status
	return d
}

// stagesOf returns the stages of the spec, with what is known of each. One that was removed has lost its release.
func stagesOf(w Snapshot) []v1alpha1.StageStatus {
	stages := make([]v1alpha1.StageStatus, len(w.Pipeline.Spec.Stages))
	for i, spec := range w.Pipeline.Spec.Stages {
		stages[i] = v1alpha1.StageStatus{Name: spec.Name, State: v1alpha1.StageWaiting, Since: metav1.Time{Time: w.Now}}
		if known := w.Pipeline.Stage(spec.Name); known != nil {
			stages[i] = *known.DeepCopy()
		}
	}
	return stages
}

// createRelease adds the newest commit to the releases. A commit that was a release before, which a push has put back,
// is none: a user promotes it.
func createRelease(w Snapshot, p *v1alpha1.Pipeline) *v1alpha1.Release {
	if w.Head == nil || w.Head.Stacks == 0 {
		return nil
	}
	if known, _ := p.Release(w.Head.Commit); known != nil {
		return nil
	}
	release := v1alpha1.Release{
		Commit: w.Head.Commit, Author: w.Head.Author, Subject: w.Head.Subject, Stacks: int32(w.Head.Stacks),
		CreatedAt: metav1.Time{Time: w.Now},
	}
	p.Status.Releases = slices.Insert(slices.Clone(p.Status.Releases), 0, release)
	return &release
}

// request handles the promotion that a user requests.
func (d *Decision) request(w Snapshot, p *v1alpha1.Pipeline) {
	at := w.Pipeline.Annotations[v1alpha1.RequestedAtAnnotation]
	q, ok := promotion.Requested(w.Pipeline)
	if !ok {
		if at != "" && !w.Pipeline.Status.Observed() { // what it had at its creation is no request
			p.Status.LastHandledRequest = &v1alpha1.HandledRequest{Value: at, Time: metav1.Time{Time: w.Now},
				Rejected: true}
		}
		return
	}
	d.Rejected = promotion.Check(p, q, w.Now)
	p.Status.LastHandledRequest = &v1alpha1.HandledRequest{
		Value: q.At, Time: metav1.Time{Time: w.Now}, Rejected: d.Rejected != "",
	}
	if d.Rejected != "" {
		return
	}
	stage := p.Stage(q.Stage)
	_, now := p.Release(stage.Release)
	_, next := p.Release(q.Commit)
	stage.Hold = nil
	if stage.Release != "" && next > now {
		stage.Hold = &v1alpha1.PromotionHold{By: q.By, At: metav1.Time{Time: w.Now}}
	}
	if stage.Release != q.Commit {
		d.give(w, p, stage, q.Commit, q.By)
	}
}

// promote promotes the next release to a stage, if that is automatic.
func (d *Decision) promote(w Snapshot, p *v1alpha1.Pipeline, i int) {
	spec, stage := &p.Spec.Stages[i], &p.Status.Stages[i]
	stage.Next = next(p, i)
	if stage.Next == "" || spec.Promote != v1alpha1.PromoteAutomatic || stage.Hold != nil ||
		!w.isReplaceable(p, stage) {
		return
	}
	d.give(w, p, stage, stage.Next, "")
	stage.Next = next(p, i)
}

// next returns the release that a stage can get: one that is newer than what it has, that the stage before has
// completed, and that is not newer than what the stage before has now; empty if there is none.
func next(p *v1alpha1.Pipeline, i int) string {
	stage := &p.Status.Stages[i]
	_, has := p.Release(stage.Release)
	newest := 0
	if i > 0 {
		if _, newest = p.Release(p.Status.Stages[i-1].Release); newest < 0 {
			return ""
		}
	}
	var found []string // newest first
	for at := newest; at < len(p.Status.Releases) && (has < 0 || at < has); at++ {
		release := &p.Status.Releases[at]
		if i > 0 {
			if in := release.In(p.Status.Stages[i-1].Name); in == nil || in.CompletedAt == nil {
				continue
			}
		}
		found = append(found, release.Commit)
	}
	switch {
	case len(found) == 0:
		return ""
	case p.Spec.Releases == v1alpha1.ReleasesEvery:
		return found[len(found)-1]
	}
	return found[0]
}

// isReplaceable reports whether a stage can get a newer release by itself: it has completed the one that it has or, if
// releases are skipped, that one failed or did not begin.
func (w Snapshot) isReplaceable(p *v1alpha1.Pipeline, s *v1alpha1.StageStatus) bool {
	switch {
	case s.Release == "" || s.State == v1alpha1.StageComplete:
		return true
	case p.Spec.Releases == v1alpha1.ReleasesEvery || s.Release != releaseIn(w.Pipeline, s.Name):
		return false
	case s.State == v1alpha1.StageFailed:
		return !slices.ContainsFunc(w.Stages[s.Name], func(one Stack) bool { return one.State == Running })
	case s.State != v1alpha1.StageProgressing:
		return false
	}
	return !slices.ContainsFunc(w.Stages[s.Name], func(one Stack) bool { return one.Affected && one.State != Waiting })
}

// releaseIn returns the release that a stage had in the snapshot: what is known of its Stacks is about that.
func releaseIn(p *v1alpha1.Pipeline, stage string) string {
	if s := p.Stage(stage); s != nil {
		return s.Release
	}
	return ""
}

// give promotes a release to a stage.
func (d *Decision) give(w Snapshot, p *v1alpha1.Pipeline, s *v1alpha1.StageStatus, commit, by string) {
	now := metav1.Time{Time: w.Now}
	if s.State != v1alpha1.StageComplete { // it is not known which Stacks have what of the release before
		s.Base = ""
	}
	s.Release, s.State, s.Since, s.AppliedAt, s.VerifiedAt = commit, v1alpha1.StageProgressing, now, nil, nil
	s.Promotion++
	s.Affected, s.Applied, s.Message = 0, 0, "its Stacks read the release"
	release, _ := p.Release(commit)
	if in := release.In(s.Name); in != nil {
		in.PromotedAt, in.PromotedBy, in.CompletedAt = now, by, nil
	} else {
		release.Stages = append(release.Stages, v1alpha1.ReleaseStage{Name: s.Name, PromotedAt: now, PromotedBy: by})
	}
	d.Promoted = append(d.Promoted, Promotion{Stage: s.Name, Commit: commit, By: by})
}

// kept returns the releases that stay in the status: the newest ones, and those that a stage has or is compared with.
func kept(p *v1alpha1.Pipeline) (releases []v1alpha1.Release) {
	for i, r := range p.Status.Releases {
		if i < mostReleases || slices.ContainsFunc(p.Status.Stages, func(s v1alpha1.StageStatus) bool {
			return s.Release == r.Commit || s.Base == r.Commit
		}) {
			releases = append(releases, r)
		}
	}
	return releases
}

func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b < a {
		return b
	}
	return a
}
