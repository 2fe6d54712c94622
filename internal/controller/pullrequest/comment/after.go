package comment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/shorten"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// After is what the affected Stacks did with the merge.
type After struct {
	// Commit is that of the merge.
	Commit string
	Stacks []Applied
	// More is the number of affected Stacks that are not listed.
	More int `json:",omitempty"`
	// Expired: Cairn does not wait for the Stacks any longer.
	Expired bool `json:",omitempty"`
}

// Applied is what a Stack did with the merge.
type Applied struct {
	v1alpha1.PullRequestStackApply
	// URL of its Run in the web UI; empty for none.
	URL string `json:",omitempty"`
	// OlderHead is the head that is applied before the merge, if the pull request has another one now.
	OlderHead string `json:",omitempty"`
	// Deadline is when the apply before the merge is left, unless the pull request is merged. Expired: it is.
	Deadline *metav1.Time `json:",omitempty"`
	Expired  bool         `json:",omitempty"`
}

func (s Applied) key() string { return s.Namespace + "/" + s.Name }

// longestReason is the maximum length of the message of a Stack in the table.
const longestReason = 160

// ApplyContext returns the name of the status of the merge commit.
func ApplyContext(context string) string { return context + "/apply" }

// ApplyStatus returns the status of the merge commit, with the context of ApplyContext.
func ApplyStatus(pr PullRequest, context string) Status {
	state, description := pr.After.aggregate()
	return Status{context, state, shorten.Characters(description, longestDescription), pr.URL}
}

// ApplyBeforeStatus returns the status of the head about the apply before the merge, with the context of ApplyContext.
// As a required status, it prevents the merge of what is not applied. If pull requests are applied after the merge
// only, it is a success.
func ApplyBeforeStatus(pr PullRequest, context string, enabled bool) Status {
	state, text := pr.appliedBefore()
	if !enabled {
		state, text = Success, "Applied after the merge."
	}
	return Status{context, state, shorten.Characters(text, longestDescription), pr.URL}
}

func (pr PullRequest) appliedBefore() (State, string) {
	if pr.Phase != v1alpha1.PullRequestPlanned {
		_, text := pr.aggregate()
		return Pending, text
	}
	applied := map[string]v1alpha1.StackApplyPhase{}
	for _, s := range pr.Held {
		if s.OlderHead == "" && !s.Expired {
			applied[s.key()] = s.Phase
		}
	}
	var all, done, failed int
	for _, s := range pr.Stacks {
		if state, _ := s.result(); state == Pending {
			return Pending, "The plans are in progress."
		}
		if s.New || s.DeletedDirectory != "" || s.Plan == nil || !s.Plan.Changes ||
			s.OnMerge != nil && s.OnMerge.Stage != "" {
			continue // they are applied after the merge only
		}
		all++
		switch applied[s.key()] {
		case v1alpha1.StackApplyApplied:
			done++
		case v1alpha1.StackApplyFailed, v1alpha1.StackApplyStopped:
			failed++
		}
	}
	text := fmt.Sprintf("%d of %s applied before the merge.", done, count(all, "Stack", "Stacks"))
	switch {
	case failed > 0:
		return Failure, fmt.Sprintf("%d failed; ", failed) + text
	case all == 0:
		return Success, "No plan has changes that are applied before the merge."
	case done < all:
		return Pending, text
	}
	return Success, text
}

// Result returns the comment that notifies users of the result of the apply. It has no plans.
func Result(pr PullRequest) PullRequest {
	return PullRequest{ID: resultOf(pr.ID), Head: pr.Head, Base: pr.Base, URL: pr.URL, Phase: pr.Phase, After: pr.After}
}

func resultOf(id ID) ID {
	id.Result = true
	return id
}

// groups are the phases in the order of the table: what needs a user is first.
var groups = []v1alpha1.StackApplyPhase{
	v1alpha1.StackApplyFailed, v1alpha1.StackApplyStopped, v1alpha1.StackApplySuperseded,
	v1alpha1.StackApplyAwaitingApproval, v1alpha1.StackApplyWaiting,
	v1alpha1.StackApplyPending, v1alpha1.StackApplyApplying, v1alpha1.StackApplyApplied, v1alpha1.StackApplyDeleted,
}

// aggregate returns the state of the merge and a sentence about it. The sentence has no text from outside.
func (a After) aggregate() (State, string) {
	n := map[v1alpha1.StackApplyPhase]int{}
	var sum v1alpha1.Plan
	for _, s := range a.Stacks {
		if n[s.Phase]++; s.Phase == v1alpha1.StackApplyApplied && s.Plan != nil {
			runinfo.Add(&sum, s.Plan)
		}
	}
	var others []string
	left := 0
	for _, g := range []struct {
		phases    []v1alpha1.StackApplyPhase
		one, many string
	}{
		{groups[:1], "failed", "failed"}, {groups[1:2], "stopped", "stopped"},
		{groups[2:3], "superseded", "superseded"},
		{groups[3:4], "waits for an approval", "wait for an approval"}, {groups[4:5], "waits", "wait"},
		{groups[5:7], "in progress", "in progress"},
	} {
		some := 0
		for _, phase := range g.phases {
			some += n[phase]
		}
		if some > 0 {
			others = append(others, count(some, g.one, g.many))
		}
		left += some
	}
	failed := n[v1alpha1.StackApplyFailed] + n[v1alpha1.StackApplyStopped] + n[v1alpha1.StackApplySuperseded]
	all := count(len(a.Stacks), "Stack", "Stacks")
	text := fmt.Sprintf("%d of %s applied", n[v1alpha1.StackApplyApplied], all)
	if left == 0 && sum.Changes {
		text += ": " + runinfo.Applied(&sum)
	}
	if deleted := n[v1alpha1.StackApplyDeleted]; deleted > 0 {
		others = append(others, fmt.Sprintf("%d deleted", deleted))
	}
	text = strings.Join(append([]string{text}, others...), ", ")
	state := Success
	if left > 0 {
		state = Pending
	}
	if failed > 0 || left > 0 && a.Expired {
		state = Failure
	}
	text += "."
	if left > 0 && a.Expired {
		text += " Cairn does not report what follows."
	}
	if a.More > 0 {
		text += " Cairn does not report " + count(a.More, "more Stack.", "more Stacks.")
	}
	return state, text
}

