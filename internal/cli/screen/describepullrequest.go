package screen

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// maxSkipped is the maximum number of skipped Stacks in a description.
const maxSkipped = 10

// PullRequest prints the description of a PullRequest, with its events.
func PullRequest(w io.Writer, pr *v1alpha1.PullRequest, events []corev1.Event, s Style) error {
	p := newPage(w, s)
	p.ready("PullRequest", pr, pr.Status.Conditions)
	p.row("Title", Clean(pr.Spec.Title))
	p.row("Author", Clean(pr.Spec.Author))
	p.row("Merges", Clean(mergeLine(pr)))
	p.row("Repository", pr.Spec.Repository.Name)
	p.row("URL", Clean(pr.Spec.URL))
	p.row("Age", s.age(pr.CreationTimestamp.Time))
	p.row("Last command", Clean(pr.Status.Commands.Answer))
	if failure := pr.Status.Delivered.Failure; failure != "" {
		p.row("Git provider", s.paint(red, "does not have the newest report: "+Clean(failure)))
	}
	for _, r := range pr.Status.Requirements {
		p.row("Requires "+string(r.Type), string(r.State), Clean(r.Message))
	}
	if m := pr.Status.AutomaticMerge; m != nil {
		p.row("Automatic merge", string(m.State), Clean(m.Message))
	}
	pullRequestApply(p, pr.Status.Apply)
	if len(pr.Status.Stacks) > 0 {
		p.title("Affected Stacks")
	}
	for _, stack := range pr.Status.Stacks {
		p.row("  "+stack.Namespace+"/"+stack.Name, cmp.Or(stack.Run, "-"), cmp.Or(string(stack.Phase), "-"),
			stackLine(stack))
	}
	pullRequestDependents(p, pr)
	pullRequestStackSets(p, pr)
	if pr.Status.Unplanned != nil {
		p.title("Not planned")
	}
	for _, line := range runinfo.UnplannedLines(pr.Status.Unplanned) {
		p.text("  %s", Clean(line))
	}
	if skipped := pr.Status.Skipped; len(skipped) > 0 {
		p.title("Affected Stacks that are not planned")
		for _, name := range skipped[:min(len(skipped), maxSkipped)] {
			p.text("  %s", name)
		}
		p.more("  ", len(skipped)-maxSkipped)
	}
	Description{Events: events}.events(p)
	if hints := pullRequestHints(pr, s); len(hints) > 0 {
		p.text("")
		p.row(s.paint(bold, "What to do next"), strings.Join(hints, "; "))
	}
	return p.end()
}

// pullRequestApply prints what the Stacks did with the merge.
func pullRequestApply(p *page, apply *v1alpha1.PullRequestApply) {
	if apply == nil {
		return
	}
	p.title("After the merge")
	for _, stack := range apply.Stacks {
		line := Clean(stack.Message)
		if stack.Phase == v1alpha1.StackApplyApplied && stack.Plan != nil {
			line = runinfo.Applied(stack.Plan)
		}
		phase := string(stack.Phase)
		if stack.Reason != "" && stack.Reason != phase {
			phase += " (" + Clean(stack.Reason) + ")"
		}
		p.row("  "+stack.Namespace+"/"+stack.Name, cmp.Or(stack.Run, "-"), phase, line)
	}
	p.more("  ", int(apply.MoreStacks))
}

// pullRequestStackSets prints what the merge changes in the lists of StackSets.
func pullRequestStackSets(p *page, pr *v1alpha1.PullRequest) {
	if len(pr.Status.StackSets) > 0 {
		p.title("StackSets after the merge")
	}
	for _, set := range pr.Status.StackSets {
		name, notes := set.Namespace+"/"+set.Name, runinfo.EffectNotes(set)
		if set.Message != "" {
			notes = slices.Concat([]string{Clean(set.Message)}, notes)
		}
		p.text("  %s: %s", name, cmp.Or(set.Reason, runinfo.Effects(set), "writes nothing"))
		for _, note := range notes {
			p.text("    %s", note)
		}
		for _, stack := range set.Stacks {
			p.text("    %s", Clean(runinfo.EffectLine(stack)))
		}
	}
	p.more("  ", int(pr.Status.MoreStackSets))
}

