// Package decision decides which Stacks of a StackSet are created, changed, suspended and deleted next. It is pure.
//
// Nothing disappears by surprise: what is not known prevents every write, and a Stack that is not generated any more is
// suspended. It is deleted only if spec.prune is Delete and a user has confirmed the exact list.
package decision

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/shorten"
)

// Snapshot is the input of Decide.
type Snapshot struct {
	Now time.Time
	Set *v1alpha1.StackSet
	// Problem is why it is not known what the set generates: a fetch, a file, an expression. Nothing is written then.
	Problem *Problem
	// Revision is the ref and the commit whose directories were listed; empty for none.
	Revision string
	// Rendered are the Stacks that the set generates.
	Rendered []Rendered
	// Same reports that a Stack has all that is rendered, whatever else it has.
	Same func(*Rendered, *v1alpha1.Stack) bool
	// Stacks of the set and, of others in its namespaces, those with a name of Rendered or of spec.moved.
	Stacks []v1alpha1.Stack
	// Grants are the StackGrants of spec.namespaces, and Unwatched those namespaces that the operator does not watch.
	Grants    v1alpha1.StackGrantList
	Unwatched []string
}

// Problem is why it is not known what the set generates.
type Problem struct {
	Reason, Message string
	// Transient: it ends without a user. Pending: it is about to end, as after a restart, so that a status that is
	// known stays.
	Transient, Pending bool
}

// Rendered is a Stack as the template has it.
type Rendered struct {
	// Name and Labels of the template.
	Name   string
	Labels map[string]string
	// Namespace is empty for that of the set.
	Namespace string
	// Directory it is from; empty for none.
	Directory string
	// Params of its item.
	Params map[string]any
	// Elsewhere are the Terragrunt units that it depends on and that the set has no Stack for.
	Elsewhere []string
	// JSON has metadata and spec, and Digest identifies it.
	JSON   []byte
	Digest string
}

// DigestOf is the digest of what is rendered.
func DigestOf(rendered []byte) string {
	sum := sha256.Sum256(rendered)
	return "sha256:" + hex.EncodeToString(sum[:16])
}

// Action is what is done with a Stack.
type Action string

// What is done with a Stack.
const (
	Create  Action = "Create"
	Change  Action = "Change"
	Suspend Action = "Suspend"
	Delete  Action = "Delete"
	// Release ends the suspension by the set of a Stack that is being deleted, so that it can be destroyed.
	Release Action = "Release"
)

// Write is one write.
type Write struct {
	Action Action
	// Stack that the decision is about; nil for one that is created.
	Stack *v1alpha1.Stack
	// Name is the Key of the Stack that is written. Rendered is what it gets; nil for one that it does not get any.
	Name     string
	Rendered *Rendered
	// Why a Stack is suspended.
	Why string
}

// Decision is the next step for a StackSet.
type Decision struct {
	Writes []Write
	// Status without the conditions.
	Status v1alpha1.StackSetStatus
	// Ready, Reason and Message are the condition. Stalled: it waits until a user acts.
	Ready           metav1.ConditionStatus
	Reason, Message string
	Stalled         bool
}

// plan is what Decide works on.
type plan struct {
	Snapshot
	own   map[string]*v1alpha1.Stack // of the set, by Key
	want  map[string]*Rendered       // by the Key of the Stack that has it, or gets it
	stage map[string]stage           // of the Stacks that are wanted and exist
	// owned and wanted are the names in own and want, sorted.
	owned, wanted []string
	gone          []*v1alpha1.Stack
	// withheld are in neither, and unwritten is how many of them the set generates.
	withheld  []withheld
	unwritten int
	d         Decision
}

// Decide returns what is written next.
func Decide(w Snapshot) Decision {
	p := plan{Snapshot: w}
	p.own, p.want = make(map[string]*v1alpha1.Stack, len(w.Stacks)), make(map[string]*Rendered, len(w.Rendered))
	p.stage = make(map[string]stage, len(w.Stacks))
	p.d.Status = *w.Set.Status.DeepCopy()
	p.d.Status.ObservedGeneration = w.Set.Generation
	rules := []func(*plan) bool{
		isUnknown, namesCollide, withhold, isNotOwned, count, nothingIsGenerated, isPreview, tooManyAreGone, write,
	}
	for _, rule := range rules {
		if rule(&p) {
			break
		}
	}
	return p.d
}

func (p *plan) unready(reason, format string, args ...any) bool {
	p.d.Ready, p.d.Reason, p.d.Message = metav1.ConditionFalse, reason, fmt.Sprintf(format, args...)
	p.d.Stalled = true
	return true
}

