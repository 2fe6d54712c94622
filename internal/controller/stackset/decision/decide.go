// Package decision decides which Stacks of a StackSet are created, changed, suspended and deleted next. It is pure.
//
// Nothing disappears by surprise: what is not known prevents every write, and a Stack that is not generated any more is
// suspended. It is deleted only if spec.prune is Delete and a user has confirmed the exact list.
package decision

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"cairn.dev/cairn/api/v1alpha1"
)

// Snapshot is the input of Decide.
type Snapshot struct {
	Set *v1alpha1.StackSet
	// Problem is why it is not known what the set generates: a fetch, a file, an expression. Nothing is written then.
	Problem *Problem
	// Rendered are the Stacks that the set generates.
	Rendered []Rendered
	// Stacks of the namespace: those of the set and, of others, those with a name of Rendered.
	Stacks []v1alpha1.Stack
}

// Problem is why it is not known what the set generates.
type Problem struct{ Reason, Message string }

// Rendered is a Stack as the template has it.
type Rendered struct {
	// Stack has the name, labels, annotations and spec of the template.
	Stack *v1alpha1.Stack
	// Directory it is from; empty for none.
	Directory string
	// Digest of the template's result.
	Digest string
	// Same reports that the Stack of that name has all of it, whatever else it has.
	Same bool
}

// Action is what is done with a Stack.
type Action string

// What is done with a Stack.
const (
	Create  Action = "Create"
	Change  Action = "Change"
	Suspend Action = "Suspend"
	Delete  Action = "Delete"
)

// Write is one write.
type Write struct {
	Action Action
	// Name of the Stack that is written, and the Rendered that it gets; nil for one that is suspended or deleted.
	Name     string
	Rendered *Rendered
	// Why a Stack is suspended.
	Why string
}

// Decision is the next step for a StackSet.
type Decision struct {
	Writes []Write
	Status v1alpha1.StackSetStatus
	// Ready, Reason and Message are the condition.
	Ready           metav1.ConditionStatus
	Reason, Message string
}

// plan is what Decide works on.
type plan struct {
	Snapshot
	own  map[string]*v1alpha1.Stack // of the set, by name
	want map[string]*Rendered       // by the name of the Stack that has it, or gets it
	gone []*v1alpha1.Stack
	d    Decision
}

// Decide returns what is written next.
func Decide(w Snapshot) Decision {
	p := plan{Snapshot: w, own: map[string]*v1alpha1.Stack{}, want: map[string]*Rendered{}}
	p.d.Status = *w.Set.Status.DeepCopy()
	p.d.Status.ObservedGeneration = w.Set.Generation
	for _, rule := range []func(*plan) bool{isUnknown, namesCollide, isNotOwned, count, nothingIsGenerated, isPreview, tooManyAreGone, write} {
		if rule(&p) {
			break
		}
	}
	return p.d
}

func (p *plan) unready(reason, format string, args ...any) bool {
	p.d.Ready, p.d.Reason, p.d.Message = metav1.ConditionFalse, reason, fmt.Sprintf(format, args...)
	return true
}

// isUnknown: what is not known is not gone.
func isUnknown(p *plan) bool {
	if p.Problem == nil {
		return false
	}
	return p.unready(p.Problem.Reason, "%s; no Stack is created, changed, suspended or deleted meanwhile", p.Problem.Message)
}

// namesCollide rejects the set as a whole: one of two Stacks of a name would hide the other.
func namesCollide(p *plan) bool {
	from := map[string]string{}
	for i := range p.Rendered {
		r := &p.Rendered[i]
		name := p.nameOf(r.Stack.Name)
		if other, taken := from[name]; taken {
			return p.unready(v1alpha1.ReasonNamesCollide, "%s and %s have the same name %s: include what differs in template.metadata.name; "+
				"nothing is written", describe(other), describe(r.Directory), name)
		}
		from[name], p.want[name] = r.Directory, r
	}
	return false
}

// nameOf is the name of the Stack that continues as the one that is rendered with a name.
func (p *plan) nameOf(rendered string) string {
	for _, m := range p.Set.Spec.Moved {
		if m.To == rendered && slices.ContainsFunc(p.Stacks, func(s v1alpha1.Stack) bool { return s.Name == m.From }) {
			return m.From
		}
	}
	return rendered
}

func describe(directory string) string {
	return cmp.Or(directory, "an item without a directory")
}

// isNotOwned: a Stack that a user created is not adopted without its label, and a name that it has prevents no other one
// from being written, but the set says so first.
func isNotOwned(p *plan) bool {
	var foreign []string
	for i := range p.Stacks {
		s := &p.Stacks[i]
		switch {
		case s.Labels[v1alpha1.StackSetLabel] == p.Set.Name:
			p.own[s.Name] = s
		case p.want[s.Name] != nil:
			foreign = append(foreign, s.Name)
		}
	}
	if len(foreign) == 0 {
		return false
	}
	slices.Sort(foreign)
	return p.unready(v1alpha1.ReasonStackNotOwned, "%s not of this StackSet: kubectl label stack NAME %s=%s has it take a Stack over; nothing "+
		"is written", names(foreign, "is", "are"), v1alpha1.StackSetLabel, p.Set.Name)
}