// sorted returns the Stacks in the order of groups, each by name.
func (a After) sorted() []Applied {
	return slices.SortedFunc(slices.Values(a.Stacks), func(a, b Applied) int {
		return cmp.Or(slices.Index(groups, a.Phase)-slices.Index(groups, b.Phase), strings.Compare(a.key(), b.key()))
	})
}

// addAfter adds the rows of the Stacks, and what those report that need a user.
func (d *document) addAfter(pr PullRequest) {
	stacks := After{Stacks: pr.Held}
	d.afterTitle, d.plansBefore = "Applied before the merge", "that"
	if pr.After != nil {
		stacks, d.afterTitle, d.plansBefore = *pr.After, "After the merge", "the merge"
	}
	for _, s := range stacks.sorted() {
		state := s.state()
		if s.Approval != "" {
			state += ". " + cell(s.Approval)
		}
		if s.Deadline != nil && !s.Expired {
			state += ". Held until " + timeOf(s.Deadline)
		}
		if s.OlderHead != "" {
			state += ". That is of head " + span(s.OlderHead)
		}
		row := fmt.Sprintf("| %s | %s | %s |\n", link(cell(s.key()), s.URL), state, s.next(pr.Base))
		d.after = append(d.after, row)
		name := element(s.key())
		if d.Plain {
			name = span(s.key())
		}
		if len(s.Message) > longestReason || strings.Contains(s.Message, "\n") {
			about := section{title: name + ": after the merge", url: cmp.Or(s.URL, d.url)}
			add(&d.details, about, newBlock("text", s.Message, d.Limit))
		}
	}
}

// state describes what a Stack did with the merge.
func (s Applied) state() string {
	if s.Expired {
		return "Not merged before " + timeOf(s.Deadline) +
			": the Stack goes back to the base, by a plan that waits for an approval"
	}
	text := map[v1alpha1.StackApplyPhase]string{
		v1alpha1.StackApplyPending: "Not read yet", v1alpha1.StackApplyApplying: "In progress",
		v1alpha1.StackApplyAwaitingApproval: "Waits for an approval", v1alpha1.StackApplyWaiting: "Waits",
		v1alpha1.StackApplyApplied: "Applied", v1alpha1.StackApplyFailed: "Failed",
		v1alpha1.StackApplyStopped: "Stopped", v1alpha1.StackApplySuperseded: "Superseded",
		v1alpha1.StackApplyDeleted: "The Stack is deleted",
	}[s.Phase]
	switch {
	case s.Phase == v1alpha1.StackApplyApplied && s.Reason == v1alpha1.ReasonNoChanges:
		return text + ": no changes"
	case s.Phase == v1alpha1.StackApplyApplied && s.Plan != nil:
		return text + ": " + runinfo.Applied(s.Plan)
	case s.Phase == v1alpha1.StackApplyAwaitingApproval && s.Plan != nil:
		return text + ": " + runinfo.Summary(s.Plan)
	case s.Reason != "":
		text += " (" + cell(s.Reason) + ")"
		if first, _, _ := strings.Cut(s.Message, "\n"); first != "" {
			text += ": " + cell(shorten.Characters(first, longestReason))
		}
	}
	return text
}

func timeOf(t *metav1.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// next describes what a user can do, with the command.
func (s Applied) next(base string) string {
	command := func(verb, name string) string { return cell(fmt.Sprintf("cairn -n %s %s %s", s.Namespace, verb, name)) }
	if s.Expired {
		return "`/cairn apply` again, or merge"
	}
	switch s.Phase {
	case v1alpha1.StackApplyAwaitingApproval:
		return fmt.Sprintf("%s, by a user with the verb `approve` on Runs in the namespace %s",
			command("approve", s.Run), cell(s.Namespace))
	case v1alpha1.StackApplyFailed:
		switch s.Reason {
		case v1alpha1.ReasonRejected, v1alpha1.ReasonCanceled, v1alpha1.ReasonRunRejected, v1alpha1.ReasonRunCanceled:
			return command("apply", s.Name) + ", or a correction of the code"
		}
		return command("retry", s.Name) + ", or a correction of the code"
	case v1alpha1.StackApplyStopped:
		if s.Reason == v1alpha1.ReasonDestroyed {
			return command("apply", s.Name)
		}
		return command("describe", s.Name) + ", and a correction"
	case v1alpha1.StackApplyWaiting:
		switch s.Reason {
		case v1alpha1.ReasonSuspended:
			return command("resume", s.Name)
		case v1alpha1.ReasonWindowClosed:
			if s.OpensAt != nil {
				return "It continues at " + timeOf(s.OpensAt) + ", when the window opens"
			}
			return "It continues when the window opens"
		}
		return command("describe", s.Name)
	case v1alpha1.StackApplySuperseded:
		return "The branch " + cell(base) + " does not have the merge any more"
	}
	return ""
}