// isUnknown: what is not known is not gone.
func isUnknown(p *plan) bool {
	if p.Problem == nil {
		return false
	}
	p.unready(p.Problem.Reason, "%s; no Stack is created, changed, suspended or deleted meanwhile", p.Problem.Message)
	p.d.Stalled = !p.Problem.Transient
	return true
}

// namesCollide rejects the set as a whole: one of two Stacks of a name would hide the other.
func namesCollide(p *plan) bool {
	p.d.Status.Revision = p.Revision
	for i := range p.Stacks {
		if s := &p.Stacks[i]; p.Set.Owns(s) {
			p.own[p.key(s)] = s
		}
	}
	there, moved := map[string]bool{}, make(map[string]string, len(p.Set.Spec.Moved))
	for _, m := range p.Set.Spec.Moved {
		moved[m.To] = m.From
	}
	renamed := map[string]string{}
	for i := range p.Stacks {
		// A Stack of a user of another namespace does not stop the set.
		if s := &p.Stacks[i]; len(moved) > 0 && (s.Namespace == p.Set.Namespace || p.Set.Owns(s)) {
			there[p.key(s)] = true
		}
	}
	for i := range p.Rendered {
		r := &p.Rendered[i]
		name := Key(p.Set, r.Namespace, r.Name)
		if old, ok := moved[name]; ok && there[old] {
			if there[name] { // each has a State of its own
				return p.unready(v1alpha1.ReasonNamesCollide, "spec.moved: Stacks %s and %s both exist, and only one "+
					"can continue for %s: delete the other one, or the entry; nothing is written", old, name,
					describe(r.Directory))
			}
			renamed[name], name = old, old
		}
		if other := p.want[name]; other != nil {
			return p.unready(v1alpha1.ReasonNamesCollide, "%s and %s have the same name %s: include what differs in "+
				"template.metadata.name; nothing is written", describe(other.Directory), describe(r.Directory), name)
		}
		p.want[name] = r
	}
	for name, r := range p.want {
		p.want[name] = r.dependingOn(p.Set, renamed)
	}
	p.owned, p.wanted = slices.Sorted(maps.Keys(p.own)), slices.Sorted(maps.Keys(p.want))
	return false
}

// dependingOn is a Stack whose spec.dependsOn has the names that Stacks keep, by the names that the template has now.
func (r *Rendered) dependingOn(set *v1alpha1.StackSet, renamed map[string]string) *Rendered {
	if len(renamed) == 0 || len(r.JSON) == 0 {
		return r
	}
	var object, spec map[string]json.RawMessage
	var entries []map[string]any
	err := errors.Join(json.Unmarshal(r.JSON, &object), json.Unmarshal(object["spec"], &spec))
	if err != nil || len(spec["dependsOn"]) == 0 || json.Unmarshal(spec["dependsOn"], &entries) != nil {
		return r // it was decoded when it was rendered
	}
	changed := false
	for _, entry := range entries {
		name, _ := entry["name"].(string)
		namespace, _ := entry["namespace"].(string)
		if old := renamed[Key(set, cmp.Or(namespace, r.Namespace), name)]; old != "" {
			entry["name"], changed = Locate(set, old).Name, true
		}
	}
	if !changed {
		return r
	}
	next := *r
	spec["dependsOn"], _ = json.Marshal(entries)
	object["spec"], _ = json.Marshal(spec)
	next.JSON, _ = json.Marshal(object)
	next.Digest = DigestOf(next.JSON)
	return &next
}

func (p *plan) key(s *v1alpha1.Stack) string { return Key(p.Set, s.Namespace, s.Name) }

func describe(directory string) string {
	return cmp.Or(directory, "an item without a directory")
}

// isNotOwned: a Stack that a user created is not adopted without its label, and a name that it has prevents no other
// one from being written, but the set says so first.
func isNotOwned(p *plan) bool {
	var foreign, sets []string
	labels := v1alpha1.StackSetLabel + "=" + p.Set.Name
	for i := range p.Stacks {
		if s := &p.Stacks[i]; !p.Set.Owns(s) && p.want[p.key(s)] != nil {
			foreign = append(foreign, p.key(s))
			if set, ok := s.StackSetKey(); ok {
				sets = append(sets, Key(p.Set, set.Namespace, set.Name))
			}
			if s.Labels[v1alpha1.StackSetNamespaceLabel] != "" { // of a StackSet in another namespace
				labels = v1alpha1.StackSetLabel + "=" + p.Set.Name + " " + v1alpha1.StackSetNamespaceLabel + "-"
			}
		}
	}
	if len(foreign) == 0 {
		return false
	}
	slices.Sort(foreign)
	slices.Sort(sets)
	owners := ""
	if sets = slices.Compact(sets); len(sets) > 0 {
		owners = "; some are of StackSet " + list(sets) + ", which then writes nothing until its generators " +
			"exclude them"
	}
	return p.unready(v1alpha1.ReasonStackNotOwned, "%s not of this StackSet: kubectl label --overwrite stack NAME %s "+
		"has it take a Stack over; nothing is written%s", names(foreign), labels, owners)
}

