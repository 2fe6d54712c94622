//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/gitserver"
)

const (
	fleet     = 20 // Stacks, and bare pods, at once
	benchCode = `resource "terraform_data" "it" { input = %q }` + "\n"
	// cpuRequest is the CPU request of each pod. With Cairn's default of 100m, twenty pods do not fit on a node of two
	// cores, and some would wait until others have ended.
	cpuRequest = "10m"
)

// BenchmarkNode measures on a real node what Cairn adds to a bare pod and the bare engine in it, in one run: `make
// bench-node`. A bare pod is one of kubectl run: it has a ServiceAccount token, as a runner's pod has one for the
// server. A kubelet checks only every 300 ms whether volumes are mounted, so a pod without volumes starts sooner; that
// is measured too. Goals: push to applied at most bare pod, bare tofu and 0.4 s; approval to applied at most a bare
// apply and 0.2 s; 20 Stacks by one push at most 1.2 times what 20 bare pods with bare tofu take. All are medians, in
// seconds.
func BenchmarkNode(b *testing.B) {
	m := measure(b)
	b.Run("bare-pod-to-running", func(b *testing.B) {
		m.each(b, func(b *testing.B, i int) time.Duration { return m.barePod(b, i, true) })
	})
	b.Run("bare-pod-without-volumes-to-running", func(b *testing.B) {
		m.each(b, func(b *testing.B, i int) time.Duration { return m.barePod(b, i, false) })
	})
	b.Run("bare-tofu-in-a-pod", m.bareTofu)
	b.Run("bare-pod-to-applied", func(b *testing.B) {
		m.each(b, func(b *testing.B, i int) time.Duration { return m.barePods(b, 1, i, bare) })
	})
	b.Run("created-to-ready", func(b *testing.B) { m.each(b, m.created) })
	b.Run("push-to-applied", func(b *testing.B) {
		m.each(b, func(b *testing.B, i int) time.Duration { return m.pushed(b, 1, i) })
	})
	b.Run("approval-to-applied", func(b *testing.B) { m.each(b, m.approved) })
	b.Run("20-bare-pods-to-applied", func(b *testing.B) {
		m.each(b, func(b *testing.B, i int) time.Duration { return m.barePods(b, fleet, i, bare) })
	})
	b.Run("20-bare-pods-that-show-their-plan", func(b *testing.B) {
		m.each(b, func(b *testing.B, i int) time.Duration { return m.barePods(b, fleet, i, bareShown) })
	})
	b.Run("20-stacks-by-one-push", func(b *testing.B) {
		m.each(b, func(b *testing.B, i int) time.Duration { return m.pushed(b, fleet, i) })
	})
}

// meter measures in one namespace of the node.
type meter struct {
	cluster
	namespace string
	origin    *gitserver.Repo
	hooks     string
	// done receives what bare pods send when they are done.
	done chan string
	url  string
}

func measure(b *testing.B) *meter {
	c := start(b)
	m := &meter{cluster: c, namespace: "bench", done: make(chan string, 10*fleet)}
	helm(b, c, "install", "cairn", c.Root+"/charts/cairn", "--namespace=cairn-system", "--create-namespace", "--wait",
		"--timeout=3m",
		"--set=image.registry=registry.local,image.tag=e2e,runner.image.registry=registry.local,runner.image.tag=e2e,"+
			"limits.runs=40,drift.interval=0s")
	service := &corev1.Service{}
	must(b, m.Get(b.Context(), client.ObjectKey{Namespace: "cairn-system", Name: "cairn"}, service))
	m.hooks = "http://" + net.JoinHostPort(service.Spec.ClusterIP, "8080") + "/hooks/" + m.namespace + "/infra"
	must(b, m.Create(b.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: m.namespace}}))
	m.admitted(b)
	m.listen(b)
	m.repository(b)
	return m
}

