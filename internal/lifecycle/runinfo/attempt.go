package runinfo

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

// Current is the attempt that the Run is at; nil before the first.
func Current(s *v1alpha1.RunStatus) *v1alpha1.Attempt {
	if len(s.Attempts) == 0 {
		return nil
	}
	return &s.Attempts[len(s.Attempts)-1]
}

// Active is the attempt that the pod is working on now; nil when it is none of this Run's, or its attempt is over.
func Active(run *v1alpha1.Run, pod types.UID) *v1alpha1.Attempt {
	a := Current(&run.Status)
	if a == nil || a.PodUID != pod || a.FinishedAt != nil {
		return nil
	}
	return a
}

// NamesPod reports whether a pod is that of an attempt of the Run.
func NamesPod(run *v1alpha1.Run, pod types.UID) bool {
	return slices.ContainsFunc(run.Status.Attempts, func(a v1alpha1.Attempt) bool { return a.PodUID == pod })
}

// HasReported reports whether a runner in the pod of an attempt has sent a report.
func HasReported(run *v1alpha1.Run, a *v1alpha1.Attempt) bool {
	return slices.ContainsFunc(run.Status.Attempts, func(b v1alpha1.Attempt) bool {
		return b.PodUID == a.PodUID && len(b.Steps) > 0
	})
}

// IsShell reports whether a Run holds a shell.
func IsShell(r *v1alpha1.Run) bool { return r.Spec.Operation == v1alpha1.OperationShell }

// NextNumber is the number of the attempt after the current one.
func NextNumber(s *v1alpha1.RunStatus) int32 {
	if a := Current(s); a != nil {
		return a.Number + 1
	}
	return 1
}
