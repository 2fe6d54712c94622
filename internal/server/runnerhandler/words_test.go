package runnerhandler

import (
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/store"
)

// The runner does not import the API, so internal/store spells the words of the API that a runner reports.
func TestARunnerReportsWordsOfTheAPI(t *testing.T) {
	for reported, want := range map[string]string{
		store.FailureTransient:          string(v1alpha1.FailureTransient),
		store.FailureConfigurationError: string(v1alpha1.FailureConfigurationError),
		store.FailurePolicyDenied:       string(v1alpha1.FailurePolicyDenied),
		store.FailureCanceled:           string(v1alpha1.FailureCanceled),
		store.FailureStateNotSaved:      string(v1alpha1.FailureStateNotSaved),
		store.ReasonBackendInCode:       v1alpha1.ReasonBackendInCode,
	} {
		if reported != want {
			t.Errorf("a runner reports %s, the API says %s", reported, want)
		}
	}
}
