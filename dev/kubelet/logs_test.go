package kubelet_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestKubectlLogs(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	pod := create(t, ns, "pod", `
initContainers:
- {name: init, command: [sh, -c, 'echo from init; mkfifo "$0"', /data/pipe], volumeMounts: [{name: data, mountPath: /data}]}
containers:
- {name: main, command: [sh, -c, 'echo one; read word < "$0"; echo "$word"', /data/pipe], volumeMounts: [{name: data, mountPath: /data}]}
volumes: [{name: data, emptyDir: {}}]
`)
	await(t, ns, "pod", "running", isRunning)
	if out, err := kubectl(t, "logs", "-n", ns, "pod", "-c", "init").Output(); err != nil ||
		string(out) != "from init\n" {
		t.Errorf("init: %q, %v", out, err)
	}

	following := kubectl(t, "logs", "-n", ns, "pod", "-f")
	stdout, err := following.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := following.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	next := func(want string) {
		t.Helper()
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("got %q, want %q", lines.Text(), want)
		}
	}
	next("one")
	// Only what was there before is followed so far: what comes now has to be seen as it comes.
	if err := os.WriteFile(inPod(pod.UID, "data/pipe"), []byte("two\n"), 0); err != nil {
		t.Fatal(err)
	}
	next("two")
	if lines.Scan() {
		t.Errorf("and %q", lines.Text())
	}
	if err := following.Wait(); err != nil { // it ends by itself, with the container
		t.Error(err)
	}

	for want, args := range map[string][]string{"two\n": {"--tail=1"}, "one": {"--limit-bytes=3"}} {
		out, err := kubectl(t, append([]string{"logs", "-n", ns, "pod"}, args...)...).Output()
		if err != nil || string(out) != want {
			t.Errorf("%s: %q, %v", args, out, err)
		}
	}
}

func TestLogsNeedAuthentication(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	create(t, ns, "pod", `containers: [{name: main, command: [echo, hello]}]`)
	awaitEnd(t, ns, "pod")
	node, err := api.CoreV1().Nodes().Get(t.Context(), "cairn-dev", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	url := fmt.Sprintf("https://127.0.0.1:%d/containerLogs/%s/pod/main",
		node.Status.DaemonEndpoints.KubeletEndpoint.Port, ns)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	resp, err := client.Get(url)
	if err == nil {
		resp.Body.Close()
		t.Errorf("answered with %s", resp.Status)
	} else if !strings.Contains(err.Error(), "certificate required") {
		t.Errorf("not for want of a certificate: %v", err)
	}
}
