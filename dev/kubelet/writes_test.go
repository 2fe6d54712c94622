package kubelet_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/dev"
	"cairn.dev/cairn/dev/kubelet"
)

func TestNumberOfWritesOfAPod(t *testing.T) {
	t.Parallel()
	want := []string{"create pods/binding 201", "patch pods/status 200", "patch pods/status 200", "delete pods/ 200"}
	var diff string
	for range 3 { // on a slow machine the running init container is a write, too
		if diff = cmp.Diff(want, writesOfAPod(t)); diff == "" {
			return
		}
	}
	t.Error(diff)
}

// writesOfAPod are what the node writes of one, from its creation to its deletion.
func writesOfAPod(t *testing.T) (got []string) {
	t.Helper()
	ns := newNamespace(t)
	began := time.Now()
	pod := create(t, ns, "pod", `
initContainers: [{name: init, command: ["true"]}]
containers: [{name: main, command: [sh, -c, "echo ready; exec sleep 600"]}]
`)
	await(t, ns, "pod", "running", isRunning)
	awaitLine(t, ns, "pod", "ready")
	remove(t, pod, 30)
	awaitGone(t, pod)

	poll(t, "the deletion in the audit log", func() bool { // where it appears shortly after the watch event
		writes, err := dev.Writes(plane.AuditLog(), began, func(w dev.Write) bool {
			return w.UserAgent == kubelet.UserAgent && w.Namespace == ns
		})
		if err != nil {
			t.Fatal(err)
		}
		got = nil
		for _, w := range writes {
			got = append(got, fmt.Sprintf("%s %s/%s %d", w.Verb, w.Resource, w.Subresource, w.Code))
		}
		return len(got) > 0 && strings.HasPrefix(got[len(got)-1], "delete")
	})
	return got
}

// BenchmarkPodToProcess measures from before the creation of a pod like a runner's until its first and its last
// container have started, by the clock of the processes.
func BenchmarkPodToProcess(b *testing.B) {
	ns := newNamespace(b)
	var first, last []time.Duration
	i := 0
	for b.Loop() {
		i++
		name := fmt.Sprintf("pod-%d", i)
		began := time.Now()
		create(b, ns, name, `
initContainers: [{name: init, command: [date, +%s%N], volumeMounts: [{name: bin, mountPath: /cairn/bin}]}]
containers: [{name: main, command: [date, +%s%N], volumeMounts: [{name: token, mountPath: /cairn/token}, {name: ca, mountPath: /cairn/inputs/ca}]}]
volumes:
- {name: bin, emptyDir: {}}
- {name: ca, configMap: {name: kube-root-ca.crt}}
- {name: token, projected: {sources: [{serviceAccountToken: {path: token, audience: cairn}}]}}
`)
		awaitEnd(b, ns, name)
		first = append(first, since(b, began, logOf(b, ns, name, "init")))
		last = append(last, since(b, began, logOf(b, ns, name, "main")))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(first), "ms-first")
	b.ReportMetric(median(last), "ms-last")
}

func since(b *testing.B, began time.Time, log string) time.Duration {
	b.Helper()
	var nanos int64
	if _, err := fmt.Sscan(log, &nanos); err != nil {
		b.Fatal(err)
	}
	return time.Unix(0, nanos).Sub(began)
}

func median(list []time.Duration) float64 {
	slices.Sort(list)
	return float64(list[len(list)/2]) / float64(time.Millisecond)
}
