package runnerhandler

import (
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/runnerapi"
)

// The runner does not import the API, so internal/runnerapi spells the words of the API that a runner reports.
func TestRunnerReportsValuesOfTheAPI(t *testing.T) {
	for reported, want := range map[string]string{
		runnerapi.FailureTransient:          string(v1alpha1.FailureTransient),
		runnerapi.FailureConfigurationError: string(v1alpha1.FailureConfigurationError),
		runnerapi.FailurePolicyDenied:       string(v1alpha1.FailurePolicyDenied),
		runnerapi.FailureCanceled:           string(v1alpha1.FailureCanceled),
		runnerapi.FailureStateNotSaved:      string(v1alpha1.FailureStateNotSaved),
		runnerapi.ReasonBackendInCode:       string(v1alpha1.FailureBackendInCode),
		runnerapi.ReasonInterrupted:         string(v1alpha1.FailureInterrupted),
	} {
		if reported != want {
			t.Errorf("a runner reports %s, the API says %s", reported, want)
		}
	}
}
