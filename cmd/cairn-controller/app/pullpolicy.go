package app

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
)

// pullPolicy is the value of a flag with the pull policy of an image.
type pullPolicy corev1.PullPolicy

// Set accepts the values that Kubernetes accepts, which would reject others only when a pod is created.
func (p *pullPolicy) Set(s string) error {
	switch corev1.PullPolicy(s) {
	case "", corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever:
		*p = pullPolicy(s)
		return nil
	}
	return errors.New("it must be Always, IfNotPresent or Never")
}

// String returns the value.
func (p *pullPolicy) String() string { return string(*p) }

// Type returns the type of the value for the help.
func (*pullPolicy) Type() string { return "policy" }
