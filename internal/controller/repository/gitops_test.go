package repository

import (
	"strings"
	"testing"

	"cairn.dev/cairn/test/gitops"
)

// What Flux (by kstatus) and Argo CD (by its health check) take a Repository for, in each situation of
// docs/contributing/decisions/0043-status-for-gitops-tools.md.
func TestStatusForGitOpsTools(t *testing.T) {
	noCredentials := func(w *Snapshot) { w.Problem = &Problem{Reason: "CredentialsNotFound", Message: "Secret x"} }
	for name, tt := range map[string]struct {
		snapshot                Snapshot
		status, health, message string
	}{
		"the first fetch": {newSnapshot(never), "InProgress", "Progressing", "Fetching"},
		"it is fetched":   {newSnapshot(), "Current", "Healthy", "Fetched"},
		"a fetch is tried again": {newSnapshot(failed("Unreachable", 9)), "InProgress", "Progressing",
			"Unreachable"},
		"a fetch is not allowed": {newSnapshot(failed("AuthenticationFailed", 9)), "Failed", "Degraded",
			"AuthenticationFailed"},
		"the ref does not exist": {newSnapshot(func(w *Snapshot) { w.Refs[0].Revision = "" }), "Failed", "Degraded",
			"RefNotFound"},
		"its credentials are absent": {newSnapshot(noCredentials), "Failed", "Degraded", "CredentialsNotFound"},
	} {
		t.Run(name, func(t *testing.T) {
			repository := tt.snapshot.Repository
			repository.Status = status(tt.snapshot, Decide(tt.snapshot))
			if got := gitops.KStatus(t, repository); got != tt.status {
				t.Errorf("kstatus: %s, want %s: %+v", got, tt.status, repository.Status.Conditions)
			}
			health, message := gitops.ArgoHealth(t, "Repository", repository)
			if health != tt.health || !strings.HasPrefix(message, tt.message) {
				t.Errorf("Argo CD: %s (%s), want %s (%s)", health, message, tt.health, tt.message)
			}
			repository.Generation++
			if gitops.KStatus(t, repository) != "InProgress" {
				t.Error("kstatus takes the status for one of the new generation")
			}
		})
	}
}
