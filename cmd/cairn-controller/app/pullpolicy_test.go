package app

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"cairn.dev/cairn/internal/operator"
)

func TestPullPolicy(t *testing.T) {
	var o operator.Options
	p := (*pullPolicy)(&o.Pods.RunnerPullPolicy)
	if err := p.Set("Never"); err != nil || o.Pods.RunnerPullPolicy != corev1.PullNever {
		t.Errorf("got %v and %q", err, o.Pods.RunnerPullPolicy)
	}
	if err := p.Set("never"); err == nil || o.Pods.RunnerPullPolicy != corev1.PullNever {
		t.Errorf("one that Kubernetes does not know: got %v and %q", err, o.Pods.RunnerPullPolicy)
	}
}
