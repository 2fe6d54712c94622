package promotion

import (
	"fmt"
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// Corresponding returns the Stack of the stage before that corresponds to a Stack of the stage at a position: the one
// whose labels are the same, without those that the selectors of the two stages name, and those of Cairn. It returns
// why if there is none, or if more than one could be meant. The Stacks are all of the two stages.
func Corresponding(
	p *v1alpha1.Pipeline, position int, stack *v1alpha1.Stack, before, own []*v1alpha1.Stack,
) (found *v1alpha1.Stack, why string) {
	stage, earlier := &p.Spec.Stages[position], &p.Spec.Stages[position-1]
	without := keysOf(&stage.Stacks, &earlier.Stacks)
	same := func(other *v1alpha1.Stack) bool {
		return maps.Equal(identifying(stack.Labels, without), identifying(other.Labels, without))
	}
	var matching, alike []string
	for _, other := range before {
		if same(other) {
			found, matching = other, append(matching, other.Name)
		}
	}
	for _, other := range own {
		if same(other) {
			alike = append(alike, other.Name)
		}
	}
	switch {
	case len(matching) == 0:
		return nil, fmt.Sprintf("no Stack of stage %s has the labels of Stack %s", earlier.Name, stack.Name)
	case len(matching) > 1:
		return nil, fmt.Sprintf("%d Stacks of stage %s have the labels of Stack %s", len(matching), earlier.Name,
			stack.Name)
	case len(alike) != 1 || alike[0] != stack.Name:
		return nil, fmt.Sprintf("%d Stacks of stage %s have the labels of Stack %s", len(alike), stage.Name, stack.Name)
	}
	return found, ""
}

// keysOf returns the labels that selectors name.
func keysOf(selectors ...*metav1.LabelSelector) map[string]bool {
	keys := map[string]bool{}
	for _, s := range selectors {
		for key := range s.MatchLabels {
			keys[key] = true
		}
		for _, e := range s.MatchExpressions {
			keys[e.Key] = true
		}
	}
	return keys
}

// identifying returns the labels that identify a Stack within its stage. Those of Cairn name the StackSet that created
// it.
func identifying(labels map[string]string, without map[string]bool) map[string]string {
	rest := map[string]string{}
	for key, value := range labels {
		if !without[key] && !strings.HasPrefix(key, v1alpha1.GroupVersion.Group+"/") {
			rest[key] = value
		}
	}
	return rest
}
