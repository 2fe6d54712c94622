package diagnosis

import (
	"k8s.io/utils/ptr"

	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/run/decision"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

const (
	// reportTime is what an attempt has after its timeout, to report.
	reportTime = 15 * time.Minute
	// leftFor is how long a runner may be left whose pod vanished.
	leftFor = 2 * time.Minute
	// quiet is how long nothing is said of a pod that takes its time.
	quiet = time.Minute
)

// podFrom reads a pod as it is on node-a, with the containers of a runner; text is all that is special of it.
func podFrom(t *testing.T, text string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		NodeName:       "node-a",
		InitContainers: []corev1.Container{{Name: "runner", Image: "registry/cairn:1"}},
		Containers:     []corev1.Container{{Name: "engine", Image: "registry/tools:1"}},
	}}
	if err := yaml.UnmarshalStrict([]byte(text), pod); err != nil {
		t.Fatal(err)
	}
	return pod
}

// pods at rest, in the words of a kubelet.
const (
	creating = `{status: {phase: Pending, conditions: [{type: PodReadyToStartContainers, status: "False"}, {type: Initialized, status: "False", reason: ContainersNotInitialized}, {type: Ready, status: "False", reason: ContainersNotReady}, {type: ContainersReady, status: "False", reason: ContainersNotReady}, {type: PodScheduled, status: "True"}],
		initContainerStatuses: [{name: runner, state: {waiting: {reason: PodInitializing}}}], containerStatuses: [{name: engine, state: {waiting: {reason: PodInitializing}}}]}}`
	ready = `{type: Ready, status: "True"}, {type: ContainersReady, status: "True"}, {type: PodScheduled, status: "True"}`
	// away is what the node controller makes of ready when the node's lease is not renewed any more.
	away    = `{type: Ready, status: "False", lastTransitionTime: "2026-11-20T12:03:00Z"}, {type: ContainersReady, status: "True"}, {type: PodScheduled, status: "True"}`
	atWork  = `initContainerStatuses: [{name: runner, state: {terminated: {exitCode: 0, reason: Completed}}}], containerStatuses: [{name: engine, ready: true, state: {running: {}}}]`
	deleted = `metadata: {deletionTimestamp: "2026-11-20T12:10:00Z", deletionGracePeriodSeconds: 600}`
)

// endedAs is a pod that ended as its engine's container did.
func endedAs(terminated string) string {
	return `phase: Failed, initContainerStatuses: [{name: runner, state: {terminated: {exitCode: 0, reason: Completed}}}], containerStatuses: [{name: engine, state: {terminated: ` + terminated + `}}]`
}

// A fault is a pod as Kubernetes reports it, and the message that the Run should have.
type fault struct {
	// pod's own words, and the other facts of the attempt.
	pod      string
	snapshot func(*decision.Snapshot)
	after    time.Duration

	// class of the attempt's failure; empty while it goes on.
	class   v1alpha1.FailureClass
	reason  string
	message string
	delete  bool
	requeue time.Duration
}

