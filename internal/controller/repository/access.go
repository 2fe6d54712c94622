package repository

import (
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/source/git"
)

// Allows reports whether Stacks of a namespace may use the Repository.
func Allows(r *v1alpha1.Repository, namespace string) bool {
	allowed := r.Spec.AllowedNamespaces
	return r.Namespace == namespace || slices.Contains(allowed, namespace) || slices.Contains(allowed, "*")
}

// Trouble is the message of a Repository's condition that is not Ready; empty when it is.
func Trouble(r *v1alpha1.Repository) string {
	if c := apimeta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionReady); c != nil && c.Status != "True" {
		return c.Reason + ": " + c.Message
	}
	return ""
}

// Revision names the ref and the commit.
func Revision(c git.Commit) string {
	if c.Ref == "" {
		return "sha1:" + c.ID
	}
	return c.Ref + "@sha1:" + c.ID
}
