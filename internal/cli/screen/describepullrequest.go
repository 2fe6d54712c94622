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
	if len(pr.Status.Stacks) > 0 {
		p.title("Affected Stacks")
	}
	for _, stack := range pr.Status.Stacks {
		p.row("  "+stack.Namespace+"/"+stack.Name, cmp.Or(stack.Run, "-"), cmp.Or(string(stack.Phase), "-"), stackLine(stack))
	}
	pullRequestStackSets(p, pr)
	if skipped := pr.Status.Skipped; len(skipped) > 0 {
		p.title("Affected Stacks that are not planned")
		for _, name := range skipped[:min(len(skipped), maxSkipped)] {
			p.text("  %s", name)
		}
		if more := len(skipped) - maxSkipped; more > 0 {
			p.text("  and %d more", more)
		}
	}
	Description{Events: events}.events(p)
	if hints := pullRequestHints(pr, s); len(hints) > 0 {
		p.text("")
		p.row(s.paint(bold, "What to do next"), strings.Join(hints, "; "))
	}
	return p.end()
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
	if more := pr.Status.MoreStackSets; more > 0 {
		p.text("  and %d more", more)
	}
}

// mergeLine returns what is merged: the head with its commit, and the base.
func mergeLine(pr *v1alpha1.PullRequest) string {
	head := pr.Spec.Head
	text := cmp.Or(head.Branch, "a deleted branch") + " at " + head.Commit[:min(len(head.Commit), 12)] + " into " + pr.Spec.Base
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
	if stack.Plan != nil {
		parts = append(parts, runinfo.Summary(stack.Plan))
	}
	if stack.Message != "" {
		parts = append(parts, Clean(stack.Message))
	}
	return strings.Join(parts, "; ")
}

// pullRequestHints returns the commands to use now, each with its purpose.
func pullRequestHints(pr *v1alpha1.PullRequest, s Style) []string {
	var hints []string
	var planned bool
	for _, stack := range pr.Status.Stacks {
		planned = planned || stack.Plan != nil
		if stack.Phase == v1alpha1.PhaseFailed && stack.Run != "" && len(hints) == 0 {
			hints = append(hints, fmt.Sprintf("%s logs -n %s %s shows why it failed", s.Program, stack.Namespace, stack.Run))
		}
	}
	if planned {
		hints = append(hints, s.Command()+" diff pr/"+pr.Name+" shows the plans")
	}
	return hints
}