// names begins a sentence about Stacks.
func names(all []string) string {
	if len(all) == 1 {
		return "Stack " + all[0] + " is"
	}
	return "Stacks " + list(all) + " are"
}

// list names the first few.
func list(all []string) string {
	return shorten.List(all, 3)
}

// count fills the figures of the status.
func count(p *plan) bool {
	s := &p.d.Status
	s.Generated, s.Applied, s.Changing, s.Outdated, s.Failed, s.Gone = int32(len(p.want)+p.unwritten), 0, 0, 0, 0, 0
	s.Preview, s.Deletions = nil, nil
	for _, name := range p.owned {
		stack := p.own[name]
		r := p.want[name]
		if r == nil {
			p.gone = append(p.gone, stack)
			s.Gone++
			continue
		}
		p.stage[name] = p.stageOf(stack, r)
		switch p.stage[name] {
		case outdated, deleting:
			s.Outdated++
		case applied:
			s.Applied++
		case failed:
			s.Changing++
			s.Failed++
		default:
			s.Changing++
		}
	}
	s.Groups = p.progress()
	return false
}

// nothingIsGenerated: an empty list is the likeliest sign of a mistake.
func nothingIsGenerated(p *plan) bool {
	if len(p.want) > 0 {
		return false
	}
	if p.unwritten > 0 {
		return p.unready(p.withholding(), "%s; nothing is written", p.reportWithheld())
	}
	if len(p.own) == 0 {
		return p.unready(v1alpha1.ReasonNothingGenerated,
			"the generators list nothing: check include, exclude and marker")
	}
	return p.unready(v1alpha1.ReasonNothingGenerated, "the generators list nothing, and %d Stacks of the set exist: "+
		"none is suspended or deleted",
		len(p.own))
}

const (
	// mostNames is how many names a list in the status has, and mostSamples how many Stacks.
	mostNames   = 20
	mostSamples = 3
	// mostSample is how many bytes a sample has.
	mostSample = 32 << 10
)

// isPreview lists what mode Create would do.
func isPreview(p *plan) bool {
	if p.Set.Spec.Mode != v1alpha1.StackSetPreview {
		return false
	}
	var created, changed, suspended []string
	preview := &v1alpha1.StackSetPreviewed{}
	for _, name := range p.wanted {
		switch {
		case p.own[name] == nil:
			created = append(created, name)
		case p.stage[name] == outdated:
			changed = append(changed, name)
		}
		if r := p.want[name]; len(preview.Samples) < mostSamples && len(r.JSON) > 0 && len(r.JSON) <= mostSample {
			preview.Samples = append(preview.Samples, apiextensionsv1.JSON{Raw: r.JSON})
		}
	}
	for _, s := range p.fresh() {
		suspended = append(suspended, p.key(s))
	}
	preview.Create, preview.Change, preview.Suspend = first(created), first(changed), first(suspended)
	p.d.Status.Preview = preview
	p.d.Ready, p.d.Reason = metav1.ConditionTrue, v1alpha1.ReasonPreviewed
	p.d.Message = fmt.Sprintf("mode Create would create %d Stacks, change %d, and suspend %d that are gone",
		len(created),
		len(changed), len(suspended))
	if limit := p.mostGone(); len(suspended) > limit {
		p.d.Message += fmt.Sprintf("; it would write nothing, because spec.maxDeletions allows %d at once", limit)
	}
	p.d.Message = p.also(p.d.Message)
	return true
}

func first(all []string) []string { return all[:min(len(all), mostNames)] }

// fresh are the Stacks that are gone, and not suspended yet. One that a user deletes must not be suspended: it would
// not be destroyed.
func (p *plan) fresh() (stacks []*v1alpha1.Stack) {
	for _, s := range p.gone {
		if s.Annotations[v1alpha1.ItemGoneAnnotation] == "" && s.DeletionTimestamp == nil {
			stacks = append(stacks, s)
		}
	}
	return stacks
}

// tooManyAreGone prevents that a mistake in a pattern, or half a tree, suspends or deletes many.
func tooManyAreGone(p *plan) bool {
	fresh, limit := len(p.fresh()), p.mostGone()
	if fresh <= limit {
		return false
	}
	return p.unready(v1alpha1.ReasonTooManyGone, "%d of %d Stacks are not generated any more, and spec.maxDeletions "+
		"allows %d at once: check the generators, or raise it; nothing is written", fresh, p.present(), limit)
}

// present is how many Stacks the set had before the last ones went.
func (p *plan) present() int { return len(p.own) - len(p.gone) + len(p.fresh()) }

