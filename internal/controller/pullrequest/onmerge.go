package pullrequest

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	rundecision "cairn.dev/cairn/internal/controller/run/decision"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// maxOnMerge is the maximum length of the message about a merge, in bytes.
const maxOnMerge = 500

// rulesOf returns a Stack with only what decides what it does when a pull request is merged.
func rulesOf(s *v1alpha1.Stack) *v1alpha1.Stack {
	return &v1alpha1.Stack{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, Labels: s.Labels},
		Spec: v1alpha1.StackSpec{
			Apply: s.Spec.Apply, Windows: s.Spec.Windows, PreventSelfApproval: s.Spec.PreventSelfApproval,
			RequireApprovalFor: s.Spec.RequireApprovalFor, DeletionPolicy: s.Spec.DeletionPolicy,
			Suspend: s.Spec.Suspend,
		},
		Status: v1alpha1.StackStatus{StackPolicies: s.Status.StackPolicies, Release: s.Status.Release},
	}
}

// setOnMerge sets what the affected Stacks do when the pull request is merged.
func (w Snapshot) setOnMerge(stacks []v1alpha1.PullRequestStack) {
	for i := range stacks {
		s := &stacks[i]
		for _, a := range w.Merge.Affected {
			if a.Key == (Key{s.Namespace, s.Name}) {
				s.OnMerge = onMerge(*s, a.Rules, w.Merge.StackSets)
				if s.OnMerge != nil && a.Rules.Status.Release != nil {
					of := a.Rules.Status.Release
					s.OnMerge = behind("it is applied when "+of.Text()+" gets the merge", s.OnMerge)
					s.OnMerge.Stage = of.Pipeline + "/" + of.Stage
				}
				if by := w.Holders[a.Key]; by != nil {
					s.OnMerge = behind(by.Text()+" is applied to it "+by.Until(), s.OnMerge)
				}
			}
		}
	}
}

// onMerge returns what a Stack does when the pull request is merged; nil while that is not known.
func onMerge(of v1alpha1.PullRequestStack, stack *v1alpha1.Stack,
	sets []v1alpha1.PullRequestStackSet) *v1alpha1.StackOnMerge {
	if stack == nil {
		return nil
	}
	next := &v1alpha1.StackOnMerge{}
	switch plan := of.Plan; {
	case stack.Spec.Suspend:
		next.Action, next.Message = v1alpha1.StackMergeStop, "no Run starts while spec.suspend of the Stack is true"
	case of.DeletedDirectory != "":
		next.Action, next.Message = withoutDirectory(of.DeletedDirectory, stack, sets)
	case plan == nil || !of.Phase.Finished():
		return nil
	case plan.Policy != nil && plan.Policy.Denied > 0:
		next.Action, next.Message = v1alpha1.StackMergeStop, "policies deny the plan"
	case of.Phase != v1alpha1.PhaseSucceeded:
		return nil
	case !plan.Changes:
		next.Action = v1alpha1.StackMergeNothing
	case stack.Spec.Apply == v1alpha1.ApplyNever:
		next.Action, next.Message = v1alpha1.StackMergeStop, "spec.apply of the Stack is Never"
	default:
		next.Action = v1alpha1.StackMergeApply
		rules, why := rundecision.RequiredApprovals(stack, plan)
		if len(rules) > 0 {
			next.Action, next.Rules = v1alpha1.StackMergeAwaitApproval, rules
		}
		if hasWindows(stack) {
			why = append(why, "it is applied within the windows of the Stack")
		}
		next.Message = strings.Join(why, "; ")
	}
	next.Message = runinfo.Clip(next.Message, maxOnMerge)
	return next
}

// behind returns what a Stack does when the pull request is merged and something else has to happen before.
func behind(text string, next *v1alpha1.StackOnMerge) *v1alpha1.StackOnMerge {
	if next == nil || next.Action == v1alpha1.StackMergeStop || next.Action == v1alpha1.StackMergeMove {
		return next
	}
	if next.Message != "" {
		text += "; " + next.Message
	}
	return &v1alpha1.StackOnMerge{
		Action: v1alpha1.StackMergeWait, Rules: next.Rules, Message: runinfo.Clip(text, maxOnMerge), Stage: next.Stage,
	}
}

// hasWindows reports whether windows restrict when a Stack is applied, its own or those of StackPolicies.
func hasWindows(stack *v1alpha1.Stack) bool {
	return slices.ContainsFunc(stack.Spec.Windows, func(w v1alpha1.Window) bool {
		return len(w.Operations) == 0 || slices.Contains(w.Operations, v1alpha1.OperationApply)
	}) || slices.ContainsFunc(stack.Status.StackPolicies, func(p v1alpha1.AppliedStackPolicy) bool {
		return p.Windows > 0
	})
}

// withoutDirectory returns what a Stack does whose directory a merge deletes. Its StackSet decides, if it has one and
// that writes; no merge deletes another Stack, or destroys anything.
func withoutDirectory(
	directory string, stack *v1alpha1.Stack, sets []v1alpha1.PullRequestStackSet,
) (action v1alpha1.StackMergeAction, message string) {
	key, _ := stack.StackSetKey()
	i := slices.IndexFunc(sets, func(s v1alpha1.PullRequestStackSet) bool {
		return key == types.NamespacedName{Namespace: s.Namespace, Name: s.Name} && s.Reason == ""
	})
	if i < 0 {
		return v1alpha1.StackMergeStop,
			fmt.Sprintf("nothing is destroyed: its directory %s is gone (%s). If it was moved, set "+
				"spec.source.git.path. %s", directory, v1alpha1.ReasonPathNotFound, onDeletion(stack))
	}
	set := sets[i]
	name := stack.Name
	if stack.Namespace != set.Namespace {
		name = stack.Namespace + "/" + name
	}
	effect := slices.IndexFunc(set.Stacks, func(s v1alpha1.PullRequestStackSetStack) bool { return s.Name == name })
	switch {
	case effect < 0:
		return v1alpha1.StackMergeStop, fmt.Sprintf("nothing is destroyed: the list of StackSet %s changes", key)
	case set.Stacks[effect].Effect != v1alpha1.EffectGo:
		return v1alpha1.StackMergeMove,
			fmt.Sprintf("nothing is destroyed: StackSet %s changes %s of the Stack, which is "+
				"planned then", key, strings.Join(set.Stacks[effect].Fields, ", "))
	case set.Prune == v1alpha1.PruneDelete:
		return v1alpha1.StackMergeStop,
			fmt.Sprintf("StackSet %s suspends it, and deletes it once a user confirms the list with "+
				"cairn confirm-deletions %s. %s", key, key.Name, onDeletion(stack))
	}
	return v1alpha1.StackMergeStop,
		fmt.Sprintf("nothing is destroyed: StackSet %s suspends it, and its resources and its State stay", key)
}

// onDeletion describes what the deletion of a Stack does.
func onDeletion(stack *v1alpha1.Stack) string {
	switch stack.Spec.DeletionPolicy {
	case v1alpha1.DeletionOrphan:
		return "Deleting the Stack destroys nothing (deletionPolicy is Orphan)."
	case v1alpha1.DeletionProtect:
		return "The Stack cannot be deleted (deletionPolicy is Protect)."
	}
	return "Deleting the Stack does what the plan shows (deletionPolicy is Destroy)."
}