// admitted waits until Stacks are admitted: for some seconds after the CRDs are created, the API server cannot yet
// apply mutating policies to their objects.
func (m *meter) admitted(b *testing.B) {
	s := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "first"}}
	s.Spec.Source.Inline = map[string]string{"main.tf": ""}
	must(b, wait.PollUntilContextTimeout(b.Context(), 100*time.Millisecond, 20*time.Second, true,
		func(ctx context.Context) (bool, error) {
			return m.Create(ctx, s.DeepCopy(), client.DryRunAll) == nil, nil
		}))
}

// listen receives a request from each bare pod that is done; a pod's phase is seconds late.
func (m *meter) listen(b *testing.B) {
	l, err := net.Listen("tcp", net.JoinHostPort(m.Node.Host, "0"))
	must(b, err)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m.done <- strings.TrimSpace(string(body))
	}))
	must(b, server.Listener.Close())
	server.Listener = l
	server.Start()
	b.Cleanup(server.Close)
	m.url = server.URL
}

// repository creates a Repository and its Stacks, and waits until all of them are applied.
func (m *meter) repository(b *testing.B) {
	repos := gitserver.New(b)
	var err error
	m.origin, err = repos.Init("infra")
	must(b, err)
	server, err := gitserver.ServeHTTPAt(repos, false, m.Node.Host)
	must(b, err)
	b.Cleanup(func() { _ = server.Close() })
	m.commit(b, fleet, "first")
	must(b, m.Create(b.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "hook"},
		StringData: map[string]string{"token": "secret"}}))
	must(b, m.Create(b.Context(), &v1alpha1.Repository{
		ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: "infra"},
		Spec: v1alpha1.RepositorySpec{URL: server.URL + m.origin.Path(), Ref: "main",
			Webhook: &v1alpha1.WebhookSource{Secret: v1alpha1.ObjectRef{Name: "hook"}}},
	}))
	for i := range fleet {
		s := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: name(i)}}
		s.Spec.Apply = v1alpha1.ApplyAutomatic
		s.Spec.Runner.Resources.Requests = map[corev1.ResourceName]v1alpha1.Amount{
			corev1.ResourceCPU: {IntOrString: intstr.FromString(cpuRequest)}}
		s.Spec.Source.Git = &v1alpha1.GitSource{Repository: v1alpha1.RepositoryRef{Name: "infra"},
			Path: "stacks/" + name(i)}
		must(b, m.Create(b.Context(), s))
	}
	m.ready(b, names(fleet), nil)
}

func name(i int) string { return fmt.Sprintf("s%02d", i) }

func names(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = name(i)
	}
	return all
}

// commit changes the code of the first n Stacks by one push.
func (m *meter) commit(b *testing.B, n int, text string) {
	files := map[string]string{}
	for i := range n {
		files["stacks/"+name(i)+"/main.tf"] = fmt.Sprintf(benchCode, text)
	}
	_, err := m.origin.Commit(gitserver.Change{Files: files})
	must(b, err)
}

// each reports the median and the worst of its measurements.
func (m *meter) each(b *testing.B, measure func(*testing.B, int) time.Duration) {
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		took = append(took, measure(b, i))
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2].Seconds(), "s/median")
	b.ReportMetric(took[len(took)-1].Seconds(), "s/worst")
}

// pod returns a pod with the image of Stacks, a script in place of the runner, and the same security context.
func (m *meter) pod(name, script string) *corev1.Pod {
	no, yes, user := false, true, int64(65532)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: name},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, EnableServiceLinks: &no,
			TerminationGracePeriodSeconds: new(int64),
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: &user,
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers: []corev1.Container{{
				Name: "engine", Image: "registry.local/cairn-tools:e2e", Command: []string{"sh", "-c", script},
				Env: []corev1.EnvVar{{Name: "HOME", Value: "/tmp"}},
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpuRequest)}},
				SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: &no,
					Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
			}},
		},
	}
}

// bare is a script that plans and applies the code of a Stack with tofu alone.
const bare = `set -e
mkdir -p /tmp/code && cd /tmp/code && rm -rf .terraform* *.tf* plan
echo 'resource "terraform_data" "it" { input = "x" }' >main.tf
a=$(date +%s%N)
tofu init -input=false >/dev/null && tofu plan -input=false -out=plan >/dev/null
b=$(date +%s%N)
tofu apply -input=false plan >/dev/null
c=$(date +%s%N)
`