func names(all []string, one, many string) string {
	const most = 3
	if len(all) == 1 {
		return "Stack " + all[0] + " " + one
	}
	text := "Stacks " + strings.Join(all[:min(len(all), most)], ", ")
	if n := len(all) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text + " " + many
}

// count fills the figures of the status.
func count(p *plan) bool {
	s := &p.d.Status
	s.Generated, s.Applied, s.Changing, s.Outdated, s.Failed, s.Gone = int32(len(p.want)), 0, 0, 0, 0, 0
	for _, name := range slices.Sorted(maps.Keys(p.own)) {
		stack := p.own[name]
		r := p.want[name]
		switch {
		case r == nil:
			p.gone = append(p.gone, stack)
			s.Gone++
		case !isCurrent(stack, r):
			s.Outdated++
		case hasApplied(stack):
			s.Applied++
		default:
			s.Changing++
			if hasFailed(stack) {
				s.Failed++
			}
		}
	}
	return false
}

// isCurrent reports that a Stack has what the template has now.
func isCurrent(stack *v1alpha1.Stack, r *Rendered) bool {
	return r.Same && stack.Annotations[v1alpha1.RenderedAnnotation] == r.Digest && stack.Annotations[v1alpha1.ItemGoneAnnotation] == ""
}

// hasApplied reports that a Stack has applied the inputs of its current spec. That it is Ready is not enough: it may be so
// for the spec before. That the digests are equal is not enough: they may be those of the spec before, too.
func hasApplied(stack *v1alpha1.Stack) bool {
	ready := apimeta.FindStatusCondition(stack.Status.Conditions, v1alpha1.ConditionReady)
	return stack.Status.ObservedGeneration == stack.Generation && ready != nil && ready.ObservedGeneration == stack.Generation &&
		ready.Status == metav1.ConditionTrue && stack.Status.AppliedInputsDigest != "" &&
		stack.Status.AppliedInputsDigest == stack.Status.InputsDigest
}

func hasFailed(stack *v1alpha1.Stack) bool {
	ready := apimeta.FindStatusCondition(stack.Status.Conditions, v1alpha1.ConditionReady)
	stalled := apimeta.IsStatusConditionTrue(stack.Status.Conditions, v1alpha1.ConditionStalled)
	return ready != nil && ready.ObservedGeneration == stack.Generation && ready.Status == metav1.ConditionFalse && stalled
}

// nothingIsGenerated: an empty list is the likeliest sign of a mistake.
func nothingIsGenerated(p *plan) bool {
	if len(p.want) > 0 {
		return false
	}
	if len(p.own) == 0 {
		return p.unready(v1alpha1.ReasonNothingGenerated, "the generators list nothing: check include, exclude and marker")
	}
	return p.unready(v1alpha1.ReasonNothingGenerated, "the generators list nothing, and %d Stacks of the set exist: none is suspended or deleted",
		len(p.own))
}

func isPreview(p *plan) bool {
	if p.Set.Spec.Mode != v1alpha1.StackSetPreview {
		return false
	}
	created := 0
	for name := range p.want {
		if p.own[name] == nil {
			created++
		}
	}
	p.d.Ready, p.d.Reason = metav1.ConditionTrue, v1alpha1.ReasonPreviewed
	p.d.Message = fmt.Sprintf("mode Create would create %d Stacks, change %d, and suspend %d that are gone", created,
		p.d.Status.Outdated, len(p.gone))
	return true
}

// tooManyAreGone prevents that a mistake in a pattern, or half a tree, suspends or deletes many.
func tooManyAreGone(p *plan) bool {
	fresh := 0
	for _, s := range p.gone {
		if s.Annotations[v1alpha1.ItemGoneAnnotation] == "" {
			fresh++
		}
	}
	limit := mostGone(p.Set.Spec.MaxDeletions, len(p.own))
	if fresh <= limit {
		return false
	}
	return p.unready(v1alpha1.ReasonTooManyGone, "%d of %d Stacks are not generated any more, and spec.maxDeletions allows %d at once: "+
		"check the generators, or raise it; nothing is written", fresh, len(p.own), limit)
}

