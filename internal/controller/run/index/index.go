// Package index has the fields by which caches find Runs, and the lookups by them.
package index

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// StackField is the field by which caches find the Runs of a Stack, without those of pull requests.
const StackField = "spec.stack.name"

// StackNames is the value of StackField.
func StackNames(o client.Object) []string {
	run := o.(*v1alpha1.Run)
	if run.Spec.PullRequest != nil {
		return nil
	}
	return []string{run.Spec.Stack.Name}
}

// UnfinishedField is the field by which the cache finds those of a Stack's Runs that are not finished, which are few.
const UnfinishedField = "unfinished"

// UnfinishedStackNames is the value of UnfinishedField.
func UnfinishedStackNames(o client.Object) []string {
	run := o.(*v1alpha1.Run)
	if run.Status.Phase.Finished() {
		return nil
	}
	return []string{run.Spec.Stack.Name}
}

// PullRequestField is the field by which the cache finds the Runs of a PullRequest that are not finished.
const PullRequestField = "spec.pullRequest.uid"

// PullRequestUIDs is the value of PullRequestField.
func PullRequestUIDs(o client.Object) []string {
	run := o.(*v1alpha1.Run)
	if run.Spec.PullRequest == nil || run.Status.Phase.Finished() {
		return nil
	}
	return []string{string(run.Spec.PullRequest.UID)}
}

// ReasonField is the field by which the cache finds the Runs whose condition has a reason, as long as they are not
// finished.
const ReasonField = "status.reason"

// Reasons is the value of ReasonField.
func Reasons(o client.Object) []string {
	if o.(*v1alpha1.Run).Status.Phase.Finished() {
		return nil
	}
	for _, c := range o.(*v1alpha1.Run).Status.Conditions {
		if c.Type == v1alpha1.ConditionSucceeded {
			return []string{c.Reason}
		}
	}
	return nil
}

// PodField is the field by which the cache finds the Run that a pod works for.
const PodField = "status.attempts.podUID"

// PodUIDs are the values of PodField.
func PodUIDs(o client.Object) []string {
	var uids []string
	for _, a := range o.(*v1alpha1.Run).Status.Attempts {
		uids = append(uids, string(a.PodUID))
	}
	return uids
}

// ByPod finds the Run that names the pod in one of its attempts; nil when none does.
func ByPod(ctx context.Context, c client.Reader, namespace string, uid types.UID) (*v1alpha1.Run, error) {
	var runs v1alpha1.RunList
	err := c.List(ctx, &runs, client.InNamespace(namespace), client.MatchingFields{PodField: string(uid)})
	if err != nil || len(runs.Items) == 0 {
		return nil, err
	}
	return &runs.Items[0], nil
}

// StackOf is the Run's Stack; nil when it is gone or another one has its name. Only the API server decides that: a
// cache's view of Stacks may be older than that of Runs, and have a Stack that was deleted and recreated since. Nor
// does a view from before the Run decide anything: the rules for its apply may be stricter by now.
func StackOf(ctx context.Context, cached, live client.Reader, run *v1alpha1.Run) (*v1alpha1.Stack, error) {
	stack, err := StackIn(ctx, cached, run)
	if err == nil && (stack == nil || isFromBefore(stack, run)) {
		stack, err = StackIn(ctx, live, run)
	}
	return stack, err
}

// isFromBefore reports whether a view of a Stack is older than its Run, whose name is written to the Stack first.
func isFromBefore(stack *v1alpha1.Stack, run *v1alpha1.Run) bool {
	return run.Spec.PullRequest == nil && runinfo.Number(stack.Status.LastRun) < runinfo.Number(run.Name)
}

// StackPoliciesOf are the StackPolicies of a Stack's namespace. A cache that does not have those that the Stack's
// status names is older than its Runs, and is not used: the windows of one that it lacks would not keep an apply.
func StackPoliciesOf(ctx context.Context, cached, live client.Reader, stack *v1alpha1.Stack) ([]v1alpha1.StackPolicy,
	error) {
	var list v1alpha1.StackPolicyList
	namespace := client.InNamespace(stack.Namespace)
	err := cached.List(ctx, &list, namespace, client.UnsafeDisableDeepCopy) // they are only read
	if err == nil && lacks(list.Items, stack.Status.StackPolicies) {
		list = v1alpha1.StackPolicyList{}
		err = live.List(ctx, &list, namespace)
	}
	return list.Items, err
}

// lacks reports whether a view of StackPolicies is older than what is known of them.
func lacks(view []v1alpha1.StackPolicy, known []v1alpha1.AppliedStackPolicy) bool {
	return slices.ContainsFunc(known, func(k v1alpha1.AppliedStackPolicy) bool {
		return !slices.ContainsFunc(view, func(p v1alpha1.StackPolicy) bool {
			return p.UID == k.UID && p.Generation >= k.Generation
		})
	})
}

// StackIn is the Run's Stack in one view of them. Of a Run that plans a Stack which does not exist, it reads none, also
// if one was created meanwhile.
func StackIn(ctx context.Context, c client.Reader, run *v1alpha1.Run) (*v1alpha1.Stack, error) {
	if runinfo.PlansNewStack(run) {
		return runinfo.NewStack(run), nil
	}
	stack := &v1alpha1.Stack{}
	err := c.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: run.Spec.Stack.Name}, stack)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if err != nil || !metav1.IsControlledBy(run, stack) {
		return nil, nil
	}
	return stack, nil
}
