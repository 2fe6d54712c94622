package screen

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/run"
)

// Description is all that one screen says of a Stack or of a Run.
type Description struct {
	// Stack; nil for a Run whose Stack is gone, or may not be seen.
	Stack *v1alpha1.Stack
	// Run under way, or else the last one; the one that is described when Alone. Nil when there never was one.
	Run *v1alpha1.Run
	// Alone says that the Run is what is described, and not its Stack.
	Alone bool
	// Runs of the Stack, newest first.
	Runs []v1alpha1.Run
	// State of the Stack; nil when it has none.
	State *v1alpha1.State
	// Events of the Stack and the Run.
	Events []corev1.Event
}

// How much of what may be long is shown.
const (
	mostChanges  = 10
	mostFindings = 10
	mostRuns     = 5
	mostEvents   = 8
)

// Write draws the screen.
func (d Description) Write(w io.Writer, s Style) error {
	p := newPage(w, s)
	if d.Alone {
		d.headRun(p)
	} else {
		d.headStack(p)
	}
	if d.Run != nil {
		d.run(p)
	}
	if !d.Alone {
		d.lastRuns(p)
	}
	d.events(p)
	d.next(p)
	return p.end()
}

// headStack says what a Stack is, how it stands and what it waits for.
func (d Description) headStack(p *page) {
	st, s := d.Stack, p.sty
	ready := Ready(st)
	p.text("%s  %s", s.paint(bold, fmt.Sprintf("Stack %s in %s", st.Name, st.Namespace)), d.standing(s))
	p.said(ready.Message)
	p.row("Code", code(st.Spec.Source))
	p.row("Revision", Clean(st.Status.Revision))
	p.row("Engine", strings.TrimSpace(string(st.Spec.Engine.Name)+" "+st.Spec.Engine.Version))
	p.row("Rules", rules(st))
	p.row("After", dependencies(st))
	p.row("State", d.state(s))
	p.row("Drift", driftSentence(st, s))
	p.row("Age", s.age(st.CreationTimestamp.Time))
	p.row("Waits for", d.waits(s))
}

// standing is a Stack's readiness in a few words.
func (d Description) standing(s Style) string {
	ready := Ready(d.Stack)
	words := or(ready.Reason, "New")
	switch {
	case d.Stack.DeletionTimestamp != nil:
		words = s.paint(yellow, "is being deleted: "+words)
	case ready.Status == "True":
		words = s.paint(green, "Ready: "+words)
	case condition(d.Stack.Status.Conditions, v1alpha1.ConditionStalled).Status == "True":
		words = s.paint(red, "not Ready, and will not be before somebody acts: "+words)
	default:
		words = s.paint(yellow, "not Ready: "+words)
	}
	if !ready.LastTransitionTime.IsZero() {
		words += ", for " + s.age(ready.LastTransitionTime.Time)
	}
	return words
}

// code says where the code is from.
func code(source v1alpha1.Source) string {
	switch {
	case source.Git != nil:
		text := "Repository " + source.Git.Repository.Name
		if ns := source.Git.Repository.Namespace; ns != "" {
			text += " of " + ns
		}
		text += ", folder " + or(source.Git.Path, ".")
		if source.Git.Ref != "" {
			text += " at " + source.Git.Ref
		}
		return text
	case source.ConfigMap != nil:
		return "ConfigMap " + source.ConfigMap.Name
	case len(source.Inline) > 0:
		return fmt.Sprintf("inline, %s", count(len(source.Inline), "file"))
	}
	return ""
}

// rules are those that a Stack is changed by.
func rules(st *v1alpha1.Stack) string {
	parts := []string{"apply " + or(string(st.Spec.Apply), "Manual")}
	if st.Spec.FourEyes {
		parts = append(parts, "four eyes")
	}
	if n := len(st.Spec.Windows); n > 0 {
		parts = append(parts, count(n, "window"))
	}
	if n := len(st.Spec.Hooks); n > 0 {
		parts = append(parts, count(n, "hook"))
	}
	for _, p := range st.Spec.Policies {
		parts = append(parts, "policies of "+p.ConfigMap.Name)
	}
	if deletion := st.Spec.Deletion; deletion != "" {
		parts = append(parts, "deletion "+string(deletion))
	}
	return strings.Join(parts, ", ")
}