// mostGone is spec.maxDeletions of a number of Stacks; a part of them is at least one.
func mostGone(limit *intstr.IntOrString, of int) int {
	value := intstr.FromString("10%")
	if limit != nil {
		value = *limit
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(&value, of, false)
	if err != nil {
		return 0
	}
	if value.Type == intstr.String && n == 0 && value.StrVal != "0%" {
		return 1
	}
	return n
}

// write decides the writes: first what is gone, then new Stacks, then changes as far as the rollout allows.
func write(p *plan) bool {
	p.writeGone()
	for _, name := range slices.Sorted(maps.Keys(p.want)) {
		if p.own[name] == nil {
			p.d.Writes = append(p.d.Writes, Write{Action: Create, Name: name, Rendered: p.want[name]})
		}
	}
	paused := p.rollOut()
	s := p.d.Status
	switch {
	case paused != "":
		return p.unready(v1alpha1.ReasonRolloutPaused, "%s", paused)
	case s.Deletions != nil:
		return p.unready(v1alpha1.ReasonAwaitingDeletionConfirmation, "%s not generated any more; cairn confirm-deletions %s --digest=%s deletes %s",
			names(s.Deletions.Names, "is", "are"), p.Set.Name, s.Deletions.Digest, "them, each after a destroy plan that waits")
	case s.Outdated > 0 || s.Changing > 0 || len(p.d.Writes) > 0:
		p.d.Ready, p.d.Reason = metav1.ConditionUnknown, v1alpha1.ReasonRollingOut
		p.d.Message = fmt.Sprintf("%d of %d Stacks have applied the template, %d are changing, %d wait", s.Applied, s.Generated,
			s.Changing, s.Outdated)
	default:
		p.d.Ready, p.d.Reason, p.d.Message = metav1.ConditionTrue, v1alpha1.ReasonComplete, fmt.Sprintf("%d Stacks", s.Generated)
	}
	return true
}

// writeGone suspends what is gone, and deletes it if a user confirmed the exact list.
func (p *plan) writeGone() {
	p.d.Status.Deletions = nil
	for _, s := range p.gone {
		if s.Annotations[v1alpha1.ItemGoneAnnotation] == "" {
			p.d.Writes = append(p.d.Writes, Write{Action: Suspend, Name: s.Name, Why: "StackSet " + p.Set.Name + " does not generate it any more"})
		}
	}
	if p.Set.Spec.Prune != v1alpha1.PruneDelete {
		return
	}
	var left []*v1alpha1.Stack
	for _, s := range p.gone {
		if s.DeletionTimestamp == nil {
			left = append(left, s)
		}
	}
	if len(left) == 0 {
		return
	}
	digest := digestOf(left)
	if p.Set.Annotations[v1alpha1.ConfirmDeletionsAnnotation] == digest {
		for _, s := range left {
			p.d.Writes = append(p.d.Writes, Write{Action: Delete, Name: s.Name})
		}
		return
	}
	p.d.Status.Deletions = &v1alpha1.StackSetDeletions{Digest: digest, Count: int32(len(left))}
	for _, s := range left[:min(len(left), 20)] {
		p.d.Status.Deletions.Names = append(p.d.Status.Deletions.Names, s.Name)
	}
}

// digestOf names an exact list of Stacks, by UID: one of the same name that was created since is another.
func digestOf(stacks []*v1alpha1.Stack) string {
	h := sha256.New()
	for _, s := range stacks {
		fmt.Fprintf(h, "%s %s\n", s.Name, s.UID)
	}
	return hex.EncodeToString(h.Sum(nil))[:40]
}

// rollOut changes outdated Stacks, group after group, and returns why it does not.
func (p *plan) rollOut() (paused string) {
	limit, failures := int32(10), int32(3)
	var order []metav1.LabelSelector
	if r := p.Set.Spec.Rollout; r != nil {
		if r.MaxConcurrent != nil {
			limit = *r.MaxConcurrent
		}
		if r.PauseAfterFailures != nil {
			failures = *r.PauseAfterFailures
		}
		order = r.Order
	}
	if p.d.Status.Outdated == 0 {
		return ""
	}
	if p.d.Status.Failed >= failures {
		return fmt.Sprintf("%d Stacks failed with the current template, and %d wait: correct the template or these Stacks",
			p.d.Status.Failed, p.d.Status.Outdated)
	}
	groups := make([][]string, len(order)+1)
	complete := make([]bool, len(groups))
	for i := range complete {
		complete[i] = true
	}
	for _, name := range slices.Sorted(maps.Keys(p.want)) {
		stack, r := p.own[name], p.want[name]
		g := groupOf(order, r.Stack.Labels)
		switch {
		case stack == nil: // a new Stack changes nothing that exists, and no group waits for it
		case !isCurrent(stack, r):
			groups[g], complete[g] = append(groups[g], name), false
		case !hasApplied(stack):
			complete[g] = false
		}
	}
	room := limit - p.d.Status.Changing
	for g, outdated := range groups {
		for _, name := range outdated {
			if room <= 0 {
				return ""
			}
			room--
			p.d.Writes = append(p.d.Writes, Write{Action: Change, Name: name, Rendered: p.want[name]})
		}
		if !complete[g] {
			return ""
		}
	}
	return ""
}

// groupOf is the first group whose selector matches; the one after the last for none.
func groupOf(order []metav1.LabelSelector, of map[string]string) int {
	for i := range order {
		if selector, err := metav1.LabelSelectorAsSelector(&order[i]); err == nil && selector.Matches(labels.Set(of)) {
			return i
		}
	}
	return len(order)
}