func TestFaultsOfPods(t *testing.T) {
	const retry, late = 15 * time.Second, time.Hour + reportTime
	waiting := func(container, reason, message string) string {
		list := `initContainerStatuses: [{name: runner, state: {terminated: {exitCode: 0, reason: Completed}}}], containerStatuses`
		if container == "runner" {
			list = `containerStatuses: [{name: engine, state: {waiting: {reason: PodInitializing}}}], initContainerStatuses`
		}
		return `{status: {phase: Pending, conditions: [{type: PodScheduled, status: "True"}], ` + list + `: [{name: ` +
			container + `, state: {waiting: {reason: ` + reason + `, message: '` + message + `'}}}]}}`
	}
	unscheduled := `{spec: {nodeName: ""}, status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: "0/3 nodes are available: 3 Insufficient memory."}]}}`
	disrupted := func(reason, message string) string {
		return `, conditions: [{type: DisruptionTarget, status: "True", reason: ` + reason + `, message: "` +
			message + `"}]`
	}
	for name, tt := range map[string]fault{
		// Before it starts.
		"it takes a moment": {
			pod: creating, reason: "Planning", message: "in pod net-7-plan-1", requeue: quiet,
		},
		"a volume is not there for long": {
			pod: creating, after: quiet, reason: "PodPending", requeue: startFor - quiet,
			message: "pod net-7-plan-1: node node-a has not prepared its volumes and its network yet; kubectl " +
				"describe pod shows more",
		},
		"a volume never appears": {
			pod: creating, after: startFor, class: "Transient", reason: "Retrying", delete: true, requeue: retry,
			message: "pod net-7-plan-1 cannot start: node node-a has not prepared its volumes and its network yet; " +
				"kubectl describe pod shows more; given up after 15m",
		},
		"an image takes long": {
			pod: strings.Replace(creating, `{type: PodReadyToStartContainers, status: "False"}`,
				`{type: PodReadyToStartContainers, status: "True"}`, 1), after: quiet, reason: "PodPending",
			requeue: startFor - quiet,
			message: "node node-a has not started its containers yet, as with an image that takes long to pull",
		},
		"no scheduler handles it": {
			pod: `{spec: {nodeName: ""}, status: {phase: Pending}}`, after: quiet, reason: "PodPending",
			requeue: startFor - quiet,
			message: "no scheduler has given it to a node yet",
		},
		"a container that goes before the engine's takes long": {
			pod: `{status: {phase: Pending, initContainerStatuses: [{name: fill, state: {running: {}}}], containerStatuses: [{name: engine, state: {waiting: {reason: PodInitializing}}}]}}`, after: time.Hour,
			reason: "Planning", message: "in pod net-7-plan-1", requeue: reportTime,
		},
		"no node has free capacity": {
			pod: unscheduled, reason: "PodPending", message: "pod net-7-plan-1: Unschedulable: 0/3 nodes are " +
				"available: 3 Insufficient memory.", requeue: startFor,
		},
		"no node ever has the capacity": {
			pod: unscheduled, after: startFor, class: "Transient", reason: "Retrying", delete: true, requeue: retry,
			message: "cannot start: Unschedulable: 0/3 nodes are available: 3 Insufficient memory.; given up after " +
				"15m; retry 1 of 2",
		},
		"no node has free capacity for the apply": {
			pod: unscheduled, snapshot: func(w *decision.Snapshot) { applying(w); ownPod(w) }, after: startFor,
			class: "Transient", reason: "Retrying", delete: true, requeue: retry,
			message: "pod net-7-apply-2 cannot start: Unschedulable",
		},
		"a pod that reports has started, whatever the cache has": {
			pod: unscheduled, snapshot: func(w *decision.Snapshot) {
				applying(w)
				ownPod(w)
				reported(w)
			}, after: startFor, reason: "Applying", message: "in pod net-7-apply-2", requeue: late - startFor,
		},
		"a gate holds it, as long as an attempt may take": {
			pod:   `{spec: {nodeName: "", schedulingGates: [{name: kueue.x-k8s.io/admission}]}, status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: SchedulingGated, message: "Scheduling is blocked due to non-empty scheduling gates"}]}}`,
			after: time.Hour, reason: "PodPending", message: "SchedulingGated: Scheduling is blocked",
			requeue: reportTime,
		},
		"the engine's image cannot be pulled": {
			pod: waiting("engine", "ErrImagePull",
				`failed to pull and unpack image "registry/tools:1": failed to resolve reference "registry/tools:1": registry/tools:1: not found`),
			reason:  "PodPending",
			message: `pod net-7-plan-1: ErrImagePull: failed to pull and unpack image "registry/tools:1": failed to resolve reference "registry/tools:1": registry/tools:1: not found`, requeue: pullFor,
		},
		"the engine's image cannot be pulled again": {
			pod: waiting("engine", "ImagePullBackOff",
				`Back-off pulling image "registry/tools:1": ErrImagePull: registry/tools:1: not found`),
			after: pullFor - time.Second, reason: "PodPending",
			message: `ImagePullBackOff: Back-off pulling image "registry/tools:1"`, requeue: time.Second,
		},
		"the engine's image cannot be pulled for too long": {
			pod: waiting("engine", "ImagePullBackOff",
				`Back-off pulling image "registry/tools:1": ErrImagePull: registry/tools:1: not found`),
			after: pullFor, class: "Transient", reason: "Retrying", delete: true, requeue: retry,
			message: `plan: pod net-7-plan-1 cannot start: ImagePullBackOff: Back-off pulling image "registry/tools:1": ErrImagePull: registry/tools:1: not found; given up after 5m; retry 1 of 2`,
		},
		"a registry that does not say which image is completed": {
			pod: waiting("runner", "ErrImagePull", `pull QPS exceeded`), reason: "PodPending", requeue: pullFor,
			message: "ErrImagePull: pull QPS exceeded (image registry/cairn:1 of container runner)",
		},
		"an image that has to be on the node is not": {
			pod: waiting("runner", "ErrImageNeverPull",
				`Container image "registry/cairn:1" is not present with pull policy of Never`), after: pullFor,
			class: "Transient", reason: "Retrying", delete: true, requeue: retry,
			message: `ErrImageNeverPull: Container image "registry/cairn:1" is not present`,
		},
		"an image's name is none": {
			pod: waiting("engine", "InvalidImageName",
				`Failed to apply default image tag "A:B:C": couldn''t parse image name "A:B:C": invalid reference format`),
			after: brokenFor, class: "ConfigurationError", reason: "ConfigurationError", delete: true,
			message: `plan: pod net-7-plan-1 cannot start: InvalidImageName: Failed to apply default image tag "A:B:C"`,
		},
		"a key of a Secret is missing": {
			pod:   waiting("engine", "CreateContainerConfigError", `couldn''t find key k in Secret infra/aws`),
			after: brokenFor, class: "ConfigurationError", reason: "ConfigurationError", delete: true,
			message: "cannot start: CreateContainerConfigError: couldn't find key k in Secret infra/aws",
		},
		"a kubelet has not received a Secret yet": {
			pod: waiting("engine", "CreateContainerConfigError",
				`failed to sync secret cache: timed out waiting for the condition`),
			after: brokenFor, reason: "PodPending", message: "failed to sync secret cache",
			requeue: pullFor - brokenFor,
		},
		"the runtime cannot make a container": {
			pod:   waiting("engine", "CreateContainerError", `failed to reserve container name`),
			after: pullFor, class: "Transient", reason: "Retrying", delete: true, requeue: retry,
			message: "CreateContainerError: failed to reserve container name; given up after 5m",
		},
		"a sidecar that goes before it ends again and again": {
			pod:    waiting("runner", "CrashLoopBackOff", `back-off 10s restarting failed container=proxy`),
			reason: "PodPending", requeue: pullFor, message: "CrashLoopBackOff: back-off 10s",
		},

		// As it starts.
		"the image is for another kind of machine": {
			pod: `{status: {` +
				endedAs(`{exitCode: 128, reason: StartError, message: "failed to create containerd task: exec /cairn/bin/cairn-runner: exec format error"}`) + `}}`,
			class: "ConfigurationError", reason: "ConfigurationError",
			message: "pod net-7-plan-1 could not start its container engine, whose image registry/tools:1 is for " +
				"machines of another kind than node node-a before it reported: failed to create containerd task: " +
				"exec /cairn/bin/cairn-runner: exec format error",
		},
		"the image has no cairn-runner": {
			pod:   `{status: {phase: Failed, initContainerStatuses: [{name: runner, state: {terminated: {exitCode: 128, reason: StartError, message: "exec: \"/usr/local/bin/cairn-runner\": stat: no such file or directory"}}}]}}`,
			class: "Transient", reason: "Retrying", requeue: retry,
			message: `pod net-7-plan-1 could not start its container runner before it reported: exec: "/usr/local/bin/cairn-runner": stat: no such file or directory`,
		},
		"the first container fails": {
			pod:   `{status: {phase: Failed, initContainerStatuses: [{name: runner, state: {terminated: {exitCode: 1, reason: Error}}}], containerStatuses: [{name: engine, state: {waiting: {reason: PodInitializing}}}]}}`,
			class: "PodLost", reason: "Retrying", requeue: retry,
			message: "pod net-7-plan-1 had its container runner end with exit code 1 (Error) before it reported",
		},
		"the kubelet does not take it": {
			pod:   `{status: {phase: Failed, reason: OutOfmemory, message: "Pod was rejected: Node didn't have enough resource: memory, requested: 268435456, used: 0, capacity: 1000"}}`,
			class: "Transient", reason: "Retrying", requeue: retry,
			message: "pod net-7-plan-1 was rejected by node node-a (OutOfmemory) before it reported: Pod was " +
				"rejected: Node didn't have enough resource: memory",
		},
		"the node is about to shut down": {
			pod:   `{status: {phase: Failed, reason: NodeShutdown, message: "Pod was rejected: Pod was rejected as the node is shutting down."}}`,
			class: "Transient", reason: "Retrying", requeue: retry,
			message: "was rejected by node node-a (NodeShutdown)",
		},

		// At work.
		"the node is short of a resource": {
			pod:      `{status: {reason: Evicted, message: "The node was low on resource: memory. Threshold quantity: 100Mi, available: 90Mi. ", ` + endedAs(`{exitCode: 137, reason: Error}`) + disrupted("TerminationByKubelet", "The node was low on resource: memory. ") + `}}`,
			snapshot: applying, class: "PodLost", reason: "Retrying", requeue: retry,
			message: "apply: pod net-7-plan-1 was evicted by node node-a before it reported: The node was low on " +
				"resource: memory. Threshold quantity: 100Mi, available: 90Mi.; retry 1 of 2",
		},
		"it wrote more than it may": {
			pod:   `{status: {reason: Evicted, message: "Usage of EmptyDir volume \"work\" exceeds the limit \"1Gi\". ", ` + endedAs(`{exitCode: 137, reason: Error}`) + `}}`,
			class: "PodLost", reason: "Retrying", requeue: retry,
			message: `was evicted by node node-a before it reported: Usage of EmptyDir volume "work" exceeds the limit "1Gi".`,
		},
		"a critical pod needs its place": {
			pod: `{status: {reason: Preempting, message: Preempted in order to admit critical pod, ` +
				endedAs(`{exitCode: 137, reason: Error}`) + `}}`,
			class: "PodLost", reason: "Retrying", requeue: retry,
			message: "was preempted by node node-a before it reported: Preempted in order to admit critical pod",
		},
		"the node shuts down": {
			pod:   `{status: {reason: Terminated, message: Pod was terminated in response to imminent node shutdown., ` + endedAs(`{exitCode: 137, reason: Error}`) + disrupted("TerminationByKubelet", "Pod was terminated in response to imminent node shutdown.") + `}}`,
			class: "PodLost", reason: "Retrying", requeue: retry,
			message: "was ended by the shutdown of node node-a before it reported: Pod was terminated in response to " +
				"imminent node shutdown.",
		},
		"its time is over": {
			pod:   `{status: {reason: DeadlineExceeded, message: Pod was active on the node longer than the specified deadline, ` + endedAs(`{exitCode: 137, reason: Error}`) + `}}`,
			class: "PodLost", reason: "Retrying", requeue: retry,
			message: "was ended by its activeDeadlineSeconds before it reported",
		},
		"it runs out of memory": {
			pod:      `{spec: {containers: [{name: engine, image: registry/tools:1, resources: {limits: {memory: 512Mi}}}]}, status: {` + endedAs(`{exitCode: 137, reason: OOMKilled}`) + `}}`,
			snapshot: applying, class: "PodLost", reason: "Retrying", requeue: retry,
			message: "apply: pod net-7-plan-1 ran out of memory in its container engine before it reported: the " +
				"limit is 512Mi: raise spec.runner.resources.limits.memory; retry 1 of 2",
		},
		"it runs out of memory without a limit": {
			pod:   `{status: {` + endedAs(`{exitCode: 137, reason: OOMKilled}`) + `}}`,
			class: "PodLost", reason: "Retrying", requeue: retry,
			message: "it has no limit of its own, so the memory of its node or of its pod was exhausted: raise " +
				"spec.runner",
		},
		"a sidecar runs out of memory": {
			pod:   `{spec: {containers: [{name: engine}, {name: proxy, resources: {limits: {memory: 8Mi}}}]}, status: {phase: Failed, containerStatuses: [{name: engine, state: {terminated: {exitCode: 0, reason: Completed}}}, {name: proxy, state: {terminated: {exitCode: 137, reason: OOMKilled}}}]}}`,
			class: "PodLost", reason: "Retrying", requeue: retry,
			message: "ran out of memory in its container proxy before it reported: the limit is 8Mi; retry",
		},
		"it is killed": {
			pod:      `{status: {` + endedAs(`{exitCode: 137, reason: Error}`) + `}}`,
			snapshot: applying, class: "PodLost", reason: "Retrying", requeue: retry,
			message: "apply: pod net-7-plan-1 had its container engine killed (SIGKILL) before it reported: node " +
				"node-a does not report a lack of memory; the node itself, or a user on it, did it; retry 1 of 2",
		},
		"it is killed after its grace period": {
			pod:   `{` + deleted + `, status: {` + endedAs(`{exitCode: 137, reason: Error}`) + `}}`,
			class: "PodLost", reason: "Retrying", requeue: retry,
			message: "had its container engine killed (SIGKILL) before it reported: it was deleted, and did not end " +
				"within 600s",
		},
		"the machine starts anew": {
			pod:      `{status: {` + endedAs(`{exitCode: 255, reason: Unknown}`) + `}}`,
			snapshot: applying, class: "PodLost", reason: "Retrying", requeue: retry,
			message: "pod net-7-plan-1 was lost by node node-a, as when the machine restarts before it reported; retry",
		},
		"the kubelet cannot find its container": {
			pod: `{status: {` +
				endedAs(`{exitCode: 137, reason: ContainerStatusUnknown, message: The container could not be located when the pod was terminated}`) + `}}`,
			class: "PodLost", reason: "Retrying", requeue: retry,
			message: "was lost by node node-a, as when the machine restarts before it reported: The container could " +
				"not be located",
		},
		"the runner fails": {
			pod:   `{status: {` + endedAs(`{exitCode: 1, reason: Error, message: "what it printed last"}`) + `}}`,
			class: "PodLost", reason: "Retrying", requeue: retry,
			message: "had its container engine end with exit code 1 (Error) before it reported: see its log; retry",
		},
		"the runner ends": {
			pod:   `{status: {phase: Succeeded, containerStatuses: [{name: engine, state: {terminated: {exitCode: 0, reason: Completed}}}]}}`,
			class: "PodLost", reason: "Retrying", requeue: retry,
			message: "pod net-7-plan-1 ended before it reported; retry",
		},
		"the state is in the log alone": {
			pod: `{status: {` + endedAs(`{exitCode: 73, reason: Error}`) + `}}`, snapshot: applying,
			class: "StateNotSaved", reason: "StateNotSaved", message: "it is in the log of pod net-7-plan-1",
		},
		"another container's exit code strands nothing": {
			pod:      `{status: {phase: Failed, containerStatuses: [{name: engine, state: {terminated: {exitCode: 0}}}, {name: proxy, state: {terminated: {exitCode: 73, reason: Error}}}]}}`,
			snapshot: applying, class: "PodLost", reason: "Retrying", requeue: retry,
			message: "had its container proxy end with exit code 73",
		},

		// On its way out.
		"a user deletes it": {
			pod:     `{` + deleted + `, status: {phase: Running, conditions: [` + ready + `], ` + atWork + `}}`,
			reason:  "PodTerminating",
			message: "pod net-7-plan-1 was deleted and has until 12:10:00Z to end", requeue: 11 * time.Minute,
		},
		"its node is drained": {
			pod: `{` + deleted + `, status: {phase: Running, conditions: [` + ready +
				`, {type: DisruptionTarget, status: "True", reason: EvictionByEvictionAPI, message: "Eviction API: evicting"}], ` + atWork + `}}`,
			snapshot: applying, reason: "PodTerminating", requeue: 11 * time.Minute,
			message: "pod net-7-plan-1 was evicted from node node-a through the API, as a drain of the node does " +
				"(Eviction API: evicting) and has until 12:10:00Z to end",
		},
		"its node was drained, and it did not report": {
			pod: `{` + deleted + `, status: {` +
				endedAs(`{exitCode: 1, reason: Error}`) + disrupted("EvictionByEvictionAPI", "Eviction API: evicting") +
				`}}`,
			class: "PodLost", reason: "Retrying", requeue: retry,
			message: "was evicted from node node-a through the API, as a drain of the node does before it reported: " +
				"Eviction API: evicting",
		},
		"a more important pod needs its place": {
			pod: `{` + deleted + `, status: {phase: Running, conditions: [` + ready +
				`, {type: DisruptionTarget, status: "True", reason: PreemptionByScheduler, message: "default-scheduler: preempting to accommodate a higher priority pod"}], ` + atWork + `}}`,
			reason: "PodTerminating", requeue: 11 * time.Minute,
			message: "was preempted on node node-a by the scheduler (default-scheduler: preempting to accommodate a " +
				"higher priority pod)",
		},
		"a disruption of an unknown reason": {
			pod: `{` + deleted + `, status: {phase: Running, conditions: [` + ready +
				`, {type: DisruptionTarget, status: "True", reason: Novel, message: "so it is"}], ` + atWork + `}}`,
			reason: "PodTerminating", requeue: 11 * time.Minute, message: "was disrupted (Novel) (so it is)",
		},
		"a disruption that did not come to be": {
			pod: `{` + deleted + `, status: {phase: Running, conditions: [` + ready +
				`, {type: DisruptionTarget, status: "False", reason: PreemptionByScheduler}], ` + atWork + `}}`,
			reason: "PodTerminating", requeue: 11 * time.Minute, message: "pod net-7-plan-1 was deleted and has until",
		},

		// Its node is silent.
		"its node does not answer": {
			pod: `{status: {phase: Running, conditions: [` + away + `], ` + atWork + `}}`, snapshot: applying,
			after: 4 * time.Minute, reason: "NodeUnreachable", requeue: late - 4*time.Minute,
			message: "node node-a does not answer since 2026-11-20 12:03:00Z: pod net-7-plan-1 may still be at work, " +
				"so nothing else is begun, and the state stays locked. When the machine is known to be off, delete " +
				"Node node-a, or taint it node.kubernetes.io/out-of-service=nodeshutdown:NoExecute, or kubectl " +
				"delete pod net-7-plan-1 --force",
		},
		"its node does not answer during a plan, which holds no lock": {
			pod: `{status: {phase: Running, conditions: [` + away + `], ` + atWork + `}}`, after: 4 * time.Minute,
			reason: "NodeUnreachable", requeue: late - 4*time.Minute,
			message: "may still be at work, so nothing else is begun. When the machine",
		},
		"a container that is not ready is not a node that is silent": {
			pod:    `{status: {phase: Running, conditions: [{type: Ready, status: "False", reason: ContainersNotReady, lastTransitionTime: "2026-11-20T12:03:00Z"}, {type: ContainersReady, status: "False", reason: ContainersNotReady}], ` + atWork + `}}`,
			reason: "Planning", requeue: late,
		},
		"a readiness gate is not a node that is silent": {
			pod:    `{spec: {readinessGates: [{conditionType: a/b}]}, status: {phase: Running, conditions: [{type: Ready, status: "False", reason: ReadinessGatesNotReady, lastTransitionTime: "2026-11-20T12:03:00Z"}, {type: ContainersReady, status: "True"}], ` + atWork + `}}`,
			reason: "Planning", requeue: late,
		},
		"the taint manager deletes it from a node that does not answer": {
			pod: `{` + deleted + `, status: {phase: Running, conditions: [` + away +
				`, {type: DisruptionTarget, status: "True", reason: DeletionByTaintManager, message: "Taint manager: deleting due to NoExecute taint"}], ` + atWork + `}}`,
			snapshot: applying, after: 5 * time.Minute, reason: "NodeUnreachable", requeue: late - 5*time.Minute,
			message: "node node-a does not answer since 2026-11-20 12:03:00Z",
		},
		"its node does not say that it has ended": {
			pod:      `{` + deleted + `, status: {phase: Running, conditions: [` + ready + `], ` + atWork + `}}`,
			snapshot: applying, after: 11 * time.Minute, reason: "NodeUnreachable", requeue: late - 11*time.Minute,
			message: "node node-a does not report that pod net-7-plan-1 has ended, which it had to by 2026-11-20 " +
				"12:10:00Z: pod net-7-plan-1 may still be at work",
		},
		"its node does not answer, and its time is over": {
			pod: `{status: {phase: Running, conditions: [` + away + `], ` + atWork + `}}`, snapshot: applying,
			after: late, reason: "NodeUnreachable", delete: true, requeue: time.Minute,
			message: "the state stays locked",
		},
		"it is deleted once, not every minute": {
			pod:      `{` + deleted + `, status: {phase: Running, conditions: [` + away + `], ` + atWork + `}}`,
			snapshot: applying, after: late, reason: "NodeUnreachable", requeue: time.Minute,
		},
		"its node does not answer, and a user cancels": {
			pod: `{status: {phase: Running, conditions: [` + away + `], ` + atWork + `}}`,
			snapshot: func(w *decision.Snapshot) {
				applying(w)
				cancel(w)
			}, after: 4 * time.Minute, reason: "Canceling", requeue: late - 4*time.Minute,
			message: "canceled by bob; node node-a does not answer since",
		},
		"the garbage collector says that it failed, and its node has not": {
			pod: `{` + deleted + `, status: {phase: Failed, conditions: [` + ready +
				`, {type: DisruptionTarget, status: "True", reason: DeletionByPodGC, message: "PodGC: node no longer exists"}], ` + atWork + `}}`,
			snapshot: applying, reason: "PodTerminating", requeue: 11 * time.Minute,
			message: "was removed since its node node-a is gone (PodGC: node no longer exists)",
		},
		"its kubelet started anew and did not take it back, and says nothing of what ran": {
			pod:      `{status: {phase: Failed, reason: NodeAffinity, message: "Pod was rejected: Predicate NodeAffinity failed"}}`,
			snapshot: func(w *decision.Snapshot) { applying(w); reported(w) }, reason: "PodTerminating", requeue: late,
			message: "was rejected by node node-a (NodeAffinity) (Pod was rejected: Predicate NodeAffinity failed), " +
				"and node node-a does not report that its containers have ended: it may still be at work, so nothing " +
				"else is begun. When you know that they have, kubectl delete pod net-7-plan-1",
		},
		"it was evicted, and nothing is said of what ran": {
			pod:      `{status: {phase: Failed, reason: Evicted, message: "The node was low on resource: memory. "}}`,
			snapshot: func(w *decision.Snapshot) { applying(w); reported(w) }, reason: "PodTerminating", requeue: late,
			message: "was evicted by node node-a (The node was low on resource: memory.), and node node-a " +
				"does not report",
		},
		"nothing but its phase is said": {
			pod:      `{status: {phase: Failed}}`,
			snapshot: func(w *decision.Snapshot) { planning(w); reported(w) }, reason: "PodTerminating", requeue: late,
			message: "was given up by node node-a, and node node-a does not report",
		},
		"the garbage collector says that it failed, without a report that it started": {
			pod:    `{status: {phase: Failed, conditions: [{type: DisruptionTarget, status: "True", reason: DeletionByPodGC, message: "PodGC: node no longer exists"}]}}`,
			reason: "PodTerminating", requeue: late, message: "was removed since its node node-a is gone (PodGC: " +
				"node no longer exists), and node node-a does not report",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.snapshot == nil {
				tt.snapshot = planning
			}
			w := snapshot(tt.snapshot, later(tt.after))
			for i := range w.Run.Status.Attempts { // all that is there was made a moment ago
				if a := &w.Run.Status.Attempts[i]; a.FinishedAt == nil {
					a.StartedAt = *micro(now)
				}
			}
			w.Pod = Observe(podFrom(t, tt.pod), false, runinfo.HasReported(w.Run, runinfo.Current(&w.Run.Status)))
			s, d := decision.Settle(w)
			var class v1alpha1.FailureClass
			if f := runinfo.Current(&s).Failure; f != nil {
				class = f.Class
			}
			if class != tt.class || d.Reason != tt.reason || d.DeletePod != tt.delete || d.RequeueAfter != tt.requeue {
				t.Errorf("class %q, reason %s, delete %v, again after %s; want %q, %s, %v, %s", class, d.Reason,
					d.DeletePod, d.RequeueAfter, tt.class, tt.reason, tt.delete, tt.requeue)
			}
			if !strings.Contains(d.Message, tt.message) {
				t.Errorf("message\n%s\ndoes not contain\n%s", d.Message, tt.message)
			}
			if d.NeedsPod() || len(s.Attempts) != len(w.Run.Status.Attempts) {
				t.Error("another attempt is begun")
			}
		})
	}
}

