package policy

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// BenchmarkCheck32MiB tells what the largest plan that is kept costs: time, and in heap-MiB what is in memory right after.
func BenchmarkCheck32MiB(b *testing.B) {
	one := `{"address":"aws_instance.a[%d]","type":"aws_instance","name":"a","change":{"actions":["update"],"before":null,"after":{"tags":{"Name":"n"},"ports":[1,2,3],"data":"%s"}}}`
	var all []string
	for size := 0; size < 32<<20; {
		all = append(all, fmt.Sprintf(one, len(all), strings.Repeat("x", 600)))
		size += len(all[0])
	}
	plan := []byte(`{"format_version":"1.2","resource_changes":[` + strings.Join(all, ",") + `]}`)
	for name, modules := range map[string][]string{
		"rego": {"c/a.rego", "package main\ndeny contains r.address if { some r in input.resource_changes; not r.change.after.tags.Name }"},
		"cel":  {"c/v.yaml", "validations: [{expression: \"plan.resource_changes.all(r, has(r.change.after.tags.Name))\"}]"},
	} {
		b.Run(name, func(b *testing.B) {
			set := compile(b, modules...)
			runtime.GC()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			b.SetBytes(int64(len(plan)))
			for b.Loop() {
				if v, err := set.Check(b.Context(), plan); err != nil || v.Denied() > 0 {
					b.Fatal(v, err)
				}
				runtime.ReadMemStats(&after)
				b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "heap-MiB")
			}
		})
	}
}
