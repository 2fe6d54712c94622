package decision

import (
	"fmt"
	"maps"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/shorten"
)

// stage is how far a Stack is with the current template.
type stage int

const (
	// outdated: it has an earlier template, or fields that differ from it.
	outdated stage = iota
	// deleting: it is being deleted, and created again once it is gone.
	deleting
	// changing: it has not applied the template yet.
	changing
	// awaiting: it waits for a user's approval.
	awaiting
	// stopped: a user canceled or rejected its Run, and none starts until a user requests one.
	stopped
	// closed: it waits for a window.
	closed
	// held: it applies nothing, as users decided: it is suspended, or spec.apply is Never. It is not waited for.
	held
	// failed with the template.
	failed
	// applied the template.
	applied
)

func (p *plan) stageOf(stack *v1alpha1.Stack, r *Rendered) stage {
	switch {
	case stack.DeletionTimestamp != nil:
		return deleting
	case stack.Annotations[v1alpha1.RenderedAnnotation] != r.Digest,
		stack.Annotations[v1alpha1.ItemGoneAnnotation] != "",
		!p.Same(r, stack):
		return outdated
	}
	return stageInStatus(stack)
}

// Equivalent reports that a decision about two versions of a Stack is the same: each Run writes the status several
// times, and most of these writes change nothing that a StackSet depends on.
func Equivalent(a, b *v1alpha1.Stack) bool {
	return a.UID == b.UID && a.Generation == b.Generation && maps.Equal(a.Labels, b.Labels) &&
		maps.Equal(a.Annotations, b.Annotations) && a.DeletionTimestamp.Equal(b.DeletionTimestamp) &&
		isNew(a) == isNew(b) && stageInStatus(a) == stageInStatus(b)
}

// stageInStatus is how far a Stack is with its current spec.
func stageInStatus(stack *v1alpha1.Stack) stage {
	ready := apimeta.FindStatusCondition(stack.Status.Conditions, v1alpha1.ConditionReady)
	known := ready != nil && ready.ObservedGeneration == stack.Generation &&
		stack.Status.ObservedGeneration == stack.Generation
	reason := v1alpha1.Reason{}
	if known {
		reason, _ = v1alpha1.ReasonNamed(ready.Reason)
	}
	switch {
	case known && hasApplied(stack, ready):
		return applied
	case stack.Spec.Suspend,
		stack.Spec.Apply == v1alpha1.ApplyNever && known && ready.Reason == v1alpha1.ReasonChangesPending:
		return held
	case known && reason.WaitsFor == v1alpha1.WaitsForApproval:
		return awaiting
	case known && reason.WaitsFor == v1alpha1.WaitsForRequest:
		return stopped
	case known && ready.Reason == v1alpha1.ReasonWindowClosed:
		return closed
	case known && ready.Status == metav1.ConditionFalse && reason.Severity == v1alpha1.SeverityError:
		return failed
	}
	return changing
}

// hasApplied reports that a Stack has applied the inputs of its current spec, which its condition is about. That it is
// Ready is not enough: it may be so for the spec before. That the digests are equal is not enough: they may be those of
// the spec before, too. Drift that was found since does not undo it.
func hasApplied(stack *v1alpha1.Stack, ready *metav1.Condition) bool {
	return (ready.Status == metav1.ConditionTrue || ready.Reason == v1alpha1.ReasonDrifted) &&
		stack.Status.AppliedInputsDigest != "" && stack.Status.AppliedInputsDigest == stack.Status.InputsDigest
}

// isNew reports that a Stack has never applied anything: the template changes nothing of it that exists, so that it
// neither counts as one of the Stacks that change at once, nor does a group wait for it.
func isNew(stack *v1alpha1.Stack) bool { return stack.Status.AppliedInputsDigest == "" }

// holds reports that the next group waits for a Stack.
func (s stage) holds() bool { return s == outdated || s == failed || s.changes() }

// changes reports that a Stack has the template, and has neither applied it nor failed.
func (s stage) changes() bool { return s == changing || s == awaiting || s == stopped || s == closed }

