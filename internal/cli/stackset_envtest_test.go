//go:build envtest

package cli

import (
	"regexp"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stackset/decision"
	"cairn.dev/cairn/test/apiserver"
)

// stackSet creates a StackSet that generates the Stack kept, and some Stacks of it that are gone.
func (d *cliEnv) stackSet(gone ...string) *v1alpha1.StackSet {
	d.Helper()
	set := &v1alpha1.StackSet{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: "platform"}}
	set.Spec.Prune = v1alpha1.PruneDelete
	set.Spec.Rollout = &v1alpha1.StackSetRollout{
		Order: []metav1.LabelSelector{{MatchLabels: map[string]string{"env": "dev"}}}}
	set.Spec.Generators = []v1alpha1.StackSetGenerator{{}}
	set.Spec.Generators[0].List = []apiextensionsv1.JSON{{Raw: []byte(`{"name": "kept"}`)}}
	set.Spec.Template.Metadata.Name = "${params.name}"
	set.Spec.Template.Spec.Raw = []byte(`{"source": {"inline": {"main.tf": ""}}}`)
	apiserver.Must(d.T, apiserver.Kube.Create(d.Context(), set))
	for _, name := range append([]string{"kept"}, gone...) {
		st := d.stack(name)
		st.Labels = map[string]string{v1alpha1.StackSetLabel: set.Name}
		if name != "kept" {
			st.Annotations = map[string]string{v1alpha1.ItemGoneAnnotation: "gone"}
		}
		apiserver.Must(d.T, apiserver.Kube.Update(d.Context(), st))
	}
	return set
}

// decide writes the status that the operator writes, and returns the message.
func (d *cliEnv) decide(set *v1alpha1.StackSet) string {
	d.Helper()
	apiserver.Must(d.T, apiserver.Kube.Get(d.Context(), client.ObjectKeyFromObject(set), set))
	stacks := &v1alpha1.StackList{}
	apiserver.Must(d.T, apiserver.Kube.List(d.Context(), stacks, client.InNamespace(d.Namespace)))
	decided := decision.Decide(decision.Snapshot{
		Set: set, Rendered: []decision.Rendered{{Name: "kept"}}, Stacks: stacks.Items,
		Same: func(*decision.Rendered, *v1alpha1.Stack) bool { return true },
	})
	set.Status = decided.Status
	set.Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionReady, Status: decided.Ready, Reason: decided.Reason, Message: decided.Message,
		LastTransitionTime: metav1.Now(),
	}}
	apiserver.Must(d.T, apiserver.Kube.Status().Update(d.Context(), set))
	return decided.Message
}

func (d *cliEnv) confirmed(set *v1alpha1.StackSet) string {
	d.Helper()
	apiserver.Must(d.T, apiserver.Kube.Get(d.Context(), client.ObjectKeyFromObject(set), set))
	return set.Annotations[v1alpha1.ConfirmDeletionsAnnotation]
}

func TestConfirmDeletions(t *testing.T) {
	d := newCLIEnv(t)
	d.want(1, "there is no StackSet platform in namespace "+d.Namespace+": it has no StackSets", "",
		"confirm-deletions", "platform")
	set := d.stackSet()
	d.want(1, "no Stack of StackSet platform waits for a confirmation", "", "confirm-deletions", "platform")
	for i := range 25 {
		st := d.stack("gone-" + string(rune('a'+i)))
		st.Labels = map[string]string{v1alpha1.StackSetLabel: set.Name}
		st.Annotations = map[string]string{v1alpha1.ItemGoneAnnotation: "gone"}
		apiserver.Must(t, apiserver.Kube.Update(t.Context(), st))
	}
	d.decide(set)

	// Without a terminal, the whole list is shown and nothing is confirmed.
	d.want(1, "gone-y", "", "confirm-deletions", "platform")
	d.want(1, "without a terminal the list is confirmed by its digest", "", "confirm-deletions", "platform")
	d.want(1, "the list is another one than the one with the digest 1f3c", "", "confirm-deletions", "platform",
		"--digest=1f3c")

	// A list that is not the one of the status is rejected: a Stack left it.
	left := &v1alpha1.Stack{}
	apiserver.Must(t, apiserver.Kube.Get(t.Context(), client.ObjectKey{Namespace: d.Namespace, Name: "gone-y"}, left))
	left.Annotations = nil
	apiserver.Must(t, apiserver.Kube.Update(t.Context(), left))
	before := set.Status.Deletions.Digest
	d.want(1, "is changing: run the command again", "", "confirm-deletions", "platform", "--digest="+before)
	left.Labels = nil
	apiserver.Must(t, apiserver.Kube.Update(t.Context(), left))
	message := d.decide(set)
	d.want(1, "the list is another one", "", "confirm-deletions", "platform", "--digest="+before)
	if got := d.confirmed(set); got != "" {
		t.Fatalf("the digest %s is confirmed", got)
	}

	// The command in the message runs as it is printed.
	printed := regexp.MustCompile("cairn (confirm-deletions [^ ;`]+ [^ ;`]+)").FindStringSubmatch(message)
	if printed == nil {
		t.Fatalf("no command in %q", message)
	}
	d.want(0, "StackSet platform deletes these Stacks now", "",
		append([]string{"-n", d.Namespace}, strings.Fields(printed[1])...)...)
	if got := d.confirmed(set); got != set.Status.Deletions.Digest {
		t.Errorf("the digest %q is confirmed, and not %s", got, set.Status.Deletions.Digest)
	}
	set.Spec.Prune = v1alpha1.PruneKeep
	apiserver.Must(t, apiserver.Kube.Update(t.Context(), set))
	d.want(1, "spec.prune of StackSet platform is Keep", "", "confirm-deletions", "platform")
}

func TestStackSetsAreShown(t *testing.T) {
	d := newCLIEnv(t)
	set := d.stackSet("old")
	d.stack("other")
	d.decide(set)
	d.want(0, "stack.cairn.dev/kept\nstack.cairn.dev/old\n", "", "get", "stacks", "--stackset", "platform",
		"-o", "name")
	d.want(0, "stack.cairn.dev/kept\nstack.cairn.dev/old\n", "", "get", "stacks", "--stackset", d.Namespace+"/platform",
		"-o", "name")
	d.want(0, "", "", "get", "stacks", "--stackset", "elsewhere/platform", "-o", "name")
	d.want(0, "There are no Stacks of StackSet nets in namespace "+d.Namespace+"; -A shows those in other namespaces.",
		"", "get", "--stackset", "nets")
	d.want(0, "There are no Stacks with the labels a=b of StackSet platform in any namespace.", "", "get", "-A",
		"--stackset", "platform", "-l", "a=b")
	d.want(1, "--stackset is of Stacks", "", "get", "runs", "--stackset", "platform")
	d.want(0, "platform", "", "get", "ss")
	d.want(0, "AwaitingDeletionConfirmation", "", "describe", "stackset/platform")
	d.want(0, "cairn confirm-deletions platform shows all of them, and asks", "", "describe", "stackset/platform")
	d.want(0, "0 of 1 applied, 0 failed", "", "describe", "stackset/platform")
	d.want(0, "platform\n", "", "__complete", "confirm-deletions", "")
	d.want(0, "stackset/platform\n", "", "__complete", "describe", "stackset/")
	d.want(0, "platform\n", "", "__complete", "get", "--stackset=")
	d.want(0, "json\nyaml\nwide\nname\n", "", "__complete", "get", "--output=")
	d.want(1, "stackset/platform is a StackSet", "", "apply", "stackset/platform")
}