// mostGone is spec.maxDeletions as a number of Stacks; a part of them is at least one.
func (p *plan) mostGone() int {
	value := intstr.FromString("10%")
	if limit := p.Set.Spec.MaxDeletions; limit != nil {
		value = *limit
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(&value, p.present(), false)
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
	confirm := p.writeGone()
	for _, name := range p.wanted {
		if p.own[name] == nil {
			p.d.Writes = append(p.d.Writes, Write{Action: Create, Name: name, Rendered: p.want[name]})
		}
	}
	paused := p.rollOut()
	s := p.d.Status
	switch {
	case paused != "":
		return p.unready(v1alpha1.ReasonRolloutPaused, "%s", p.also(paused))
	case confirm != "":
		return p.unready(v1alpha1.ReasonAwaitingDeletionConfirmation, "%s", p.also(confirm))
	case p.withholding() != "":
		return p.unready(p.withholding(), "%s", p.reportWithheld())
	case s.Outdated > 0 || s.Changing > 0 || len(p.d.Writes) > 0:
		p.d.Ready, p.d.Reason = metav1.ConditionUnknown, v1alpha1.ReasonRollingOut
		p.d.Message = fmt.Sprintf("%d of %d Stacks have applied the template, %d are changing, %d are outdated",
			s.Applied, s.Generated,
			s.Changing, s.Outdated) + p.waitsFor()
		exists := func(name string) bool { return p.own[name] != nil }
		if absent := slices.DeleteFunc(slices.Clone(p.wanted), exists); len(absent) > 0 {
			p.d.Message += fmt.Sprintf("; %d are not created yet: %s", len(absent), list(absent))
		}
	default:
		p.d.Ready, p.d.Reason, p.d.Message = metav1.ConditionTrue, v1alpha1.ReasonComplete, fmt.Sprintf("%d Stacks",
			s.Generated)
		var left, ending []string
		for _, stack := range p.gone {
			if stack.DeletionTimestamp == nil {
				left = append(left, p.key(stack))
			} else {
				ending = append(ending, p.key(stack))
			}
		}
		if len(left) > 0 {
			p.d.Message += "; " + names(left) + " not generated any more"
		}
		if len(ending) > 0 {
			p.d.Message += "; " + names(ending) + " being deleted"
		}
	}
	p.d.Message = p.also(p.d.Message)
	return true
}

// writeGone suspends what is gone, and deletes it if a user confirmed the exact list. It returns what a user can
// confirm.
func (p *plan) writeGone() (confirm string) {
	for _, s := range p.fresh() {
		p.d.Writes = append(p.d.Writes, Write{Action: Suspend, Stack: s, Name: p.key(s), Why: "StackSet " + p.Set.Name +
			" does not generate it any more"})
	}
	var left []*v1alpha1.Stack
	for _, s := range p.gone {
		if s.DeletionTimestamp == nil {
			left = append(left, s)
		}
	}
	for _, name := range p.owned { // also one whose directory returned
		if s := p.own[name]; s.DeletionTimestamp != nil && s.Annotations[v1alpha1.ItemGoneAnnotation] != "" {
			p.d.Writes = append(p.d.Writes, Write{Action: Release, Stack: s, Name: name})
		}
	}
	if p.Set.Spec.Prune != v1alpha1.PruneDelete || len(left) == 0 {
		return ""
	}
	digest := Digest(p.Set, left)
	if p.Set.Annotations[v1alpha1.ConfirmDeletionsAnnotation] == digest {
		if len(p.fresh()) > 0 {
			return "" // suspended first
		}
		for _, s := range left {
			p.d.Writes = append(p.d.Writes, Write{Action: Delete, Stack: s, Name: p.key(s)})
		}
		return ""
	}
	var all []string
	for _, s := range left {
		all = append(all, p.key(s))
	}
	p.d.Status.Deletions = &v1alpha1.StackSetDeletions{Digest: digest, Count: int32(len(left)), Names: first(all)}
	return fmt.Sprintf("%s not generated any more; cairn confirm-deletions %s --digest=%s deletes %s", names(all),
		p.Set.Name, digest, "them, each as its deletionPolicy has it")
}

// Digest identifies an exact list of Stacks of a set, by namespace, name and UID: one of the same name that was created
// since is another.
func Digest(set *v1alpha1.StackSet, stacks []*v1alpha1.Stack) string {
	lines := make([]string, len(stacks))
	for i, s := range stacks {
		lines[i] = fmt.Sprintf("%s %s\n", Key(set, s.Namespace, s.Name), s.UID)
	}
	slices.Sort(lines)
	h := sha256.New()
	for _, line := range lines {
		_, _ = h.Write([]byte(line))
	}
	return hex.EncodeToString(h.Sum(nil))[:40]
}