// rollOut changes outdated Stacks, group after group, and returns why it does not.
func (p *plan) rollOut() (paused string) {
	room, failures, order := p.limits()
	if p.d.Status.Outdated == 0 {
		return ""
	}
	if p.d.Status.Failed >= failures {
		return fmt.Sprintf("with the current template %d failed (%s), and %d wait: correct the template or the "+
			"Stacks that failed",
			p.d.Status.Failed, list(p.in(failed)), p.d.Status.Outdated)
	}
	groups := make([][]string, len(order)+1)
	held := make([]bool, len(groups))
	for _, name := range p.wanted {
		stack, r := p.own[name], p.want[name]
		if stack == nil {
			continue
		}
		stage := p.stage[name]
		if isNew(stack) {
			if stage == outdated {
				p.change(name)
			}
			continue
		}
		g := groupOf(order, r.Labels)
		held[g] = held[g] || stage.holds()
		switch {
		case stage == outdated:
			groups[g] = append(groups[g], name)
		case stage == failed, stage.changes():
			room--
		}
	}
	for g, outdated := range groups {
		for _, name := range outdated {
			if room <= 0 {
				return ""
			}
			room--
			p.change(name)
		}
		if held[g] {
			return ""
		}
	}
	return ""
}

func (p *plan) change(name string) {
	p.d.Writes = append(p.d.Writes, Write{Action: Change, Stack: p.own[name], Name: name, Rendered: p.want[name]})
}

// limits of spec.rollout.
func (p *plan) limits() (concurrent, failures int32, order []labels.Selector) {
	concurrent, failures = 10, 3
	r := p.Set.Spec.Rollout
	if r == nil {
		return concurrent, failures, nil
	}
	if r.MaxConcurrent != nil {
		concurrent = *r.MaxConcurrent
	}
	if r.PauseAfterFailures != nil {
		failures = *r.PauseAfterFailures
	}
	for i := range r.Order {
		selector, err := metav1.LabelSelectorAsSelector(&r.Order[i])
		if err != nil {
			selector = labels.Nothing()
		}
		order = append(order, selector)
	}
	return concurrent, failures, order
}

// groupOf is the first group whose selector matches; the one after the last for none.
func groupOf(order []labels.Selector, of map[string]string) int {
	for i, selector := range order {
		if selector.Matches(labels.Set(of)) {
			return i
		}
	}
	return len(order)
}

// mostGroupName is how many bytes the name of a group has in the status.
const mostGroupName = 200

// progress counts the Stacks of each group of the order.
func (p *plan) progress() []v1alpha1.StackSetGroup {
	_, _, order := p.limits()
	if len(order) == 0 {
		return nil
	}
	groups := make([]v1alpha1.StackSetGroup, len(order)+1)
	for i := range order {
		groups[i].Name = shorten.Bytes(metav1.FormatLabelSelector(&p.Set.Spec.Rollout.Order[i]), mostGroupName)
	}
	groups[len(order)].Name = "others"
	for name, r := range p.want {
		group := &groups[groupOf(order, r.Labels)]
		group.Generated++
		switch p.stage[name] {
		case applied:
			group.Applied++
		case failed:
			group.Failed++
		}
	}
	return groups
}

// in are the names of the Stacks in a stage.
func (p *plan) in(wanted stage) (all []string) {
	for _, name := range p.owned {
		if stage, has := p.stage[name]; has && stage == wanted {
			all = append(all, name)
		}
	}
	return all
}

// waitsFor names what the rollout waits for a user for.
func (p *plan) waitsFor() (text string) {
	for _, what := range []struct {
		stage
		text string
	}{
		{awaiting, "wait for an approval"}, {failed, "failed"},
		{stopped, "wait for cairn apply, since a user canceled or rejected their Runs"}, {closed, "wait for a window"},
		{held, "are suspended or never apply, and are not waited for"},
		{deleting, "are being deleted, and created again then"},
	} {
		if all := p.in(what.stage); len(all) > 0 {
			text += fmt.Sprintf("; %d %s: %s", len(all), what.text, list(all))
		}
	}
	return text
}