// said is a Run whose last message is the given one.
func said(reason, message string) func(*decision.Snapshot) {
	return func(w *decision.Snapshot) {
		w.Run.Status.Conditions = []metav1.Condition{
			{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: reason, Message: message}}
	}
}

func TestDeletedPod(t *testing.T) {
	gone := func(w *decision.Snapshot) { w.Pod = Observe(nil, true, false) }
	tests := map[string]struct {
		snapshot decision.Snapshot
		message  string
		next     time.Duration
	}{
		"a plan without a report": {
			snapshot(planning, gone), "pod net-7-plan-1 is gone before it reported", 15 * time.Second,
		},
		"an apply's has some time to hand in its state": {
			snapshot(applying, gone), "pod net-7-plan-1 is gone before it reported", leftFor,
		},
		"an apply's, where a Stack waits longer anyway": {
			snapshot(applying, gone, func(w *decision.Snapshot) {
				w.Stack.Spec.Retry.Backoff.Duration, w.Stack.Spec.Retry.MaxBackoff.Duration = time.Hour, time.Hour
			}), "pod net-7-plan-1 is gone before it reported", time.Hour,
		},
		"the reason of its deletion is reported": {
			snapshot(applying, gone,
				said("PodTerminating", "pod net-7-plan-1 was evicted from node a and has until 12:10:00Z to end")),
			"pod net-7-plan-1 is gone before it reported: pod net-7-plan-1 was evicted from node a and has until " +
				"12:10:00Z to end", leftFor,
		},
		"the unresponsive node is reported without advice": {
			snapshot(applying, gone,
				said("NodeUnreachable", "node a does not answer since 12:03:00Z: pod net-7-plan-1 may still be at "+
					"work, so nothing else is begun. When the machine is off, delete it")),
			"pod net-7-plan-1 is gone before it reported: node a does not answer since 12:03:00Z: pod net-7-plan-1 " +
				"may still be at work, so nothing else is begun", leftFor,
		},
		"a message about another pod is not kept": {
			snapshot(applying, gone, said("PodTerminating", "pod net-7-plan-11 was evicted")),
			"pod net-7-plan-1 is gone before it reported", leftFor,
		},
		"a message that is not a diagnosis is not kept": {
			snapshot(applying, gone, said("Applying", "in pod net-7-plan-1")),
			"pod net-7-plan-1 is gone before it reported", leftFor,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, d := decision.Settle(tt.snapshot)
			a := runinfo.Current(&s)
			if runinfo.IsApply(*a) { // whatever is next waits first
				if d.Reason != v1alpha1.ReasonPodTerminating || d.RequeueAfter != leftFor || s.NextAttempt != nil ||
					!strings.Contains(d.Message, "has until 12:02:00Z to hand in the state") {
					t.Errorf("%+v, the next try is at %s", d, s.NextAttempt)
				}
				tt.snapshot.Now, tt.snapshot.Run.Status = now.Add(leftFor), s
				s, d = decision.Settle(tt.snapshot)
				if tt.next == leftFor { // the time to wait before a retry is over, too
					if d.Begin != v1alpha1.AttemptPlan {
						t.Errorf("%+v", d)
					}
					s.NextAttempt = &metav1.Time{Time: tt.snapshot.Now}
				}
				a = runinfo.Current(&s)
			}
			if a.Failure == nil ||
				*a.Failure != (v1alpha1.Failure{Class: v1alpha1.FailurePodLost, Reason: v1alpha1.FailurePodVanished,
					Message: tt.message}) {
				t.Errorf("got %+v", a.Failure)
			}
			if s.NextAttempt == nil || s.NextAttempt.Sub(now) != tt.next {
				t.Errorf("the next try is at %s", s.NextAttempt)
			}
		})
	}
}

