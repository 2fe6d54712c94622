package check

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// concerns returns whether rules of a webhook select the creation of pods, or objects of Cairn.
func concerns(rules []admissionv1.RuleWithOperations) bool {
	return slices.ContainsFunc(rules, func(r admissionv1.RuleWithOperations) bool {
		creates := slices.ContainsFunc(r.Operations, func(o admissionv1.OperationType) bool {
			return o == admissionv1.Create || o == admissionv1.OperationAll
		})
		has := func(list []string, value string) bool {
			return slices.Contains(list, value) || slices.Contains(list, "*")
		}
		if has(r.APIGroups, group) {
			return true
		}
		return creates && has(r.APIGroups, "") && slices.ContainsFunc(r.Resources, func(resource string) bool {
			name, _, _ := strings.Cut(resource, "/")
			return resource == "pods" || name == "*" && (resource == "*" || resource == "*/*")
		})
	})
}
