package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/devcluster"
	"cairn.dev/cairn/test/scale"
)

// largeCode is the code of 20,000 resources with 50 MB of state; the variable changes 5,000 of them. One resource with
// a count of 20,000 takes the engine minutes for each plan.
func largeCode() string {
	code := strings.Builder{}
	code.WriteString("variable \"generation\" { type = number }\nvariable \"text\" { type = string }\n")
	for i := range 200 {
		generation := "0"
		if i%4 == 0 {
			generation = "var.generation"
		}
		fmt.Fprintf(&code, `
resource "terraform_data" "r%d" {
  count = 100
  input = { n = count.index, generation = %s, text = var.text }
}
`, i, generation)
	}
	return code.String()
}

// BenchmarkLargeState changes 5,000 of 20,000 resources in a state of 50 MB: bare tofu with a local state, then a
// Stack, whose step plan contains what bare tofu needs for plan and show. Goals: as fast as bare, and the server's
// memory grows by at most three times the size of the state.
func BenchmarkLargeState(b *testing.B) {
	c := devcluster.StartSplit(b)
	text := strings.Repeat("0123456789abcdef", 52)
	b.Run("bare-tofu", func(b *testing.B) {
		dir := b.TempDir()
		must(b, os.WriteFile(filepath.Join(dir, "main.tf"), []byte(largeCode()), 0o600))
		tofu := func(args ...string) time.Duration {
			start := time.Now()
			cmd := exec.Command(filepath.Join(c.Tools, "tofu"), args...)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("tofu %s: %v\n%s", args[0], err, out)
			}
			return time.Since(start)
		}
		tofu("init", "-input=false")
		tofu("apply", "-input=false", "-auto-approve", "-var=generation=0", "-var=text="+text)
		var plan, show, apply time.Duration
		generation := 0
		for b.Loop() {
			generation++
			plan += tofu("plan", "-input=false", "-out=plan", fmt.Sprint("-var=generation=", generation),
				"-var=text="+text)
			show += tofu("show", "-json", "plan")
			apply += tofu("apply", "-input=false", "plan")
		}
		info, err := os.Stat(filepath.Join(dir, "terraform.tfstate"))
		must(b, err)
		report(b, plan, apply)
		b.ReportMetric(show.Seconds()/float64(b.N), "show-s")
		b.ReportMetric(float64(info.Size())/1e6, "state-MB")
	})
	b.Run("stack", func(b *testing.B) {
		s := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: "large-state", Name: "large"}}
		must(b, c.Create(b.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}}))
		waitForServiceAccount(b, c, s.Namespace)
		s.Spec.Apply = v1alpha1.ApplyAutomatic
		s.Spec.Source.Inline = map[string]string{"main.tf": largeCode()}
		s.Spec.Variables = []v1alpha1.Variable{{Name: "generation", Value: jsonOf("0")},
			{Name: "text", Value: jsonOf(strconv.Quote(text))}}
		must(b, c.Create(b.Context(), s))
		untilReady(b, c, s, "")
		server := processOf(b, c, "server")
		rest, err := scale.UsageOf(server)
		must(b, err)
		var plan, apply time.Duration
		generation := 0
		for b.Loop() {
			generation++
			must(b, c.Get(b.Context(), client.ObjectKeyFromObject(s), s))
			applied := s.Status.AppliedInputsDigest
			s.Spec.Variables[0].Value = jsonOf(strconv.Itoa(generation))
			must(b, c.Update(b.Context(), s))
			untilReady(b, c, s, applied)
			var run v1alpha1.Run
			must(b, c.Get(b.Context(), client.ObjectKeyFromObject(s), s))
			must(b, c.Get(b.Context(), client.ObjectKey{Namespace: s.Namespace, Name: s.Status.LastRun}, &run))
			p, a := steps(b, &run)
			plan, apply = plan+p, apply+a
		}
		report(b, plan, apply)
		peak, err := scale.UsageOf(server)
		must(b, err)
		b.ReportMetric(float64(rest.RSS)/1e6, "server-MB")
		b.ReportMetric(float64(peak.Peak)/1e6, "server-peak-MB")
	})
}

func jsonOf(text string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(text)} }

// report reports the means of a plan and an apply.
func report(b *testing.B, plan, apply time.Duration) {
	b.ReportMetric(plan.Seconds()/float64(b.N), "plan-s")
	b.ReportMetric(apply.Seconds()/float64(b.N), "apply-s")
	b.ReportMetric(0, "ns/op")
}

// steps returns the times that a Run took to plan, with the plan's JSON, and to apply.
func steps(b *testing.B, run *v1alpha1.Run) (plan, apply time.Duration) {
	b.Helper()
	for _, attempt := range run.Status.Attempts {
		for _, step := range attempt.Steps {
			if step.StartedAt == nil || step.FinishedAt == nil {
				continue
			}
			took := step.FinishedAt.Sub(step.StartedAt.Time)
			b.Logf("%s %.1f s", step.Name, took.Seconds())
			switch step.Name {
			case "plan":
				plan += took
			case "apply":
				apply += took
			}
		}
	}
	if plan == 0 || apply == 0 {
		b.Fatalf("Run %s did not plan and apply: %+v", run.Name, run.Status)
	}
	return plan, apply
}

// processOf returns the process ID of a part of `cairn dev --split`.
func processOf(b *testing.B, c *devcluster.Cluster, part string) int {
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(b, err)
	for _, file := range all {
		line, err := os.ReadFile(file)
		args := strings.Split(string(line), "\x00")
		if err == nil && len(args) > 1 && filepath.Base(args[0]) == "cairn-controller" && args[1] == part &&
			strings.Contains(string(line), c.Data) {
			process, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			must(b, err)
			return process
		}
	}
	b.Fatalf("no process of the %s", part)
	return 0
}