// An interrupted runner reports the interrupt before its node reports the cause.
func TestInterruptIsExplained(t *testing.T) {
	interrupted := func(why string) func(*decision.Snapshot) {
		return func(w *decision.Snapshot) {
			failed(v1alpha1.FailureTransient)(w)
			a := runinfo.Current(&w.Run.Status)
			a.Failure = decision.Interrupted(a, why)
		}
	}
	evicted := func(w *decision.Snapshot) {
		w.Pod = Observe(podFrom(t,
			`{status: {phase: Failed, reason: Evicted, message: "The node was low on resource: memory. ", containerStatuses: [{name: engine, state: {terminated: {exitCode: 0}}}]}}`), false, true)
	}
	for name, tt := range map[string]struct {
		snapshot decision.Snapshot
		want     string
	}{
		"by its node": {snapshot(applying, interrupted(""), evicted),
			"interrupted: pod net-7-plan-1 was evicted by node node-a: The node was low on resource: memory."},
		"by its node, which has not said": {snapshot(applying, interrupted("")),
			"interrupted: pod net-7-plan-1 was terminated by its node"},
		"by its node, which does not say": {snapshot(applying, interrupted(""), pod(decision.PodEnded)),
			"interrupted: pod net-7-plan-1 was terminated by its node"},
		"by a cause that was known before": {snapshot(applying, interrupted("was deleted"), evicted),
			"interrupted: pod net-7-plan-1 was deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			s, d := decision.Settle(tt.snapshot)
			if got := runinfo.Current(&s).Failure.Message; got != tt.want ||
				!strings.Contains(d.Message, "apply: "+tt.want+"; retry 1 of 2") {
				t.Errorf("got %q, and the Run says %q", got, d.Message)
			}
		})
	}
	if got := WhyTerminating(podFrom(t, `{`+deleted+
		`, status: {phase: Running, conditions: [{type: DisruptionTarget, status: "True", reason: EvictionByEvictionAPI, message: "Eviction API: evicting"}]}}`)); got != "was evicted from node node-a through the API, as a drain of the node does: Eviction API: evicting" {
		t.Errorf("of a drain it says %q", got)
	}
	if got := WhyTerminating(podFrom(t, `{`+deleted+`, status: {phase: Running}}`)); got != "was deleted" {
		t.Errorf("of a deletion it says %q", got)
	}
	if got := WhyTerminating(podFrom(t, `{status: {phase: Running}}`)); got != "" {
		t.Errorf("of a pod that was not deleted it says %q", got)
	}
}

