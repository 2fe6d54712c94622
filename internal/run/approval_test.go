package run

import (
	"slices"
	"testing"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
)

func automatic(w *World) { w.Stack.Spec.Apply = v1alpha1.ApplyAutomatic }
func never(w *World)     { w.Stack.Spec.Apply = v1alpha1.ApplyNever }

// policySays puts a verdict into the plan.
func policySays(result v1alpha1.PolicyResult) func(*World) {
	return func(w *World) { w.Run.Status.Plan.Policy = &result }
}

var (
	costs = v1alpha1.PolicyResult{Checked: 3, ApprovalRequired: 2, Warned: 1, Findings: []v1alpha1.PolicyFinding{
		{Policy: "rules/cost.rego", Action: "RequireApproval", Message: "it costs more than 100 a month"},
		{Policy: "rules/net.yaml", Action: "RequireApproval", Message: "the network changes"},
		{Policy: "rules/tags.rego", Action: "Warn", Message: "no tag"},
	}}
)

// A policy requires an approval of one plan, whatever the Stack says.
func TestPoliciesThatRequireApproval(t *testing.T) {
	const underWay = time.Hour + overdue
	yes := approvedFor("sha256:plan")
	says := "; policy rules/cost.rego requires an approval: it costs more than 100 a month (and 1 more); approve with cairn approve net"
	settle(t, map[string]settled{
		"a Stack that applies by itself waits, and the message names the policy": {
			world: world(planned, policySays(costs)), phase: "AwaitingApproval", reason: "AwaitingApproval", message: "3 to add; 1 warning" + says,
		},
		"who approves is told also where the Stack waits anyway": {
			world: world(waiting, policySays(costs)), phase: "AwaitingApproval", reason: "AwaitingApproval", message: "3 to add; 1 warning" + says,
		},
		"who changes the Stack cannot take it back": {
			world: world(waiting, automatic, policySays(costs)), phase: "AwaitingApproval", reason: "AwaitingApproval", message: says,
		},
		"once it is approved it is applied": {
			world: world(planned, policySays(costs), yes), phase: "Applying", begin: "Apply 2 in pod", reason: "Applying", requeue: underWay,
		},
		"a warning alone lets nothing wait": {
			world: world(planned, policySays(v1alpha1.PolicyResult{Checked: 1, Warned: 1})), phase: "Applying", begin: "Apply 2 in pod", reason: "Applying", requeue: underWay,
		},
		"with Never nothing is applied": {
			world: world(planned, policySays(costs), never, yes), phase: "AwaitingApproval", reason: "AwaitingApproval", message: "Never",
		},
		"a requirement whose finding is not kept counts all the same": {
			world: world(planned, policySays(v1alpha1.PolicyResult{ApprovalRequired: 1})), phase: "AwaitingApproval", reason: "AwaitingApproval",
			message: "; the policies require an approval; approve",
		},
	})
}

// Every rule is a fact of its own, and all that hold are told.
func TestApprovalRules(t *testing.T) {
	fourEyes := func(w *World) { w.Run.Spec.FourEyes = true }
	for name, tt := range map[string]struct {
		world World
		want  []approvalRule
	}{
		"none":                {world(planned), nil},
		"spec.apply":          {world(waiting), []approvalRule{requiredByApply}},
		"an empty spec.apply": {world(planned, func(w *World) { w.Stack.Spec.Apply = "" }), []approvalRule{requiredByApply}},
		"spec.fourEyes":       {world(planned, fourEyes), []approvalRule{requiredByFourEyes}},
		"orphans":             {world(planned, leftOut), []approvalRule{requiredByOrphans}},
		"a policy":            {world(planned, policySays(costs)), []approvalRule{requiredByPolicy}},
		"all of them": {
			world(waiting, fourEyes, leftOut, policySays(costs)),
			[]approvalRule{requiredByApply, requiredByFourEyes, requiredByOrphans, requiredByPolicy},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := approvalRules(tt.world); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
