package policy

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"cairn.dev/cairn/internal/runnerapi"
)

// BenchmarkCheck32MiB measures the evaluation of a plan of the largest size: time, and in heap-MiB the memory right
// after it.
func BenchmarkCheck32MiB(b *testing.B) {
	one := `{"address":"aws_instance.a[%d]","type":"aws_instance","name":"a","change":{"actions":["update"],"before":null,"after":{"tags":{"Name":"n"},"ports":[1,2,3],"data":"%s"}}}`
	var all []string
	for size := 0; size < 32<<20; {
		all = append(all, fmt.Sprintf(one, len(all), strings.Repeat("x", 600)))
		size += len(all[0])
	}
	plan := []byte(`{"format_version":"1.2","resource_changes":[` + strings.Join(all, ",") + `]}`)
	for name, modules := range map[string][]string{
		"rego": {"c/a.rego", "package main\ndeny contains r.address if { some r in input.resource_changes; not " +
			"r.change.after.tags.Name }"},
		"cel": {"c/v.yaml", "validations: [{expression: \"plan.resource_changes.all(r, " +
			"has(r.change.after.tags.Name))\"}]"},
	} {
		b.Run(name, func(b *testing.B) {
			set := compile(b, modules...)
			runtime.GC()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			b.SetBytes(int64(len(plan)))
			for b.Loop() {
				if v, err := set.Check(b.Context(), plan, func(string) {}); err != nil || v.Denied() > 0 {
					b.Fatal(v, err)
				}
				runtime.ReadMemStats(&after)
				b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "heap-MiB")
			}
		})
	}
}

// BenchmarkEvaluate measures the overhead of a process, for a plan and policies of usual size.
func BenchmarkEvaluate(b *testing.B) {
	modules := listed([]string{
		"c/a.rego", "package main\ndeny contains r.name if some r in input.resource_changes",
		"c/v.yaml", "validations: [{expression: \"plan.resource_changes.all(r, r.name != 'x')\"}]",
	})
	for name, evaluate := range map[string]func(context.Context, []Module, []byte) (runnerapi.PolicyResult, error){
		"in process": func(ctx context.Context, modules []Module, plan []byte) (runnerapi.PolicyResult, error) {
			set, err := Compile(modules)
			if err != nil {
				return runnerapi.PolicyResult{}, err
			}
			return set.Check(ctx, plan, func(string) {})
		},
		"own process": apart(time.Minute, asAnswerer).Evaluate,
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if v, err := evaluate(b.Context(), modules, []byte(plan)); err != nil || v.Denied() != 2 {
					b.Fatal(v, err)
				}
			}
		})
	}
}