// bareShown is bare with one more start of the engine, for the JSON of the plan.
var bareShown = strings.Replace(bare, "b=", "tofu show -json plan >/dev/null\nb=", 1)

// barePod measures from the creation of a pod until its phase is Running.
func (m *meter) barePod(b *testing.B, i int, token bool) time.Duration {
	pod := m.pod(fmt.Sprintf("bare-%d-%d", b.N, i), "exec sleep 600")
	pod.Spec.AutomountServiceAccountToken = &token
	w, err := m.Watch(b.Context(), &corev1.PodList{}, client.InNamespace(m.namespace))
	must(b, err)
	defer w.Stop()
	start := time.Now()
	must(b, m.Create(b.Context(), pod))
	for e := range w.ResultChan() {
		if p, ok := e.Object.(*corev1.Pod); ok && p.Name == pod.Name && p.Status.Phase == corev1.PodRunning {
			break
		}
	}
	took := time.Since(start)
	m.remove(b, pod)
	return took
}

// bareTofu runs tofu in a pod repeatedly, and reports its times: the total, and the apply alone.
func (m *meter) bareTofu(b *testing.B) {
	var all, apply []time.Duration
	pod := m.pod("tofu", "for i in $(seq 20); do "+bare+"curl -fsS -d \"$((c-a)) $((c-b))\" "+m.url+"; done")
	must(b, m.Create(b.Context(), pod))
	for range 20 {
		whole, last, _ := strings.Cut(<-m.done, " ")
		for _, of := range []struct {
			text string
			into *[]time.Duration
		}{{whole, &all}, {last, &apply}} {
			ns, err := strconv.ParseInt(of.text, 10, 64)
			must(b, err)
			*of.into = append(*of.into, time.Duration(ns))
		}
	}
	m.remove(b, pod)
	for b.Loop() { // the pod has measured
	}
	slices.Sort(all)
	slices.Sort(apply)
	b.ReportMetric(all[len(all)/2].Seconds(), "s/median")
	b.ReportMetric(apply[len(apply)/2].Seconds(), "s/apply")
}

// barePods measures from the creation of pods that run a script with tofu until the last of them has applied.
func (m *meter) barePods(b *testing.B, n, i int, script string) time.Duration {
	pods := make([]*corev1.Pod, n)
	start := time.Now()
	for p := range pods {
		pods[p] = m.pod(fmt.Sprintf("tofu-%d-%d-%d", b.N, i, p), script+"curl -fsS -d done "+m.url)
		must(b, m.Create(b.Context(), pods[p]))
	}
	for range pods {
		<-m.done
	}
	took := time.Since(start)
	m.remove(b, pods...)
	return took
}

// created measures from a Stack's creation until it is Ready.
func (m *meter) created(b *testing.B, i int) time.Duration {
	s := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: fmt.Sprintf("new-%d-%d", b.N, i)}}
	s.Spec.Apply, s.Spec.DeletionPolicy = v1alpha1.ApplyAutomatic, v1alpha1.DeletionOrphan
	s.Spec.Source.Inline = map[string]string{"main.tf": fmt.Sprintf(benchCode, "new")}
	start := time.Now()
	must(b, m.Create(b.Context(), s))
	m.ready(b, []string{s.Name}, nil)
	took := time.Since(start)
	must(b, m.Delete(b.Context(), s))
	m.quiet(b)
	return took
}

// pushed measures from a webhook for a push that changes n Stacks until the last of them is Ready again.
func (m *meter) pushed(b *testing.B, n, i int) time.Duration {
	before := m.applied(b)
	text := fmt.Sprint("push ", n, " ", b.N, " ", i)
	m.commit(b, n, text)
	start := time.Now()
	m.push(b, text)
	m.ready(b, names(n), before)
	took := time.Since(start)
	m.quiet(b)
	return took
}

