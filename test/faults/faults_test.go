//go:build envtest

package main

import (
	"os"
	"regexp"
	"testing"
)

// A few points of each suite, which take two to three minutes; `make faults` tries all.
func TestSomeFaults(t *testing.T) {
	if err := run(t.Context(), options{
		only: regexp.MustCompile(`^(` +
			`writes: automatic, (one of each kind: .*|operator patch stacks 3: timeout, applied|operator create runs 3: 429|server create configmaps 1: crash before|server update states 5: timeout, not applied)|` +
			`watches: automatic, server hears of runs 2: dropped|` +
			`git: files, request 3: connections cut|` +
			`runners: cloud, create b, before: engine SIGKILL|` +
			`runners: pushed, net-3-plan-1 GET order #1: SIGKILL after|` +
			`store: net-1-plan-1 POST state #1: cut after it is taken|` +
			`fields: (Stack spec\.timeout|Run spec\.preventSelfApproval))$`),
		jobs: 3, stride: 1, bin: "../../bin", dir: t.TempDir(),
	}, os.Stdout); err != nil {
		t.Fatal(err)
	}
}
