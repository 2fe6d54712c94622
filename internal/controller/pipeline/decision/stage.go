package decision

import (
	"fmt"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// mostNamed is how many Stacks a message names.
const mostNamed = 3

// observe sets what a stage does with its release, from what is known of its Stacks. It returns the time until the soak
// is over, or a verification is overdue; 0 if there is none. A stage that has completed its release stays complete.
func (w Snapshot) observe(p *v1alpha1.Pipeline, spec *v1alpha1.PipelineStage, s *v1alpha1.StageStatus) time.Duration {
	stacks := w.Stages[spec.Name]
	s.Stacks = int32(len(stacks))
	if s.State == v1alpha1.StageComplete {
		return 0
	}
	if s.Release == "" || len(stacks) == 0 { // what no Stack applies is not verified
		s.Affected, s.Applied, s.AppliedAt, s.VerifiedAt = 0, 0, nil, nil
		text := "it has no release yet"
		if len(stacks) == 0 {
			text = "it selects no Stack"
		}
		w.set(s, v1alpha1.StageWaiting, text)
		return 0
	}
	var open, failed []Stack
	s.Affected, s.Applied = 0, 0
	for _, one := range stacks {
		switch {
		case !one.Affected:
			continue
		case one.State == Applied:
			s.Applied++
		default:
			open = append(open, one)
		}
		if one.State == Failed {
			failed = append(failed, one)
		}
		s.Affected++
	}
	switch {
	case len(failed) > 0:
		s.AppliedAt, s.VerifiedAt = nil, nil
		w.set(s, v1alpha1.StageFailed, "not applied: "+named(failed))
		return 0
	case len(open) > 0:
		s.AppliedAt, s.VerifiedAt = nil, nil
		w.set(s, v1alpha1.StageProgressing, "waits for "+named(open))
		return 0
	}
	if s.AppliedAt == nil {
		s.AppliedAt = &metav1.Time{Time: w.Now}
	}
	if again, ok := w.verify(spec, s); !ok {
		return again
	}
	if spec.Soak != nil {
		from, text := s.AppliedAt, "applied"
		if s.VerifiedAt != nil {
			from, text = s.VerifiedAt, "verified"
		}
		if left := from.Add(spec.Soak.Duration).Sub(w.Now); left > 0 {
			w.set(s, v1alpha1.StageSoaking, fmt.Sprintf("%s, and complete %s later", text, spec.Soak.Duration))
			return left
		}
	}
	text := fmt.Sprintf("%d Stacks have applied it", s.Applied)
	if s.Affected == 0 {
		text = "it changes no Stack of the stage"
	}
	w.set(s, v1alpha1.StageComplete, text)
	s.Base = s.Release
	if release, _ := p.Release(s.Release); release != nil {
		if in := release.In(s.Name); in != nil {
			in.CompletedAt = &metav1.Time{Time: w.Now}
		}
	}
	return 0
}

func (w Snapshot) set(s *v1alpha1.StageStatus, state v1alpha1.StageState, text string) {
	if s.State != state {
		s.State, s.Since = state, metav1.Time{Time: w.Now}
	}
	s.Message = text
}

// named lists Stacks for a message, by name.
func named(stacks []Stack) string {
	names := make([]string, len(stacks))
	for i, s := range stacks {
		names[i] = "Stack " + s.Name
		if s.Reason != "" {
			names[i] += " (" + s.Reason + ")"
		}
		if s.NotCarried != "" {
			names[i] += ", without the approval of the stage before: " + s.NotCarried
		}
	}
	slices.Sort(names)
	if more := len(names) - mostNamed; more > 0 {
		return strings.Join(names[:mostNamed], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// describe sets the Ready condition.
func describe(w Snapshot, p *v1alpha1.Pipeline) {
	ready := metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, ObservedGeneration: p.Generation,
		LastTransitionTime: metav1.Time{Time: w.Now},
	}
	ready.Reason, ready.Message = reason(w, p)
	switch ready.Reason {
	case v1alpha1.ReasonPromoted:
		ready.Status = metav1.ConditionTrue
	case v1alpha1.ReasonPromoting, v1alpha1.ReasonAwaitingRelease:
		ready.Status = metav1.ConditionUnknown
	}
	apimeta.SetStatusCondition(&p.Status.Conditions, ready)
}

// reason returns the reason and the message of the Ready condition: of the first stage that a user has to do something
// about, or else of the first one that is not complete.
func reason(w Snapshot, p *v1alpha1.Pipeline) (reason, text string) {
	if len(p.Status.Releases) == 0 {
		return v1alpha1.ReasonAwaitingRelease, "no commit is a release yet: Repository " + p.Spec.Repository.Name +
			" is not fetched, or no Stack has its code from it"
	}
	for i := range p.Status.Stages {
		switch s := &p.Status.Stages[i]; {
		case len(w.Stages[s.Name]) == 0:
			return v1alpha1.ReasonStageEmpty, "stage " + s.Name + " selects no Stack, so that it completes no release"
		case s.State == v1alpha1.StageFailed:
			return v1alpha1.ReasonStageFailed, fmt.Sprintf("stage %s, release %.12s: %s", s.Name, s.Release, s.Message)
		case s.State == v1alpha1.StageVerifying && overdue(&p.Spec.Stages[i], s, w.Now) <= 0:
			return v1alpha1.ReasonVerificationOverdue, fmt.Sprintf("stage %s, release %.12s: no result within %s: %s",
				s.Name, s.Release, timeoutOf(&p.Spec.Stages[i]), s.Message)
		}
	}
	for i := range p.Status.Stages {
		switch s := &p.Status.Stages[i]; {
		case s.Hold != nil:
			return v1alpha1.ReasonPromotionHeld,
				fmt.Sprintf("%s promoted an earlier release to stage %s, which gets no "+
					"release until a user promotes one: cairn promote %s %s", s.Hold.By, s.Name, p.Name, s.Name)
		case s.Next != "" && p.Spec.Stages[i].Promote != v1alpha1.PromoteAutomatic:
			return v1alpha1.ReasonAwaitingPromotion, fmt.Sprintf("stage %s can get release %.12s: cairn promote %s %s",
				s.Name, s.Next, p.Name, s.Name)
		}
	}
	for i := range p.Status.Stages {
		if s := &p.Status.Stages[i]; s.State != v1alpha1.StageComplete || s.Release != p.Status.Releases[0].Commit {
			return v1alpha1.ReasonPromoting, fmt.Sprintf("stage %s, release %.12s: %s", s.Name, s.Release, s.Message)
		}
	}
	return v1alpha1.ReasonPromoted, fmt.Sprintf("all stages have completed release %.12s", p.Status.Releases[0].Commit)
}
