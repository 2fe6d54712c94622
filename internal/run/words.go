package run

import (
	"slices"
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
)

// failedStep names the step that an attempt failed at, or else what it was at: the last that failed, since a hook may fail
// and the attempt go on.
func failedStep(a *v1alpha1.Attempt) string {
	for _, s := range slices.Backward(a.Steps) {
		if s.State == v1alpha1.StepFailed {
			return s.Name
		}
	}
	return strings.ToLower(string(a.Phase))
}