// A pod that is not known has no diagnosis.
func TestUnknownPod(t *testing.T) {
	if got := Observe(nil, false, false); got != (decision.Pod{State: decision.PodUnknown}) {
		t.Errorf("got %+v", got)
	}
	if got := Observe(podFrom(t, `{status: {phase: Unknown}}`), false, false); got !=
		(decision.Pod{State: decision.PodUnknown}) {
		t.Errorf("got %+v", got)
	}
}

// A Run whose apply lost its pod does not end, and so delays later Runs, as long as its runner may still be running.
func TestAbandonedRunnerDelaysTheEndOfARun(t *testing.T) {
	const lost = "apply: pod net-7-plan-1 is gone before it reported"
	gone := func(w *decision.Snapshot) {
		reported(w)
		w.Pod = Observe(nil, true, false)
	}
	noRetry := func(w *decision.Snapshot) { w.Stack.Spec.Retry.Limit = ptr.To(int32(0)) }
	for name, tt := range map[string]struct {
		option func(*decision.Snapshot)
		says   string
		then   v1alpha1.RunPhase
	}{
		"with a retry": {func(*decision.Snapshot) {}, v1alpha1.ReasonPodTerminating,
			v1alpha1.PhasePlanning},
		"without one":                  {noRetry, v1alpha1.ReasonPodTerminating, v1alpha1.PhaseFailed},
		"with a newer commit":          {changed, v1alpha1.ReasonPodTerminating, v1alpha1.PhaseFailed},
		"canceled":                     {cancel, v1alpha1.ReasonCanceling, v1alpha1.PhaseCanceled},
		"of a Stack that is gone":      {stackGone, v1alpha1.ReasonPodTerminating, v1alpha1.PhaseFailed},
		"of a Stack that is suspended": {suspended, v1alpha1.ReasonPodTerminating, v1alpha1.PhaseApplying},
	} {
		t.Run(name, func(t *testing.T) {
			w := snapshot(applying, gone, tt.option)
			for _, after := range []time.Duration{0, leftFor - time.Second} {
				w.Now = now.Add(after)
				s, d := decision.Settle(w)
				if s.Phase != v1alpha1.PhaseApplying || d.Reason != tt.says || d.RequeueAfter != leftFor-after ||
					d.Begin != "" || !strings.Contains(d.Message, lost) {
					t.Errorf("after %s: %s, %+v", after, s.Phase, d)
				}
				w.Run.Status = s
			}
			w.Now = now.Add(leftFor)
			s, d := decision.Settle(w)
			if d.NeedsPod() {
				s = decision.Begin(s, d, 1, "new", "uid-new", w.Now)
			}
			if s.Phase != tt.then {
				t.Errorf("then: %s, %+v", s.Phase, d)
			}
		})
	}
	// A pod that was seen to end is gone later as well, and has left no runner.
	w := snapshot(applying, pod(decision.PodEnded), noRetry)
	if s, _ := decision.Settle(w); s.Phase != v1alpha1.PhaseFailed {
		t.Errorf("%s", s.Phase)
	}
	w = snapshot(applying, pod(decision.PodEnded))
	w.Run.Status, _ = decision.Settle(w)
	gone(&w)
	changed(&w)
	if s, _ := decision.Settle(w); s.Phase != v1alpha1.PhaseFailed {
		t.Errorf("of a pod that ended: %s", s.Phase)
	}
}
