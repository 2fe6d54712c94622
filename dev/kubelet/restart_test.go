package kubelet_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"cairn.dev/cairn/dev/kubelet"
)

// runNode runs a node of the test's own in this process, until stop is called.
func runNode(t *testing.T, name, dir string) (stop func()) {
	t.Helper()
	node, err := kubelet.New(kubelet.Options{Config: plane.RESTConfig(), NodeName: name, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- node.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// Not parallel, as all tests with nodes of their own: those would take the pods of other tests.
func TestPodsOfAKilledNode(t *testing.T) {
	ns, dir := newNamespace(t), t.TempDir()
	lost := exec.Command(os.Args[0])
	lost.Env = append(os.Environ(), helperDir+"="+dir, "NODE=killed", "KUBECONFIG="+kubeconfig)
	lost.Stderr = os.Stderr
	if err := lost.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lost.Process.Kill() }() // harmless when it was

	create(t, ns, "over", `{nodeName: killed, containers: [{name: main, command: [echo, hello]}]}`)
	awaitEnd(t, ns, "over")
	gone := create(t, ns, "gone", `{nodeName: killed, containers: [{name: main, command: ["true"]}]}`)
	awaitEnd(t, ns, "gone")
	pod := create(t, ns, "pod", "nodeName: killed"+stubborn)
	await(t, ns, "pod", "running", isRunning)
	said := pipe(t, filepath.Join(dir, "pods", string(pod.UID), "fs", "data", "pipe"))
	awaitLine(t, ns, "pod", "ready")

	if err := lost.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = lost.Wait()
	wait(t, said) // nothing outlives the node, not even who ignores signals and has a process group of its own
	remove(t, gone, 0)
	awaitGone(t, gone)

	runNode(t, "killed", dir)
	after := awaitEnd(t, ns, "pod")
	if end := after.Status.ContainerStatuses[0].State.Terminated; after.Status.Phase != corev1.PodFailed ||
		after.Status.Reason != "NodeRestarted" || end == nil || end.ExitCode != 137 {
		t.Errorf("phase %s, reason %s, state %+v", after.Status.Phase, after.Status.Reason,
			after.Status.ContainerStatuses[0].State)
	}
	if init := after.Status.InitContainerStatuses[0].State.Terminated; init == nil || init.ExitCode != 0 {
		t.Errorf("what had ended well did not stay so: %+v", init)
	}
	if got := logOf(t, ns, "over", "main"); got != "hello\n" {
		t.Errorf("the log of a pod that ended before says %q", got)
	}
	awaitNoDir(t, dir, gone.UID)
	if _, err := os.Stat(filepath.Join(dir, "pods", string(pod.UID))); err != nil {
		t.Errorf("the folder of a pod that is still there: %v", err)
	}
	remove(t, pod, 600)
	awaitGone(t, pod)
}

func TestPodsOfAStoppedNode(t *testing.T) {
	ns, dir := newNamespace(t), t.TempDir()
	stop := runNode(t, "stopped", dir)
	create(t, ns, "running", `{nodeName: stopped, containers: [{name: main, command: [sh, -c, "trap 'exit 3' TERM; echo ready; while :; do sleep 600 & wait $!; done"]}]}`)
	create(t, ns, "waiting", `{nodeName: stopped, containers: [{name: main, command: [cat, /s/word], volumeMounts: [{name: s, mountPath: /s}]}], volumes: [{name: s, secret: {secretName: late}}]}`)
	await(t, ns, "running", "running", isRunning)
	awaitLine(t, ns, "running", "ready")
	awaitEvent(t, ns, "FailedMount", "not found")
	stop()
	pod := awaitEnd(t, ns, "running")
	if end := pod.Status.ContainerStatuses[0].State.Terminated; pod.Status.Reason != "Terminated" || end == nil ||
		end.ExitCode != 3 {
		t.Errorf("reason %s, state %+v", pod.Status.Reason, pod.Status.ContainerStatuses[0].State)
	}

	// What was not started yet is, by the next.
	secret(t, ns, "late", map[string]string{"word": "hello"})
	runNode(t, "stopped", dir)
	if pod := awaitEnd(t, ns, "waiting"); pod.Status.Phase != corev1.PodSucceeded {
		t.Errorf("phase %s", pod.Status.Phase)
	}
}