// approved measures from the approval of a plan whose pod waits for it until the Stack is Ready.
func (m *meter) approved(b *testing.B, i int) time.Duration {
	s := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace,
		Name: fmt.Sprintf("manual-%d-%d", b.N, i)}}
	s.Spec.DeletionPolicy = v1alpha1.DeletionOrphan
	s.Spec.Source.Inline = map[string]string{"main.tf": fmt.Sprintf(benchCode, "new")}
	must(b, m.Create(b.Context(), s))
	run := &v1alpha1.Run{}
	for run.Status.Phase != v1alpha1.PhaseAwaitingApproval {
		must(b, client.IgnoreNotFound(m.Get(b.Context(), client.ObjectKey{Namespace: m.namespace, Name: s.Name + "-1"},
			run)))
		time.Sleep(20 * time.Millisecond)
	}
	m.quiet(b)
	patch := client.MergeFrom(run.DeepCopy())
	run.Spec.Approval = &v1alpha1.Approval{PlanDigest: run.Status.Plan.Digest, By: "admin"}
	start := time.Now()
	must(b, m.Patch(b.Context(), run, patch))
	m.ready(b, []string{s.Name}, nil)
	took := time.Since(start)
	must(b, m.Delete(b.Context(), s))
	m.quiet(b)
	return took
}

// applied returns the applied inputs digest of each Stack.
func (m *meter) applied(b *testing.B) map[string]string {
	list, applied := &v1alpha1.StackList{}, map[string]string{}
	must(b, m.List(b.Context(), list, client.InNamespace(m.namespace)))
	for _, s := range list.Items {
		applied[s.Name] = s.Status.AppliedInputsDigest
	}
	return applied
}

// ready waits until Stacks are Ready with another inputs digest than before.
func (m *meter) ready(b *testing.B, names []string, before map[string]string) {
	ctx, cancel := context.WithTimeout(b.Context(), 3*time.Minute)
	defer cancel()
	w, err := m.Watch(ctx, &v1alpha1.StackList{}, client.InNamespace(m.namespace))
	must(b, err)
	defer w.Stop()
	waiting := map[string]bool{}
	for _, name := range names {
		waiting[name] = true
	}
	for e := range w.ResultChan() {
		s, ok := e.Object.(*v1alpha1.Stack)
		if ok && apimeta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionReady) &&
			s.Status.AppliedInputsDigest != before[s.Name] {
			delete(waiting, s.Name)
		}
		if len(waiting) == 0 {
			return
		}
	}
	var stacks v1alpha1.StackList
	must(b, m.List(b.Context(), &stacks, client.InNamespace(m.namespace)))
	for _, s := range stacks.Items {
		if c := apimeta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady); waiting[s.Name] && c != nil {
			b.Logf("%s: %s: %s", s.Name, c.Reason, c.Message)
		}
	}
	b.Fatalf("%d Stacks were not Ready in time", len(waiting))
}

// quiet waits until the pods of the last measurement are deleted.
func (m *meter) quiet(b *testing.B) {
	for {
		pods, busy := &corev1.PodList{}, false
		must(b, m.List(b.Context(), pods, client.InNamespace(m.namespace)))
		for _, p := range pods.Items {
			busy = busy || p.DeletionTimestamp != nil
		}
		if !busy {
			time.Sleep(time.Second) // the kubelet cleans up
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (m *meter) remove(b *testing.B, pods ...*corev1.Pod) {
	for _, p := range pods {
		must(b, m.Delete(b.Context(), p, client.GracePeriodSeconds(0)))
	}
	m.quiet(b)
}

// push sends the webhook of a push as GitHub does.
func (m *meter) push(b *testing.B, delivery string) {
	status, text, err := gitserver.SendPush(b.Context(), m.hooks, "secret", delivery)
	must(b, err)
	if status != http.StatusAccepted {
		b.Fatalf("%d %s", status, text)
	}
}

func helm(b *testing.B, c cluster, args ...string) {
	cmd := exec.Command(filepath.Join(c.Node.Tools, "helm"), append(args, "--kubeconfig="+c.Node.Kubeconfig)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
}

func must(b testing.TB, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
