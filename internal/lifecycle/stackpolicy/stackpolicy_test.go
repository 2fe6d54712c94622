package stackpolicy

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

func rules(names ...string) (list []v1alpha1.Policy) {
	for _, name := range names {
		list = append(list, v1alpha1.Policy{ConfigMap: v1alpha1.ObjectRef{Name: name}})
	}
	return list
}

func deny(schedule string) v1alpha1.Window {
	return v1alpha1.Window{Kind: v1alpha1.WindowDeny, Schedule: schedule,
		Duration: metav1.Duration{Duration: time.Hour}}
}

// policy is a StackPolicy for the Stacks with env=ENV; "" selects all.
func policy(name, env string, change func(*v1alpha1.StackPolicySpec)) v1alpha1.StackPolicy {
	p := v1alpha1.StackPolicy{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1}}
	if env != "" {
		p.Spec.StackSelector.MatchLabels = map[string]string{"env": env}
	}
	change(&p.Spec)
	return p
}

func withRules(names ...string) func(*v1alpha1.StackPolicySpec) {
	return func(s *v1alpha1.StackPolicySpec) { s.Policies = rules(names...) }
}

func withWindow(w v1alpha1.Window) func(*v1alpha1.StackPolicySpec) {
	return func(s *v1alpha1.StackPolicySpec) { s.Windows = []v1alpha1.Window{w} }
}

func stackOf(env string, own ...string) *v1alpha1.Stack {
	return &v1alpha1.Stack{
		ObjectMeta: metav1.ObjectMeta{Name: "net", Labels: map[string]string{"env": env}},
		Spec:       v1alpha1.StackSpec{Policies: rules(own...)},
	}
}

func TestPoliciesOfStackPolicies(t *testing.T) {
	many := make([]string, 51)
	for i := range many {
		many[i] = "rules-" + strings.Repeat("a", i+1)
	}
	invalid := policy("bad", "", func(s *v1alpha1.StackPolicySpec) {
		s.StackSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "env", Operator: "Contains"}}
	})
	for title, tt := range map[string]struct {
		stack    *v1alpha1.Stack
		policies []v1alpha1.StackPolicy
		want     []v1alpha1.Policy
		status   []v1alpha1.AppliedStackPolicy
		problem  string
	}{
		"none": {stack: stackOf("prod", "own"), want: rules("own")},
		"one for other labels": {stack: stackOf("dev", "own"),
			policies: []v1alpha1.StackPolicy{policy("prod", "prod", withRules("a"))}, want: rules("own")},
		"added to those of the Stack, by name of the StackPolicy": {
			stack: stackOf("prod", "own"), policies: []v1alpha1.StackPolicy{policy("z", "prod", withRules("z")),
				policy("all", "", withRules("a"))},
			want: rules("own", "a", "z"),
			status: []v1alpha1.AppliedStackPolicy{{Name: "all", Generation: 1, Policies: []string{"a"}},
				{Name: "z", Generation: 1, Policies: []string{"z"}}},
		},
		"one policy of a ConfigMap that two name": {
			stack: stackOf("prod", "own"), policies: []v1alpha1.StackPolicy{policy("a", "", withRules("own", "x")),
				policy("b", "", withRules("x", "y"))},
			want: rules("own", "x", "y"),
			status: []v1alpha1.AppliedStackPolicy{{Name: "a", Generation: 1, Policies: []string{"x"}},
				{Name: "b", Generation: 1, Policies: []string{"y"}}},
		},
		"only windows": {
			stack: stackOf("prod"), policies: []v1alpha1.StackPolicy{policy("freeze", "", withWindow(deny("@daily")))},
			status: []v1alpha1.AppliedStackPolicy{{Name: "freeze", Generation: 1, Windows: 1}},
		},
		"a selector that cannot be read stops all": {
			stack: stackOf("dev"), policies: []v1alpha1.StackPolicy{invalid},
			problem: "no Stack of the namespace starts a Run",
		},
		"a window that cannot be read": {
			stack:    stackOf("prod"),
			policies: []v1alpha1.StackPolicy{policy("freeze", "", withWindow(deny("now and then")))},
			problem:  "spec.windows[0] of StackPolicy freeze",
		},
		"a window that cannot be read, for other labels": {
			stack:    stackOf("dev", "own"),
			policies: []v1alpha1.StackPolicy{policy("freeze", "prod", withWindow(deny("now and then")))},
			want:     rules("own"),
		},
		"too many": {stack: stackOf("prod"), policies: []v1alpha1.StackPolicy{policy("many", "", withRules(many...))},
			problem: "51 policies"},
	} {
		before := tt.stack.DeepCopy()
		got, err := Apply(tt.stack, tt.policies)
		if diff := cmp.Diff(before, tt.stack); diff != "" {
			t.Errorf("%s: the Stack was changed: %s", title, diff)
		}
		if tt.problem != "" {
			if _, ok := errors.AsType[*Problem](err); !ok || !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("%s: %v", title, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", title, err)
			continue
		}
		if diff := cmp.Diff(tt.want, got.Spec.Policies); diff != "" {
			t.Errorf("%s: %s", title, diff)
		}
		if diff := cmp.Diff(tt.status, got.Status.StackPolicies); diff != "" {
			t.Errorf("%s: %s", title, diff)
		}
	}
}

func TestStatusOfAStackThatNoneSelectsIsEmpty(t *testing.T) {
	stack := stackOf("prod")
	stack.Status.StackPolicies = []v1alpha1.AppliedStackPolicy{{Name: "gone"}}
	if got, err := Apply(stack, nil); err != nil || got.Status.StackPolicies != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestWindows(t *testing.T) {
	noon := time.Date(2026, 3, 4, 12, 30, 0, 0, time.UTC)
	own := stackOf("prod")
	own.Spec.Windows = []v1alpha1.Window{deny("0 12 * * *")}
	for title, tt := range map[string]struct {
		stack  *v1alpha1.Stack
		policy v1alpha1.StackPolicy
		why    string
	}{
		"one that selects the Stack": {stackOf("prod"), policy("freeze", "prod", withWindow(deny("0 12 * * *"))),
			"spec.windows[0] of StackPolicy freeze denies Apply"},
		"one for other labels": {stackOf("dev"), policy("freeze", "prod", withWindow(deny("0 12 * * *"))), ""},
		"the Stack's own": {own, policy("freeze", "prod", withWindow(deny("0 13 * * *"))),
			"spec.windows[0] denies Apply"},
	} {
		windows, err := Windows(tt.stack, []v1alpha1.StackPolicy{tt.policy})
		if err != nil {
			t.Fatal(err)
		}
		if closed, why, _ := windows.Closed(v1alpha1.OperationApply, noon); closed != (tt.why != "") ||
			!strings.HasPrefix(why, tt.why) {
			t.Errorf("%s: %t, %s", title, closed, why)
		}
	}
}
