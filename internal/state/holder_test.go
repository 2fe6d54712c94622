package state

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// What kubelets and Kubernetes write of a pod that is at its end, and whether that says that nothing of it runs: of a pod whose
// runner was never heard of, and of one that was.
func TestWhenAPodHasEnded(t *testing.T) {
	const (
		copied = `initContainerStatuses: [{name: runner, state: {terminated: {exitCode: 0, reason: Completed}}}]`
		ran    = copied + `, containerStatuses: [{name: engine, state: {terminated: {exitCode: 137, reason: Error}}}]`
		runs   = copied + `, containerStatuses: [{name: engine, state: {running: {}}}]`
		waits  = `initContainerStatuses: [{name: runner, state: {waiting: {reason: PodInitializing}}}], containerStatuses: [{name: engine, state: {waiting: {reason: PodInitializing}}}]`
		unsure = copied + `, containerStatuses: [{name: engine, state: {terminated: {exitCode: 137, reason: ContainerStatusUnknown, message: The container could not be located when the pod was terminated}}}]`
		byGC   = `conditions: [{type: DisruptionTarget, status: "True", reason: DeletionByPodGC, message: "PodGC: node no longer exists"}]`
		kubel  = `conditions: [{type: DisruptionTarget, status: "True", reason: TerminationByKubelet}]`
	)
	type ended struct{ unheard, heard bool }
	yes, never, no := ended{true, true}, ended{unheard: true}, ended{}
	for name, tt := range map[string]struct {
		status string
		want   ended
	}{
		"it runs":                                    {`phase: Running, ` + runs, no},
		"it is yet to run":                           {`phase: Pending, ` + waits, no},
		"nobody knows":                               {`phase: Unknown, ` + ran, no},
		"it ended well":                              {`phase: Succeeded, ` + copied + `, containerStatuses: [{name: engine, state: {terminated: {exitCode: 0, reason: Completed}}}]`, yes},
		"it ended badly":                             {`phase: Failed, ` + ran, yes},
		"evicted":                                    {`phase: Failed, reason: Evicted, ` + kubel + `, ` + ran, yes},
		"evicted before it ran":                      {`phase: Failed, reason: Evicted, ` + waits, never},
		"evicted, with nothing said of what ran":     {`phase: Failed, reason: Evicted, message: "The node was low on resource: memory. "`, never},
		"evicted, and it runs still":                 {`phase: Failed, reason: Evicted, ` + runs, no},
		"the node shuts down":                        {`phase: Failed, reason: Terminated, message: Pod was terminated in response to imminent node shutdown., ` + kubel + `, ` + ran, yes},
		"the node shuts down and takes none":         {`phase: Failed, reason: NodeShutdown, message: Pod was rejected as the node is shutting down.`, never},
		"preempted for a critical pod":               {`phase: Failed, reason: Preempting, message: Preempted in order to admit critical pod, ` + kubel + `, ` + ran, yes},
		"past its deadline":                          {`phase: Failed, reason: DeadlineExceeded, ` + ran, yes},
		"past its deadline before it ran":            {`phase: Failed, reason: DeadlineExceeded, ` + waits, never},
		"past its deadline, and it runs still":       {`phase: Failed, reason: DeadlineExceeded, ` + runs, no},
		"the node started anew and knows no more":    {`phase: Failed, ` + unsure, yes},
		"its kubelet started anew and refuses it":    {`phase: Failed, reason: NodeAffinity, message: "Pod was rejected: Predicate NodeAffinity failed"`, never},
		"its kubelet never took it":                  {`phase: Failed, reason: OutOfcpu, message: "Pod was rejected: Node didn't have enough resource: cpu"`, never},
		"an init container failed":                   {`phase: Failed, initContainerStatuses: [{name: runner, state: {terminated: {exitCode: 1}}}], containerStatuses: [{name: engine, state: {waiting: {reason: PodInitializing}}}]`, never},
		"a sidecar runs still":                       {`phase: Failed, initContainerStatuses: [{name: proxy, state: {running: {}}}], containerStatuses: [{name: engine, state: {terminated: {exitCode: 0}}}]`, no},
		"somebody debugs it still":                   {`phase: Failed, ` + ran + `, ephemeralContainerStatuses: [{name: debugger, state: {running: {}}}]`, no},
		"one of two containers has ended":            {`phase: Failed, containerStatuses: [{name: engine, state: {waiting: {}}}, {name: proxy, state: {terminated: {exitCode: 0}}}]`, never},
		"collected, and its node said that it runs":  {`phase: Failed, ` + byGC + `, ` + runs, no},
		"collected, and its node said nothing":       {`phase: Failed, ` + byGC, no},
		"collected, and its node said it waits":      {`phase: Failed, ` + byGC + `, ` + waits, no},
		"collected, and its node said that it ended": {`phase: Failed, ` + byGC + `, ` + ran, yes},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{}
			if err := yaml.UnmarshalStrict([]byte(`{status: {`+tt.status+`}}`), pod); err != nil {
				t.Fatal(err)
			}
			if got := (ended{Ended(pod, false), Ended(pod, true)}); got != tt.want {
				t.Errorf("ended %v, and once its runner was heard of %v; want %v and %v", got.unheard, got.heard, tt.want.unheard, tt.want.heard)
			}
		})
	}
}