// dependencies are the Stacks that come before this one.
func dependencies(st *v1alpha1.Stack) string {
	var names []string
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, on := range st.Spec.DependsOn {
		add(on.Name)
	}
	for _, v := range st.Spec.Variables {
		if v.ValueFrom != nil && v.ValueFrom.Stack != nil {
			add(v.ValueFrom.Stack.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "Stack " + strings.Join(names, ", Stack ")
}

// count is a number of things.
func count(n int, thing string) string {
	switch {
	case n == 1:
		return "1 " + thing
	case strings.HasSuffix(thing, "y"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(thing, "y"))
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// state is what is known of the state, and who has it locked.
func (d Description) state(s Style) string {
	if d.State == nil {
		return "none yet"
	}
	st := d.State.Status
	text := fmt.Sprintf("version %d, serial %d, %s", st.Version, st.Serial, count(int(st.Resources), "resource"))
	if l := st.Lock; l != nil {
		text += fmt.Sprintf("; locked by %s for %s, lock %s", Clean(or(l.Run, l.Who)), s.age(l.Since.Time), Clean(l.ID))
	}
	if r := st.Rescued; r != nil {
		text += fmt.Sprintf("; a newer one was rescued from Run %s and comes first", r.Run)
	}
	return text
}

func driftSentence(st *v1alpha1.Stack, s Style) string {
	d := st.Status.Drift
	rule := "not looked for"
	if c := st.Spec.Drift; c != nil && c.Every != nil && c.Every.Duration > 0 {
		rule = "looked for every " + duration.HumanDuration(c.Every.Duration)
	}
	switch {
	case d == nil && st.Spec.Drift == nil:
		return ""
	case d == nil:
		return rule + ", never yet"
	case d.Since == nil:
		return fmt.Sprintf("none %s ago; %s", s.age(d.CheckedAt.Time), rule)
	}
	return s.paint(yellow, fmt.Sprintf("%s, for %s, found by Run %s; %s", driftCounts(d), s.age(d.Since.Time), d.Run, rule))
}

// waits says for whom or what nothing goes on.
func (d Description) waits(s Style) string {
	if d.Run != nil && !Phase(d.Run).Finished() {
		return runWaits(d.Run, s)
	}
	if d.Alone || d.Stack == nil {
		return ""
	}
	ready := Ready(d.Stack)
	switch {
	case ready.Reason == "Suspended":
		return "somebody who resumes it"
	case condition(d.Stack.Status.Conditions, v1alpha1.ConditionStalled).Status == "True":
		return "somebody who acts"
	}
	for _, waits := range []string{"waits for ", "waits until "} {
		if what, ok := strings.CutPrefix(Clean(ready.Message), waits); ok {
			return what
		}
	}
	return ""
}

// runWaits says for whom or what a Run waits; nothing when it is at work.
func runWaits(r *v1alpha1.Run, s Style) string {
	said := Succeeded(r)
	message := Clean(said.Message)
	switch {
	case r.Status.NextAttempt != nil:
		at := r.Status.NextAttempt.Time
		return fmt.Sprintf("the next try, in %s, at %s", Took(at.Sub(s.Now)), at.UTC().Format(time.TimeOnly+" MST"))
	case WaitsForPerson(r):
		text := "a person who approves the plan of Run " + r.Name
		if r.Spec.FourEyes && r.Spec.Cause.By != "" {
			text += " and is not " + Clean(r.Spec.Cause.By)
		}
		return text
	}
	switch said.Reason {
	case run.ReasonQueued:
		return or(strings.TrimPrefix(message, "waits for "), "its turn")
	case run.ReasonCanceling:
		return "the engine, which was told to end: " + message
	case run.ReasonWindowClosed, run.ReasonWindowInvalid:
		return "a window: " + message
	case run.ReasonPodPending, run.ReasonPodRefused, run.ReasonOverdue:
		return "its pod: " + message
	case run.ReasonInputsMissing:
		return "what is missing: " + message
	case run.ReasonSuspended:
		return "somebody who resumes the Stack"
	}
	return ""
}

// WaitsForPerson says that a Run goes on once its plan is approved.
func WaitsForPerson(r *v1alpha1.Run) bool {
	return Phase(r) == v1alpha1.PhaseAwaitingApproval && Succeeded(r).Reason == run.ReasonAwaitingApproval && r.Status.Plan != nil && !Approved(r)
}

// Approved says that the plan which a Run has now is approved, by somebody who may.
func Approved(r *v1alpha1.Run) bool {
	a := r.Spec.Approval
	if a == nil || r.Status.Plan == nil || a.PlanDigest != r.Status.Plan.Digest {
		return false
	}
	return !r.Spec.FourEyes || a.By != r.Spec.Cause.By
}

// headRun says what a Run is when it is what the screen is of.
func (d Description) headRun(p *page) {
	r, s := d.Run, p.sty
	p.text("%s  %s", s.paint(bold, fmt.Sprintf("Run %s in %s", r.Name, r.Namespace)), phase(r, s))
	p.said(Succeeded(r).Message)
	stack := r.Spec.Stack.Name
	if d.Stack == nil {
		stack += ", which is gone, or which you may not see"
	}
	p.row("Stack", stack)
	p.row("Waits for", d.waits(s))
	p.flush()
}

// phase is how far a Run is, in color.
func phase(r *v1alpha1.Run, s Style) string {
	words := string(Phase(r))
	switch Phase(r) {
	case v1alpha1.PhaseSucceeded:
		return s.paint(green, words)
	case v1alpha1.PhaseFailed, v1alpha1.PhaseCanceled:
		return s.paint(red, words)
	}
	return s.paint(yellow, words)
}

// run shows a Run: why it is there, what it plans, what its last attempt did.
func (d Description) run(p *page) {
	r, s := d.Run, p.sty
	if !d.Alone {
		p.title("Run %s  %s", r.Name, phase(r, s))
	}
	took := ", for "
	if Phase(r).Finished() {
		took = ", took "
	}
	p.row("  Operation", string(r.Spec.Operation)+took+runTook(r, s))
	p.row("  Cause", cause(r))
	p.row("  Revision", Clean(r.Spec.Revision))
	if a := r.Spec.Approval; a != nil {
		by := "by " + Clean(a.By)
		if !Approved(r) {
			by += ", which does not count for this plan"
		}
		p.row("  Approved", by)
	}
	if a := r.Spec.Rejection; a != nil {
		p.row("  Rejected", "by "+Clean(a.By)+after(": ", Clean(a.Reason)))
	}
	if r.Spec.Cancel {
		p.row("  Canceled", after("by ", Clean(or(r.Spec.CanceledBy, "somebody"))))
	}
	if pl := r.Status.Plan; pl != nil {
		p.row("  Plan", run.Summary(pl), after("by "+string(d.engine())+" ", pl.EngineVersion))
		p.row("  Digest", pl.Digest)
		p.flush()
		changes(p, pl, s, mostChanges, func(more int) string {
			return fmt.Sprintf("and %d more: %s diff %s", more, s.Program, r.Name)
		})
		findings(p, pl.Policy, s)
	}
	for i := max(0, len(r.Status.Attempts)-2); i < len(r.Status.Attempts); i++ {
		attempt(p, &r.Status.Attempts[i], s)
	}
}

func (d Description) engine() v1alpha1.EngineName {
	if d.Stack == nil {
		return "version"
	}
	return d.Stack.Spec.Engine.Name
}

func cause(r *v1alpha1.Run) string {
	c := r.Spec.Cause
	text := string(c.Type) + after(": ", Clean(c.Message))
	if c.By != "" && !strings.Contains(c.Message, c.By) {
		text += ", by " + Clean(c.By)
	}
	return text
}

// changes shows the first changes of a plan, the risky ones first as they are in it.
func changes(p *page, pl *v1alpha1.Plan, s Style, most int, more func(int) string) {
	for i, c := range pl.Resources {
		if i == most {
			break
		}
		p.text("    %s %s", sign(c.Action, s), Clean(c.Address))
	}
	if left := all(pl) - min(most, len(pl.Resources)); left > 0 {
		p.text("    %s", more(left))
	}
}

// all is how many changes a plan has; moved resources are in the list only.
func all(pl *v1alpha1.Plan) int {
	return max(len(pl.Resources), int(pl.Add+pl.Change+pl.Destroy+pl.Replace+pl.Import+pl.Forget))
}

// sign is how engines write an action.
func sign(action string, s Style) string {
	switch action {
	case "create":
		return s.paint(green, "+  ")
	case "update":
		return s.paint(yellow, "~  ")
	case "delete":
		return s.paint(red, "-  ")
	case "replace":
		return s.paint(red, "-/+")
	case "import":
		return s.paint(green, "&  ")
	case "forget":
		return s.paint(yellow, ".  ")
	case "move":
		return s.paint(dim, ">  ")
	}
	return fmt.Sprintf("%-3s", Clean(action))
}

func findings(p *page, result *v1alpha1.PolicyResult, s Style) {
	if result == nil {
		return
	}
	p.row("  Policy", fmt.Sprintf("%s asked: %d deny, %d warn", count(int(result.Checked), "rule"), result.Denied, result.Warned))
	for i, f := range result.Findings {
		if i == mostFindings {
			p.text("    and %d more", int(result.Denied+result.Warned)-i)
			return
		}
		color := yellow
		if f.Action == "Deny" {
			color = red
		}
		p.text("    %s %s: %s", s.paint(color, fmt.Sprintf("%-4s", f.Action)), Clean(f.Policy), Clean(f.Message))
	}
}

// attempt shows the steps of an attempt.
func attempt(p *page, a *v1alpha1.Attempt, s Style) {
	end := s.Now
	if a.FinishedAt != nil {
		end = a.FinishedAt.Time
	}
	p.text("  %s", s.paint(bold, fmt.Sprintf("Attempt %d: %s in pod %s, %s", a.Number, strings.ToLower(string(a.Phase)), a.Pod, Took(end.Sub(a.StartedAt.Time)))))
	for _, step := range a.Steps {
		took := ""
		if d, ok := stepTook(step, s.Now); ok {
			took = Took(d)
		}
		p.row("    "+mark(step.State, s)+" "+step.Name, or(took, " "), Clean(step.Message))
	}
	p.flush()
	if a.Failure != nil {
		p.text("    %s: %s", s.paint(red, string(a.Failure.Class)), Clean(a.Failure.Message))
	}
}

func (d Description) lastRuns(p *page) {
	first := true
	for i := range min(len(d.Runs), mostRuns+1) {
		r := &d.Runs[i]
		if d.Run != nil && r.Name == d.Run.Name {
			continue
		}
		if first {
			p.title("Runs before")
			first = false
		}
		p.row("  "+r.Name, p.sty.age(r.CreationTimestamp.Time), string(r.Spec.Operation), causeInShort(r), string(Phase(r)), Clean(Succeeded(r).Message))
	}
}

func (d Description) events(p *page) {
	if len(d.Events) == 0 {
		return
	}
	events := slices.Clone(d.Events)
	slices.SortStableFunc(events, func(a, b corev1.Event) int { return cmp.Compare(eventTime(a).UnixNano(), eventTime(b).UnixNano()) })
	p.title("Events")
	for _, e := range events[max(0, len(events)-mostEvents):] {
		kind := p.sty.paint(plain, e.Type)
		if e.Type == corev1.EventTypeWarning {
			kind = p.sty.paint(yellow, e.Type)
		}
		p.row("  "+p.sty.age(eventTime(e)), kind, e.Reason, e.InvolvedObject.Name, Clean(e.Message))
	}
}

func eventTime(e corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}
