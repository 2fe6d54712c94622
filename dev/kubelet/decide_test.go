package kubelet

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestDecide(t *testing.T) {
	for _, tt := range []struct {
		name, pod string
		started   bool
		want      action
	}{
		{name: "a pod that no node has is taken", pod: `{}`, want: bind},
		{name: "one that is held back waits", pod: `{spec: {schedulingGates: [{name: kueue}]}}`, want: ignore},
		{name: "one that is being deleted is not taken any more",
			pod: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}}`, want: ignore},
		{name: "another node's", pod: `{spec: {nodeName: there}}`, want: ignore},
		{name: "given to this node", pod: `{spec: {nodeName: here}, status: {phase: Pending}}`, want: start},
		{name: "started before, and the status says so", pod: `{spec: {nodeName: here}, status: {phase: Running}}`,
			want: lose},
		{name: "started before, though the status does not know",
			pod: `{spec: {nodeName: here}, status: {phase: Pending}}`, started: true, want: lose},
		{name: "ended well", pod: `{spec: {nodeName: here}, status: {phase: Succeeded}}`, started: true, want: keep},
		{name: "ended badly", pod: `{spec: {nodeName: here}, status: {phase: Failed}}`, started: true, want: keep},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pod := fromYAML[corev1.Pod](t, tt.pod)
			if got := decide(&pod, "here", tt.started); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestRefuse(t *testing.T) {
	for _, tt := range []struct {
		name, spec      string
		reason, message string
	}{
		{name: "all that is known", spec: `{restartPolicy: Never, containers: [{name: a, command: [x]}], volumes: [
			{name: a, emptyDir: {}}, {name: b, secret: {}}, {name: c, configMap: {}}, {name: d, downwardAPI: {}},
			{name: e, projected: {sources: [{serviceAccountToken: {path: t}}, {secret: {}}, {configMap: {}}, {downwardAPI: {}}]}}]}`},
		{name: "restarts", spec: `{restartPolicy: OnFailure}`, reason: "UnsupportedRestartPolicy",
			message: "restartPolicy OnFailure"},
		{name: "sidecars", spec: `{restartPolicy: Never, initContainers: [{name: s, command: [x], restartPolicy: Always}]}`, reason: "UnsupportedRestartPolicy", message: `container "s"`},
		{name: "another volume", spec: `{restartPolicy: Never, volumes: [{name: v, hostPath: {path: /}}]}`, reason: "UnsupportedVolume", message: `volume "v"`},
		{name: "another source", spec: `{restartPolicy: Never, volumes: [{name: v, projected: {sources: [{clusterTrustBundle: {path: x}}]}}]}`, reason: "UnsupportedVolume", message: `volume "v"`},
		{name: "a part of a volume", spec: `{restartPolicy: Never, containers: [{name: c, command: [x], volumeMounts: [{name: v, mountPath: /x, subPath: y}]}]}`, reason: "UnsupportedVolume", message: "subPath"},
		{name: "the image's own command", spec: `{restartPolicy: Never, containers: [{name: c, args: [x]}]}`, reason: "NoCommand", message: `container "c"`},
		{name: "hooks", spec: `{restartPolicy: Never, containers: [{name: c, command: [x], lifecycle: {}}]}`, reason: "UnsupportedLifecycle", message: `container "c"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := fromYAML[corev1.PodSpec](t, tt.spec)
			got := refuse(&spec)
			if got == nil {
				got = &failure{}
			}
			if got.reason != tt.reason || !strings.Contains(got.message, tt.message) {
				t.Errorf("got %+v, want %s: ...%s...", got, tt.reason, tt.message)
			}
		})
	}
}
