// Package bench measures Cairn and its baseline in one run: `make bench`.
package bench

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/dev"
	"cairn.dev/cairn/examples"
	"cairn.dev/cairn/test/devcluster"
)

// BenchmarkExample runs the first example: bare tofu on its files, then as a Stack from created to Ready, then a
// changed Secret to Ready again. Goals: at most 0.4 s more than bare, at most 12 API writes per Run.
func BenchmarkExample(b *testing.B) {
	example := load(b)
	c := devcluster.Start(b)
	b.Run("bare-tofu", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			dir := example.write(b)
			b.StartTimer()
			for _, args := range [][]string{{"init", "-input=false"}, {"plan", "-input=false", "-out=plan"},
				{"apply", "-input=false", "plan"}} {
				cmd := exec.Command(filepath.Join(c.Tools, "tofu"), args...)
				cmd.Dir = dir
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("tofu %s: %v\n%s", args[0], err, out)
				}
			}
		}
	})
	b.Run("created-to-ready", func(b *testing.B) {
		writes := 0
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			stack := example.prepare(b, c, fmt.Sprintf("first-%d-%d", b.N, i))
			since := time.Now()
			b.StartTimer()
			if err := c.Create(b.Context(), stack); err != nil {
				b.Fatal(err)
			}
			untilReady(b, c, stack, "")
			b.StopTimer()
			writes += countWrites(b, c, stack.Namespace, since)
			b.StartTimer()
		}
		b.ReportMetric(float64(writes)/float64(b.N), "writes/Run")
	})
	b.Run("changed-to-ready", func(b *testing.B) { example.changed(b, c, "next") })
	b.Run("changed-to-ready-without-outputs", func(b *testing.B) {
		without := *example
		without.stack.Spec.Outputs = nil
		without.changed(b, c, "plain")
	})
	b.Run("idle-10s", func(b *testing.B) {
		since := time.Now()
		time.Sleep(10 * time.Second) // writes of an idle Cairn are counted
		b.ReportMetric(float64(countWrites(b, c, "", since)), "writes")
		b.ReportMetric(0, "ns/op")
	})
}

// example has the objects of the first example.
type example struct {
	code   corev1.ConfigMap
	secret corev1.Secret
	stack  v1alpha1.Stack
}

func load(b *testing.B) *example {
	var e example
	documents := bytes.Split(examples.ConfigMap, []byte("\n---\n"))
	for i, into := range []any{&e.code, &e.secret, &e.stack} {
		if err := yaml.UnmarshalStrict(documents[i], into); err != nil {
			b.Fatal(err)
		}
	}
	return &e
}

// changed measures from a changed Secret to Ready again.
func (e *example) changed(b *testing.B, c *devcluster.Cluster, namespace string) {
	stack := e.prepare(b, c, fmt.Sprintf("%s-%d", namespace, time.Now().UnixNano()))
	if err := c.Create(b.Context(), stack); err != nil {
		b.Fatal(err)
	}
	applied := untilReady(b, c, stack, "")
	countWrites(b, c, stack.Namespace, time.Now()) // wait for the writes of the creation
	writes := 0
	for i := 0; b.Loop(); i++ {
		since := time.Now()
		e.change(b, c, stack.Namespace, 4+i%5)
		applied = untilReady(b, c, stack, applied)
		b.StopTimer()
		writes += countWrites(b, c, stack.Namespace, since)
		b.StartTimer()
	}
	b.ReportMetric(float64(writes)/float64(b.N), "writes/Run")
}

// write writes the example's files to a new folder.
func (e *example) write(b *testing.B) string {
	dir := b.TempDir()
	for _, files := range []map[string]string{e.code.Data, e.secret.StringData} {
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				b.Fatal(err)
			}
		}
	}
	return dir
}

// prepare creates a namespace with the objects of the example, and returns its Stack, which it does not create.
func (e *example) prepare(b *testing.B, c *devcluster.Cluster, namespace string) *v1alpha1.Stack {
	stack := e.stack.DeepCopy()
	code, secret := e.code.DeepCopy(), e.secret.DeepCopy()
	for _, o := range []client.Object{code, secret, stack} {
		o.SetNamespace(namespace)
	}
	for _, o := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, code, secret} {
		if err := c.Create(b.Context(), o); err != nil {
			b.Fatal(err)
		}
	}
	waitForServiceAccount(b, c, namespace)
	return stack
}

// waitForServiceAccount waits for the namespace's default ServiceAccount, which the controller manager creates and pods
// need.
func waitForServiceAccount(b *testing.B, c *devcluster.Cluster, namespace string) {
	for {
		err := c.Get(b.Context(), client.ObjectKey{Namespace: namespace, Name: "default"}, &corev1.ServiceAccount{})
		if err == nil {
			return
		}
		if client.IgnoreNotFound(err) != nil {
			b.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (e *example) change(b *testing.B, c *devcluster.Cluster, namespace string, servers int) {
	secret := e.secret.DeepCopy()
	secret.Namespace = namespace
	secret.StringData["terraform.tfvars"] = fmt.Sprintf("servers = %d\npassword = \"correct horse\"\n", servers)
	if err := c.Update(b.Context(), secret); err != nil {
		b.Fatal(err)
	}
}

// untilReady watches until the Stack is Ready with another inputs digest applied, and returns it.
func untilReady(b *testing.B, c *devcluster.Cluster, stack *v1alpha1.Stack, other string) string {
	w, err := c.Watch(b.Context(), &v1alpha1.StackList{}, client.InNamespace(stack.Namespace))
	if err != nil {
		b.Fatal(err)
	}
	defer w.Stop()
	timeout := time.After(20 * time.Minute)
	for {
		select {
		case <-timeout:
			b.Fatalf("Stack %s/%s was not Ready within 20 minutes", stack.Namespace, stack.Name)
		case event := <-w.ResultChan():
			s, ok := event.Object.(*v1alpha1.Stack)
			if !ok {
				b.Fatalf("watch: %v", event.Object)
			}
			for _, condition := range s.Status.Conditions {
				if s.Name == stack.Name && condition.Type == v1alpha1.ConditionReady &&
					condition.Status == metav1.ConditionTrue && s.Status.AppliedInputsDigest != other {
					return s.Status.AppliedInputsDigest
				}
			}
		}
	}
}

// countWrites counts the writes of Cairn to the API server, events included, once they have ended.
func countWrites(b *testing.B, c *devcluster.Cluster, namespace string, since time.Time) int {
	count := func() int {
		writes, err := dev.Writes(c.AuditLog(), since, func(w dev.Write) bool {
			return (namespace == "" || w.Namespace == namespace) && w.UserAgent != "" && isCairn(w)
		})
		if err != nil {
			b.Fatal(err)
		}
		return len(writes)
	}
	for n := count(); ; {
		time.Sleep(300 * time.Millisecond) // events are written asynchronously
		again := count()
		if again == n {
			return n
		}
		n = again
	}
}

// isCairn reports whether a write is by `cairn-controller serve`.
func isCairn(w dev.Write) bool { return bytes.HasPrefix([]byte(w.UserAgent), []byte("cairn-serve")) }
