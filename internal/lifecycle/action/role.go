package action

import "slices"

// roles are the ClusterRoles of the chart for users, from the narrowest, each with what it allows beside reading.
var roles = []struct {
	name      string
	resources []string
	verbs     []string
}{
	{"cairn-view", []string{"runs/plan", "runs/logs"}, []string{"get"}},
	{"cairn-plan", []string{"stacks"}, []string{"plan"}},
	{"cairn-apply", []string{"stacks"}, []string{"apply"}},
	{"cairn-partial", []string{"stacks"}, []string{"partial"}},
	{"cairn-apply", []string{"driftpauses"}, []string{"resume"}},
	{"cairn-destroy", []string{"stacks"}, []string{"destroy"}},
	{"cairn-shell", []string{"stacks"}, []string{"shell"}},
	{"cairn-approve", []string{"runs"}, []string{"approve", "reject"}},
	{"cairn-cancel", []string{"runs"}, []string{"cancel"}},
	{"cairn-edit", []string{"stacks", "stacksets", "stackgrants", "variablesets", "notifications", "repositories"},
		[]string{"create", "update", "patch", "delete"}},
	{"cairn-edit", []string{"runs"}, []string{"delete"}},
	{"cairn-promote", []string{"pipelines"}, []string{"promote"}},
	{"cairn-pipelines", []string{"pipelines"}, []string{"create", "update", "patch", "delete"}},
	{"cairn-stackpolicies", []string{"stackpolicies"}, []string{"create", "update", "patch", "delete"}},
	{"cairn-state", []string{"states"}, []string{"pull", "push", "rollback", "unlock", "recover"}},
	{"cairn-view", []string{"stacks", "stacksets", "stackgrants", "variablesets", "stackpolicies", "notifications",
		"driftpauses", "pipelines", "runs", "states", "repositories", "pullrequests"}, []string{"get",
		"list", "watch"}},
}

// Role returns the ClusterRole of the chart that allows a verb on a resource, such as runs or runs/logs; empty if none
// does.
func Role(resource, verb string) string {
	for _, r := range roles {
		if slices.Contains(r.resources, resource) && slices.Contains(r.verbs, verb) {
			return r.name
		}
	}
	return ""
}