// pullRequestDependents prints the other Stacks that the merge changes through outputs.
func pullRequestDependents(p *page, pr *v1alpha1.PullRequest) {
	if len(pr.Status.Dependents)+int(pr.Status.MoreDependents) > 0 {
		p.title("Other Stacks after the merge")
	}
	for _, d := range pr.Status.Dependents {
		p.text("  %s/%s: %s", d.Namespace, d.Name, Clean(d.Message))
	}
	p.more("  ", int(pr.Status.MoreDependents))
}

// applyHints returns the commands for the first Stack that failed, and the first one that waits for an approval.
func applyHints(apply *v1alpha1.PullRequestApply, s Style) (hints []string) {
	for _, phase := range []v1alpha1.StackApplyPhase{v1alpha1.StackApplyFailed, v1alpha1.StackApplyAwaitingApproval} {
		is := func(stack v1alpha1.PullRequestStackApply) bool { return stack.Phase == phase }
		i := slices.IndexFunc(apply.Stacks, is)
		if i < 0 {
			continue
		}
		of := apply.Stacks[i]
		hint := fmt.Sprintf("%s describe -n %s %s shows why it failed", s.Program, of.Namespace, of.Name)
		if phase == v1alpha1.StackApplyAwaitingApproval {
			hint = fmt.Sprintf("%s approve -n %s %s shows the plan, and asks", s.Program, of.Namespace, of.Run)
		}
		hints = append(hints, hint)
	}
	return hints
}

// mergeLine returns what is merged: the head with its commit, and the base.
func mergeLine(pr *v1alpha1.PullRequest) string {
	head := pr.Spec.Head
	text := cmp.Or(head.Branch, "a deleted branch") + " at " + head.Commit[:min(len(head.Commit), 12)] + " into " +
		pr.Spec.Base
	if pr.Spec.Fork {
		text += ", from a fork"
	}
	if pr.Spec.Draft {
		text += ", as a draft"
	}
	return text
}

// stackLine returns the plan of an affected Stack, or why it has none.
func stackLine(stack v1alpha1.PullRequestStack) string {
	var parts []string
	if stack.DeletedDirectory != "" {
		parts = append(parts, "the pull request deletes "+Clean(stack.DeletedDirectory))
	}
	if stack.New {
		parts = append(parts, "new")
	}
	if stack.Deferred {
		parts = append(parts, "deferred")
	}
	if stack.Plan != nil {
		parts = append(parts, runinfo.Summary(stack.Plan))
	}
	if stack.Message != "" {
		parts = append(parts, Clean(stack.Message))
	}
	if stack.Approval != nil {
		parts = append(parts, Clean(stack.Approval.Text()))
	}
	if next := stack.OnMerge; next != nil {
		text := "when merged: " + next.Action.Text()
		if next.Message != "" {
			text += " (" + Clean(next.Message) + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// pullRequestHints returns the commands to use now, each with its purpose.
func pullRequestHints(pr *v1alpha1.PullRequest, s Style) []string {
	var hints []string
	var planned bool
	if apply := pr.Status.Apply; apply != nil {
		hints = applyHints(apply, s)
	}
	for _, stack := range pr.Status.Stacks {
		planned = planned || stack.Plan != nil
		if stack.Phase == v1alpha1.PhaseFailed && stack.Run != "" && len(hints) == 0 {
			hints = append(hints, fmt.Sprintf("%s logs -n %s %s shows why it failed", s.Program, stack.Namespace,
				stack.Run))
		}
	}
	if planned {
		hints = append(hints, s.Command()+" diff pr/"+pr.Name+" shows the plans")
	}
	return hints
}
