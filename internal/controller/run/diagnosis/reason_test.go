package diagnosis

import (
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/run/decision"
)

func TestReasonOfAPodThatCannotStart(t *testing.T) {
	waits := func(container, reason string) string {
		other := `initContainerStatuses: [{name: runner, state: {terminated: {exitCode: 0}}}], containerStatuses`
		if container == "runner" {
			other = `initContainerStatuses`
		}
		return `{status: {phase: Pending, ` + other + `: [{name: ` + container + `, state: {waiting: {reason: ` +
			reason + `, message: "no"}}}]}}`
	}
	for name, tt := range map[string]struct {
		pod  string
		want v1alpha1.FailureReason
	}{
		"the image of the engine cannot be pulled": {waits("engine", "ErrImagePull"),
			v1alpha1.FailureImagePullFailed},
		"the kubelet waits before it pulls it again": {waits("engine", "ImagePullBackOff"),
			v1alpha1.FailureImagePullFailed},
		"the image of the runner cannot be pulled":      {waits("runner", "ErrImagePull"), ""},
		"the container runtime cannot create container": {waits("engine", "CreateContainerError"), ""},
		"the name of the image is wrong":                {waits("engine", "InvalidImageName"), ""},
	} {
		if got := Observe(podFrom(t, tt.pod), false, false); got.Reason != tt.want || got.State != decision.PodPending {
			t.Errorf("%s: %s, reason %q, want %q", name, got.State, got.Reason, tt.want)
		}
	}
}
