package kubelet_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Pods that show that they live: as long as one of their processes does, the pipe is open.
const (
	polite = `
initContainers: [{name: init, command: [mkfifo, /data/pipe], volumeMounts: [{name: data, mountPath: /data}]}]
containers:
- name: main
  command: [sh, -c, 'exec 3> "$0"; trap "echo bye >&3; exit 5" TERM; echo ready; while :; do sleep 600 & wait $!; done', /data/pipe]
  volumeMounts: [{name: data, mountPath: /data}]
volumes: [{name: data, emptyDir: {}}]
`
	stubborn = `
initContainers: [{name: init, command: [mkfifo, /data/pipe], volumeMounts: [{name: data, mountPath: /data}]}]
containers:
- name: main
  command: [sh, -c, 'exec 3> "$0"; trap "" TERM; set -m; sleep 600 & echo ready; while :; do sleep 600; done', /data/pipe]
  volumeMounts: [{name: data, mountPath: /data}]
volumes: [{name: data, emptyDir: {}}]
`
)

// pipe follows what a pod writes into its pipe; it ends with the last process of the pod.
func pipe(t *testing.T, path string) <-chan string {
	t.Helper()
	all := make(chan string, 1)
	go func() { // ends with the pod, which ends with the test at the latest
		defer close(all)
		r, err := os.Open(path)
		if err != nil {
			return
		}
		defer r.Close()
		said, _ := io.ReadAll(r)
		all <- string(said)
	}()
	return all
}

// start makes one of the pods above and returns when it is ready for a signal.
func start(t *testing.T, ns, spec string) (pod *corev1.Pod, said <-chan string) {
	t.Helper()
	pod = create(t, ns, "pod", spec)
	await(t, ns, "pod", "running", isRunning) // as far as to the pipe, where it waits for who reads it
	said = pipe(t, inPod(pod.UID, "data/pipe"))
	awaitLine(t, ns, "pod", "ready")
	return pod, said
}

func wait(t *testing.T, said <-chan string) string {
	t.Helper()
	select {
	case s := <-said:
		return s
	case <-time.After(patience):
		t.Fatal("a process of the pod lives on")
		return ""
	}
}

func TestDeletionWaitsForContainers(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	pod, said := start(t, ns, polite)
	began := time.Now()
	remove(t, pod, 600)
	last := awaitGone(t, pod)
	if got := wait(t, said); got != "bye\n" {
		t.Errorf("it said %q", got)
	}
	if end := last.Status.ContainerStatuses[0].State.Terminated; end == nil || end.ExitCode != 5 ||
		last.Status.Phase != corev1.PodFailed {
		t.Errorf("last seen %s with %+v", last.Status.Phase, last.Status.ContainerStatuses[0].State)
	}
	t.Logf("gone after %s", time.Since(began))
	awaitNoDir(t, nodeDir, pod.UID)
}

func TestDeletionKillsAfterTheGracePeriod(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	pod, said := start(t, ns, stubborn)
	began := time.Now()
	remove(t, pod, 1)
	last := awaitGone(t, pod)
	if took := time.Since(began); took < time.Second {
		t.Errorf("gone after %s, before its time", took)
	}
	if end := last.Status.ContainerStatuses[0].State.Terminated; end == nil || end.ExitCode != 137 {
		t.Errorf("last seen with %+v", last.Status.ContainerStatuses[0].State)
	}
	wait(t, said)
}

func TestSecondDeletionShortensTheGracePeriod(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	pod, said := start(t, ns, stubborn)
	remove(t, pod, 600)
	await(t, ns, "pod", "being deleted", func(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil })
	remove(t, pod, 1)
	awaitGone(t, pod)
	wait(t, said)
}

func TestForcedDeletionKillsImmediately(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	pod, said := start(t, ns, stubborn)
	remove(t, pod, 0)
	awaitGone(t, pod)
	wait(t, said)
	awaitNoDir(t, nodeDir, pod.UID)
}

func TestDeletionOfAPodThatNeverStarted(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	pod := create(t, ns, "pod",
		`{containers: [{name: main, command: ["true"]}], volumes: [{name: v, secret: {secretName: nope}}]}`)
	awaitEvent(t, ns, "FailedMount", "not found")
	remove(t, pod, 600)
	awaitGone(t, pod)
}

func TestDeletionOfAPodThatHasEnded(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	pod := create(t, ns, "pod", `{containers: [{name: main, command: ["true"]}]}`)
	awaitEnd(t, ns, "pod")
	remove(t, pod, 600)
	awaitGone(t, pod)
	awaitNoDir(t, nodeDir, pod.UID)
}

// awaitNoDir waits until the folder of a pod is gone.
func awaitNoDir(t *testing.T, node string, uid types.UID) {
	t.Helper()
	poll(t, "the end of the pod's folder", func() bool {
		_, err := os.Stat(filepath.Join(node, "pods", string(uid)))
		return errors.Is(err, fs.ErrNotExist)
	})
}
