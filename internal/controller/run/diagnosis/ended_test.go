package diagnosis

import (
	"testing"

	"cairn.dev/cairn/internal/controller/run/decision"
)

// TestInjectedContainerDoesNotKeepAnAttempt checks pods with a container that another system added, which runs on
// after the engine's.
func TestInjectedContainerDoesNotKeepAnAttempt(t *testing.T) {
	const others = `, {name: istio-proxy, state: {running: {}}}]}`
	for name, tt := range map[string]struct {
		status   string
		state    decision.PodState
		stranded bool
		deleted  bool
	}{
		"the engine runs": {`{phase: Running, containerStatuses: [{name: engine, state: {running: {}}}` + others,
			decision.PodRunning, false, false},
		"the engine has ended": {
			`{phase: Running, containerStatuses: [{name: engine, state: {terminated: {exitCode: 0}}}` + others,
			decision.PodEnded, false, true},
		"the engine was killed": {
			`{phase: Running, containerStatuses: [{name: engine, state: {terminated: {exitCode: 137, reason: OOMKilled}}}` + others, decision.PodEnded, false, true,
		},
		"the log has the only copy of the state": {
			`{phase: Running, containerStatuses: [{name: engine, state: {terminated: {exitCode: 73}}}` + others,
			decision.PodEnded, true, false,
		},
		"the other container has ended": {
			`{phase: Running, containerStatuses: [{name: engine, state: {running: {}}}, {name: istio-proxy, state: {terminated: {exitCode: 1}}}]}`, decision.PodRunning, false, false},
		"nothing is known of the engine": {
			`{phase: Running, containerStatuses: [{name: istio-proxy, state: {running: {}}}]}`, decision.PodRunning,
			false, false},
		"all of the pod has ended": {
			`{phase: Succeeded, containerStatuses: [{name: engine, state: {terminated: {exitCode: 0}}}]}`,
			decision.PodEnded, false, false},
		"the engine has not started again": {
			`{phase: Running, containerStatuses: [{name: engine, state: {waiting: {}}}` + others, decision.PodRunning,
			false, false},
	} {
		t.Run(name, func(t *testing.T) {
			pod := podFrom(t, "{status: "+tt.status+"}")
			if got := Observe(pod, false, true); got.State != tt.state || got.Stranded != tt.stranded {
				t.Errorf("the pod is %+v", got)
			}
			if got := IsKeptRunning(pod); got != tt.deleted {
				t.Errorf("it is deleted: %v", got)
			}
		})
	}
}
