package kubelet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// states reads "-" not started, "!" waiting for a reason, "r" running, or an exit code; one for each container.
func states(s string) []corev1.ContainerState {
	list := []corev1.ContainerState{}
	for _, word := range strings.Fields(s) {
		var state corev1.ContainerState
		switch word {
		case "-":
		case "!":
			state.Waiting = &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError"}
		case "r":
			state.Running = &corev1.ContainerStateRunning{}
		default:
			state.Terminated = &corev1.ContainerStateTerminated{}
			_, _ = fmt.Sscan(word, &state.Terminated.ExitCode)
		}
		list = append(list, state)
	}
	return list
}

func TestStatus(t *testing.T) {
	for _, tt := range []struct {
		name       string
		init, main string
		failed     *failure
		// want: phase, true conditions, then each container's state
		want string
	}{
		{name: "just seen", main: "-", want: "Pending [Initialized] ContainerCreating"},
		{name: "just seen, with init containers", init: "- -", main: "-",
			want: "Pending [] PodInitializing PodInitializing PodInitializing"},
		{name: "an init container runs", init: "0 r -", main: "-",
			want: "Pending [PodReadyToStartContainers] ended running PodInitializing PodInitializing"},
		{name: "init containers are done", init: "0", main: "-",
			want: "Pending [PodReadyToStartContainers Initialized] ended ContainerCreating"},
		{name: "an init container failed", init: "3 -", main: "-",
			want: "Failed [] ended PodInitializing PodInitializing"},
		{name: "an object is missing", main: "!", want: "Pending [Initialized] CreateContainerConfigError"},
		{name: "it runs", init: "0", main: "r", want: "Running [PodReadyToStartContainers Initialized " +
			"ContainersReady Ready] ended running"},
		{name: "one of two runs yet", main: "0 r",
			want: "Running [PodReadyToStartContainers Initialized] ended running"},
		{name: "one of two is not started yet", main: "r -", want: "Pending [PodReadyToStartContainers Initialized] " +
			"running ContainerCreating"},
		{name: "all ended well", main: "0 0", want: "Succeeded [Initialized] ended ended"},
		{name: "one of two failed", main: "0 1", want: "Failed [Initialized] ended ended"},
		{name: "the node ended it", main: "143", failed: &failure{"DeadlineExceeded", "too long"},
			want: "Failed [Initialized] ended: DeadlineExceeded"},
		{name: "the node would not start it", main: "-", failed: &failure{"NoCommand", "none"},
			want: "Failed [Initialized] ContainerCreating: NoCommand"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := observed{init: states(tt.init), main: states(tt.main), failed: tt.failed}
			pod := somePod()
			pod.Spec.InitContainers = make([]corev1.Container, len(o.init))
			pod.Spec.Containers = make([]corev1.Container, len(o.main))
			if got := say(statusOf(pod, o, nil, metav1.Now())); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func say(s corev1.PodStatus) string {
	var conditions []corev1.PodConditionType
	for _, c := range s.Conditions {
		if c.Status == corev1.ConditionTrue {
			conditions = append(conditions, c.Type)
		}
	}
	words := fmt.Sprint(s.Phase, " ", conditions)
	for _, c := range append(s.InitContainerStatuses, s.ContainerStatuses...) {
		switch {
		case c.State.Running != nil:
			words += " running"
		case c.State.Terminated != nil:
			words += " ended"
		default:
			words += " " + c.State.Waiting.Reason
		}
	}
	if s.Reason != "" {
		words += ": " + s.Reason
	}
	return words
}

func TestConditionsKeepTheirTransitionTimes(t *testing.T) {
	pod := somePod()
	pod.Spec.Containers = make([]corev1.Container, 1)
	before, after := metav1.NewTime(time.Unix(100, 0)), metav1.NewTime(time.Unix(200, 0))
	first := statusOf(pod, observed{main: states("-")}, nil, before)
	second := statusOf(pod, observed{main: states("r")}, first.Conditions, after)
	got := map[corev1.PodConditionType]int64{}
	for _, c := range second.Conditions {
		got[c.Type] = c.LastTransitionTime.Unix()
	}
	want := map[corev1.PodConditionType]int64{
		corev1.PodReadyToStartContainers: 200, corev1.PodInitialized: 100, corev1.ContainersReady: 200,
		corev1.PodReady: 200,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestContainerStatusesOfALostPod(t *testing.T) {
	spec := []corev1.Container{{Name: "done"}, {Name: "ran"}, {Name: "waited"}}
	was := []corev1.ContainerStatus{
		{Name: "ran", State: states("r")[0]},
		{Name: "done", State: states("4")[0]},
	}
	var codes []int32
	for _, s := range lost(somePod(), spec, was) {
		codes = append(codes, s.Terminated.ExitCode)
	}
	if diff := cmp.Diff([]int32{4, 137, 137}, codes); diff != "" {
		t.Error(diff)
	}
}
