// Package promotion computes which release a Stack has, and which promotions a Pipeline allows. It is pure.
package promotion

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"cairn.dev/cairn/api/v1alpha1"
)

// Problem is why a Stack cannot have the release of a stage. The Stack starts no Run: it never has the code of the
// branch instead.
type Problem struct{ Reason, Message string }

func (p *Problem) Error() string { return p.Message }

// Of returns the release of the stage that selects a Stack; nil if none does. Without a commit, the stage has none yet.
// The Pipelines are all of the namespace of the Stack, in any order. An error is a *Problem.
func Of(stack *v1alpha1.Stack, all []v1alpha1.Pipeline) (*v1alpha1.StackRelease, error) {
	var found []*v1alpha1.StackRelease
	for i := range all {
		stages, err := Stages(&all[i], stack)
		if err != nil {
			return nil, err
		}
		for _, name := range stages {
			found = append(found, releaseOf(&all[i], name))
		}
		if repo, ok := stack.RepositoryKey(); len(stages) > 0 && (!ok || repo != all[i].RepositoryKey()) {
			return nil, &Problem{v1alpha1.ReasonPipelineConflict,
				fmt.Sprintf("%s selects the Stack, whose code is not from "+
					"Repository %s: correct the labels of the Stack, or its source",
					found[len(found)-1].Text(), all[i].RepositoryKey())}
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return found[0], nil
	}
	var names []string
	for _, r := range found {
		names = append(names, r.Text())
	}
	slices.Sort(names)
	return nil, &Problem{v1alpha1.ReasonPipelineConflict, fmt.Sprintf(
		"%d stages select the Stack, at most one can: %s. Correct the labels of the Stack, or the selectors",
		len(names), strings.Join(names, ", "))}
}

func releaseOf(p *v1alpha1.Pipeline, stage string) *v1alpha1.StackRelease {
	release := &v1alpha1.StackRelease{Pipeline: p.Name, UID: p.UID, Stage: stage}
	if s := p.Stage(stage); s != nil && p.Status.Observed() {
		release.Commit, release.Promotion = s.Release, s.Promotion
	}
	return release
}

// VerifiesDrift reports whether the stage of a release requires a drift check after each apply.
func VerifiesDrift(r *v1alpha1.StackRelease, all []v1alpha1.Pipeline) bool {
	if r == nil {
		return false
	}
	return slices.ContainsFunc(all, func(p v1alpha1.Pipeline) bool {
		return p.UID == r.UID && slices.ContainsFunc(p.Spec.Stages, func(s v1alpha1.PipelineStage) bool {
			return s.Name == r.Stage && s.Verify != nil && s.Verify.Drift != nil
		})
	})
}

// Stages returns the names of the stages of a Pipeline that select a Stack. An error is a *Problem: which Stacks an
// invalid selector means is not known.
func Stages(p *v1alpha1.Pipeline, stack *v1alpha1.Stack) (names []string, err error) {
	if p.Namespace != stack.Namespace {
		return nil, nil
	}
	for i := range p.Spec.Stages {
		stage := &p.Spec.Stages[i]
		selector, err := metav1.LabelSelectorAsSelector(&stage.Stacks)
		if err != nil {
			return nil, &Problem{v1alpha1.ReasonPipelineConflict,
				fmt.Sprintf("stage %s of Pipeline %s: %v. Which Stacks it "+
					"selects is not known, so no Stack of the namespace starts a Run: correct it", stage.Name,
					p.Name, err)}
		}
		if selector.Matches(labels.Set(stack.Labels)) {
			names = append(names, stage.Name)
		}
	}
	return names, nil
}

// Request is a promotion that a user requests.
type Request struct {
	// At identifies the request. It is the value of the annotation, a time by convention.
	At string
	// Stage is to get the release Commit.
	Stage, Commit string
	// By is the user; empty if that is not known.
	By string
}

// Requested returns the promotion that waits to be handled; false if there is none. What a Pipeline had at its creation
// is none: one that is restored from a backup does not promote what was requested long ago.
func Requested(p *v1alpha1.Pipeline) (Request, bool) {
	at, last := p.Annotations[v1alpha1.RequestedAtAnnotation], p.Status.LastHandledRequest
	if at == "" || !p.Status.Observed() || last != nil && last.Value == at {
		return Request{}, false
	}
	stage, commit, _ := strings.Cut(p.Annotations[v1alpha1.RequestedPromotionAnnotation], "=")
	return Request{At: at, Stage: stage, Commit: commit, By: p.Annotations[v1alpha1.RequestedByAnnotation]}, true
}

// maxClockSkew is how far ahead of now the time of a request may be.
const maxClockSkew = 5 * time.Minute

// Check returns why a promotion is not possible; empty if it is.
func Check(p *v1alpha1.Pipeline, q Request, now time.Time) string {
	position := slices.IndexFunc(p.Spec.Stages, func(s v1alpha1.PipelineStage) bool { return s.Name == q.Stage })
	if position < 0 {
		return fmt.Sprintf("Pipeline %s has no stage %q", p.Name, q.Stage)
	}
	if t, err := time.Parse(time.RFC3339, q.At); err != nil || t.After(now.Add(maxClockSkew)) {
		return fmt.Sprintf("%s is %q, and must be the current time: check the clock of the client",
			v1alpha1.RequestedAtAnnotation, q.At)
	}
	if q.By == "" {
		return v1alpha1.RequestedByAnnotation + " is not set: a promotion requires the name of its user"
	}
	release, _ := p.Release(q.Commit)
	if release == nil {
		return fmt.Sprintf("Pipeline %s has no release %.12q: kubectl describe pipeline %s lists them",
			p.Name, q.Commit, p.Name)
	}
	stage := p.Stage(q.Stage)
	if stage != nil && stage.Release == q.Commit && stage.Hold == nil {
		return fmt.Sprintf("stage %s has release %.12s already", q.Stage, q.Commit)
	}
	if position == 0 || release.In(q.Stage) != nil {
		return ""
	}
	upstream := p.Spec.Stages[position-1].Name
	if in := release.In(upstream); in == nil || in.CompletedAt == nil {
		return fmt.Sprintf("stage %s cannot get release %.12s: stage %s has not completed it", q.Stage,
			q.Commit, upstream)
	}
	return ""
}
