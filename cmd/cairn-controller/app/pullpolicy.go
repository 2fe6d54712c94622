package app

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
)

// pullPolicy is a flag that says when an image is pulled.
type pullPolicy corev1.PullPolicy

// Set takes what Kubernetes does: it says no only once a pod is made.
func (p *pullPolicy) Set(s string) error {
	switch corev1.PullPolicy(s) {
	case "", corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever:
		*p = pullPolicy(s)
		return nil
	}
	return errors.New("it is Always, IfNotPresent or Never")
}

// String of the flag's value.
func (p *pullPolicy) String() string { return string(*p) }

// Type is what the help calls a value.
func (*pullPolicy) Type() string { return "policy" }
