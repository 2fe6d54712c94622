package runinfo

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// TestPodHasEnded checks what kubelets and the garbage collector write of a pod at its end, and whether it means that
// no container runs: for a pod whose runner never sent a request, and for one whose runner did.
func TestPodHasEnded(t *testing.T) {
	const (
		copied = `initContainerStatuses: [{name: runner, state: {terminated: {exitCode: 0, reason: Completed}}}]`
		ran    = copied + `, containerStatuses: [{name: engine, state: {terminated: {exitCode: 137, reason: Error}}}]`
		runs   = copied + `, containerStatuses: [{name: engine, state: {running: {}}}]`
		waits  = `initContainerStatuses: [{name: runner, state: {waiting: {reason: PodInitializing}}}], containerStatuses: [{name: engine, state: {waiting: {reason: PodInitializing}}}]`
		unsure = copied + `, containerStatuses: [{name: engine, state: {terminated: {exitCode: 137, reason: ContainerStatusUnknown, message: The container could not be located when the pod was terminated}}}]`
		byGC   = `conditions: [{type: DisruptionTarget, status: "True", reason: DeletionByPodGC, message: "PodGC: node no longer exists"}]`
		kubel  = `conditions: [{type: DisruptionTarget, status: "True", reason: TerminationByKubelet}]`
	)
	type ended struct{ withoutRequest, withRequest bool }
	yes, never, no := ended{true, true}, ended{withoutRequest: true}, ended{}
	for name, tt := range map[string]struct {
		status string
		want   ended
	}{
		"running": {`phase: Running, ` + runs, no},
		"pending": {`phase: Pending, ` + waits, no},
		"unknown": {`phase: Unknown, ` + ran, no},
		"succeeded": {`phase: Succeeded, ` + copied +
			`, containerStatuses: [{name: engine, state: {terminated: {exitCode: 0, reason: Completed}}}]`, yes},
		"failed":                {`phase: Failed, ` + ran, yes},
		"evicted":               {`phase: Failed, reason: Evicted, ` + kubel + `, ` + ran, yes},
		"evicted before it ran": {`phase: Failed, reason: Evicted, ` + waits, never},
		"evicted, without container statuses": {
			`phase: Failed, reason: Evicted, message: "The node was low on resource: memory. "`, never},
		"evicted, still running": {`phase: Failed, reason: Evicted, ` + runs, no},
		"the node shuts down": {
			`phase: Failed, reason: Terminated, message: Pod was terminated in response to imminent node shutdown., ` +
				kubel + `, ` + ran, yes},
		"the node shuts down and rejects pods": {
			`phase: Failed, reason: NodeShutdown, message: Pod was rejected as the node is shutting down.`, never},
		"preempted for a critical pod": {
			`phase: Failed, reason: Preempting, message: Preempted in order to admit critical pod, ` + kubel +
				`, ` + ran, yes},
		"past its deadline":                      {`phase: Failed, reason: DeadlineExceeded, ` + ran, yes},
		"past its deadline before it ran":        {`phase: Failed, reason: DeadlineExceeded, ` + waits, never},
		"past its deadline, still running":       {`phase: Failed, reason: DeadlineExceeded, ` + runs, no},
		"the node restarted and lost the status": {`phase: Failed, ` + unsure, yes},
		"the kubelet restarted and rejects the pod": {
			`phase: Failed, reason: NodeAffinity, message: "Pod was rejected: Predicate NodeAffinity failed"`, never},
		"the kubelet rejected the pod": {
			`phase: Failed, reason: OutOfcpu, message: "Pod was rejected: Node didn't have enough resource: cpu"`,
			never},
		"an init container failed": {
			`phase: Failed, initContainerStatuses: [{name: runner, state: {terminated: {exitCode: 1}}}], containerStatuses: [{name: engine, state: {waiting: {reason: PodInitializing}}}]`, never},
		"a sidecar still runs": {
			`phase: Failed, initContainerStatuses: [{name: proxy, state: {running: {}}}], containerStatuses: [{name: engine, state: {terminated: {exitCode: 0}}}]`, no},
		"a debug container still runs": {`phase: Failed, ` + ran +
			`, ephemeralContainerStatuses: [{name: debugger, state: {running: {}}}]`, no},
		"one of two containers has ended": {
			`phase: Failed, containerStatuses: [{name: engine, state: {waiting: {}}}, {name: proxy, state: {terminated: {exitCode: 0}}}]`, never},
		"collected, last reported as running": {`phase: Failed, ` + byGC + `, ` + runs, no},
		"collected, never reported":           {`phase: Failed, ` + byGC, no},
		"collected, last reported as waiting": {`phase: Failed, ` + byGC + `, ` + waits, no},
		"collected, last reported as ended":   {`phase: Failed, ` + byGC + `, ` + ran, yes},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{}
			if err := yaml.UnmarshalStrict([]byte(`{status: {`+tt.status+`}}`), pod); err != nil {
				t.Fatal(err)
			}
			if got := (ended{PodEnded(pod, false), PodEnded(pod, true)}); got != tt.want {
				t.Errorf("ended %v, and with a request of its runner %v; want %v and %v", got.withoutRequest,
					got.withRequest, tt.want.withoutRequest, tt.want.withRequest)
			}
		})
	}
}
